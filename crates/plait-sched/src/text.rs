//! Short copies of user input, for error messages in a crate that cannot allocate.

use core::fmt;

/// Bytes of the input that an error keeps.
const CAPACITY: usize = 47;

/// At most the first 47 bytes of a text, owned. A longer text ends in "…" when printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShortText {
    bytes: [u8; CAPACITY],
    len: u8,
    cut: bool,
}

impl ShortText {
    /// Copies as many whole characters of `text` as fit.
    pub fn new(text: &str) -> Self {
        Self::of(&text)
    }

    /// Copies as much of the printed form of `value` as fits.
    pub fn of(value: &impl fmt::Display) -> Self {
        let mut text = Self { bytes: [0; CAPACITY], len: 0, cut: false };
        // An error means that the text is full; `cut` then records it.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{value}"));
        text
    }

    /// The kept text.
    pub fn as_str(&self) -> &str {
        // The writer copies whole characters, so this cannot fail.
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }

    /// Whether the text was cut at its end.
    pub(crate) const fn is_cut(&self) -> bool {
        self.cut
    }
}

impl fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            let start = usize::from(self.len);
            if start + c.len_utf8() > CAPACITY {
                self.cut = true;
                return Err(fmt::Error);
            }
            c.encode_utf8(&mut self.bytes[start..]);
            self.len += c.len_utf8() as u8;
        }
        Ok(())
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        if self.cut { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Prints names as `a, b or c`.
pub(crate) fn write_choices<'a>(
    f: &mut fmt::Formatter<'_>,
    choices: impl Iterator<Item = &'a str> + Clone,
) -> fmt::Result {
    let last = choices.clone().count().saturating_sub(1);
    for (i, choice) in choices.enumerate() {
        let separator = match i {
            0 => "",
            i if i == last => " or ",
            _ => ", ",
        };
        write!(f, "{separator}{choice}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = ShortText::new(&"µ".repeat(30));
        assert_eq!(text.as_str(), "µ".repeat(23));
        assert!(text.to_string().ends_with("µ…"));
        assert_eq!(ShortText::new("20ms").to_string(), "20ms");
    }
}
