//! Rows of numbers in few bytes: each row has only the differences from the previous row of its
//! kind.
//!
//! A row has a byte with the kind and the slot (mostly a path), a bit for each field that differs,
//! and the differences. Numbers are coded as in LEB128.

/// Most fields of a row.
pub(super) const WIDTH: usize = 20;

/// Number of kinds of rows, and of slots per kind.
const SLOTS: usize = 16;

/// Fields of a row; fields that its kind does not have are 0.
pub(super) type Row = [u64; WIDTH];

/// Previous rows, by kind and slot. Writer and reader each have a set.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    before: Vec<Row>,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self { before: vec![[0; WIDTH]; SLOTS * SLOTS] }
    }

    /// Appends a row. Kind and slot are below 16.
    pub(super) fn write(&mut self, out: &mut Vec<u8>, kind: u8, slot: u8, fields: &[u64]) {
        let before = &mut self.before[usize::from(kind) * SLOTS + usize::from(slot)];
        out.push(kind << 4 | slot);
        let differs = before.iter().zip(fields).enumerate().filter(|(_, (before, now))| before != now);
        put(out, differs.fold(0, |mask, (field, _)| mask | 1 << field));
        for (before, &now) in before.iter_mut().zip(fields).filter(|(before, now)| before != now) {
            let difference = now.wrapping_sub(*before) as i64;
            put(out, (difference << 1 ^ difference >> 63) as u64);
            *before = now;
        }
    }

    /// True if the row equals the previous one.
    pub(super) fn is_known(&self, kind: u8, slot: u8, fields: &[u64]) -> bool {
        self.before[usize::from(kind) * SLOTS + usize::from(slot)].iter().zip(fields).all(|(a, b)| a == b)
    }

    /// Reads the next row off `bytes`. Returns `None`, and leaves `bytes` unchanged, if no whole
    /// row is left.
    pub(super) fn read(&mut self, bytes: &mut &[u8]) -> Option<(u8, u8, Row)> {
        let mut rest = *bytes;
        let head = take(&mut rest, 1)?[0];
        let mask = get(&mut rest)?;
        let mut row = self.before[usize::from(head)];
        for (field, value) in row.iter_mut().enumerate() {
            if mask >> field & 1 == 1 {
                let coded = get(&mut rest)?;
                *value = value.wrapping_add(coded >> 1 ^ (coded & 1).wrapping_neg());
            }
        }
        self.before[usize::from(head)] = row;
        *bytes = rest;
        Some((head >> 4, head & 15, row))
    }
}

/// Appends a number.
pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number off `bytes`. Bits that do not fit are dropped.
pub(super) fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for group in 0..10 {
        let byte = take(bytes, 1)?[0];
        number |= u64::from(byte & 127) << (7 * group);
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

/// Takes `count` bytes off `bytes`.
pub(super) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> impl Strategy<Value = Vec<(u8, u8, Vec<u64>)>> {
        let number = prop_oneof![any::<u64>(), 0..200_u64, Just(u64::MAX)];
        prop::collection::vec((0..16_u8, 0..16_u8, prop::collection::vec(number, 0..=WIDTH)), 0..40)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_and_what_is_cut_is_not(rows in rows(), cut in any::<prop::sample::Index>()) {
            let (mut writer, mut bytes, mut ends) = (Rows::new(), Vec::new(), vec![0]);
            for (kind, slot, fields) in &rows {
                writer.write(&mut bytes, *kind, *slot, fields);
                ends.push(bytes.len());
                prop_assert!(writer.is_known(*kind, *slot, fields));
            }
            let kept = cut.index(bytes.len() + 1);
            let (mut reader, mut rest, mut read) = (Rows::new(), &bytes[..kept], 0);
            while let Some((kind, slot, row)) = reader.read(&mut rest) {
                let (written_kind, written_slot, fields) = &rows[read];
                prop_assert_eq!((kind, slot), (*written_kind, *written_slot));
                prop_assert_eq!(&row[..fields.len()], &fields[..]);
                read += 1;
            }
            prop_assert_eq!(read, ends.iter().filter(|&&end| end <= kept).count() - 1);
            prop_assert_eq!(rest.len(), kept - ends[read]);
        }

        #[test]
        fn noise_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let (mut reader, mut rest) = (Rows::new(), &bytes[..]);
            while reader.read(&mut rest).is_some() {}
            prop_assert!(rest.len() <= bytes.len());
        }
    }
}
