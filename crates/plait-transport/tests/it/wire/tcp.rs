//! TCP segments and MPTCP's options.

use super::payload;
use plait_transport::wire::DecodeError;
use plait_transport::wire::checksum::Addresses;
use plait_transport::wire::mptcp::{
    AddAddress, Capable, DataSequence, FirstData, Join, Keys, Mapping, MptcpOption, Number,
};
use plait_transport::wire::tcp::{
    self, Flags, Header, OPTION_BYTES, Options, SackBlock, SackBlocks, Segment, TcpOption,
};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<Ipv4Addr>().prop_map(IpAddr::V4), any::<Ipv6Addr>().prop_map(IpAddr::V6)]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![any::<u32>().prop_map(Number::Short), any::<u64>().prop_map(Number::Long)]
}

fn capable() -> impl Strategy<Value = Capable> {
    let data = any::<(u16, Option<u16>)>().prop_map(|(length, checksum)| FirstData { length, checksum });
    let both = (any::<u64>(), any::<u64>(), prop::option::of(data));
    let keys = prop_oneof![
        Just(Keys::None),
        any::<u64>().prop_map(Keys::Sender),
        both.prop_map(|(sender, receiver, data)| Keys::Both(sender, receiver, data)),
    ];
    (0u8..16, any::<u8>(), keys).prop_map(|(version, flags, keys)| Capable { version, flags, keys })
}

fn join() -> impl Strategy<Value = Join> {
    prop_oneof![
        any::<(bool, u8, u32, u32)>().prop_map(|(backup, address, token, nonce)| Join::Syn {
            backup,
            address,
            token,
            nonce
        }),
        any::<(bool, u8, u64, u32)>().prop_map(|(backup, address, proof, nonce)| Join::SynAck {
            backup,
            address,
            proof,
            nonce
        }),
        any::<[u8; 20]>().prop_map(|proof| Join::Ack { proof }),
    ]
}

fn data_sequence() -> impl Strategy<Value = DataSequence> {
    let mapping = (number(), any::<(u32, u16, Option<u16>)>())
        .prop_map(|(data, (subflow, length, checksum))| Mapping { data, subflow, length, checksum });
    (prop::option::of(number()), prop::option::of(mapping), any::<bool>())
        .prop_map(|(acknowledgement, mapping, fin)| DataSequence { acknowledgement, mapping, fin })
}

fn multipath() -> impl Strategy<Value = MptcpOption<'static>> {
    let add = (any::<bool>(), any::<u8>(), address(), any::<(Option<u16>, Option<u64>)>());
    prop_oneof![
        capable().prop_map(MptcpOption::Capable),
        join().prop_map(MptcpOption::Join),
        data_sequence().prop_map(MptcpOption::DataSequence),
        add.prop_map(|(echo, id, address, (port, proof))| {
            MptcpOption::AddAddress(AddAddress { echo, id, address, port, proof })
        }),
        payload(1..9).prop_map(MptcpOption::RemoveAddress),
        any::<(bool, Option<u8>)>().prop_map(|(backup, address)| MptcpOption::Priority { backup, address }),
        any::<u64>().prop_map(|sequence| MptcpOption::Fail { sequence }),
        any::<u64>().prop_map(|key| MptcpOption::FastClose { key }),
        any::<(bool, u8)>().prop_map(|(transient, reason)| MptcpOption::Reset { transient, reason }),
        (9u8..16, 0u8..16, payload(0..9)).prop_map(|(subtype, flags, value)| MptcpOption::Unknown {
            subtype,
            flags,
            value
        }),
    ]
}

fn option() -> impl Strategy<Value = TcpOption<'static>> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 1..=SackBlocks::MOST).prop_map(|pairs| {
        let mut blocks = SackBlocks::default();
        assert!(pairs.into_iter().all(|(left, right)| blocks.push(SackBlock { left, right })));
        blocks
    });
    prop_oneof![
        Just(TcpOption::NoOperation),
        any::<u16>().prop_map(TcpOption::MaximumSegmentSize),
        any::<u8>().prop_map(TcpOption::WindowScale),
        Just(TcpOption::SackPermitted),
        blocks.prop_map(TcpOption::Sack),
        any::<(u32, u32)>().prop_map(|(value, echo)| TcpOption::Timestamps { value, echo }),
        multipath().prop_map(TcpOption::Mptcp),
        (31u8.., payload(0..9)).prop_map(|(kind, value)| TcpOption::Unknown { kind, value }),
    ]
}

/// Options, as many as fit.
fn options() -> impl Strategy<Value = (Options, Vec<TcpOption<'static>>)> {
    prop::collection::vec(option(), 0..6).prop_map(|mut list| {
        let mut options = Options::new();
        list.retain(|option| options.push(option));
        (options, list)
    })
}

fn header() -> impl Strategy<Value = Header> {
    any::<(u16, u16, u32, u32, u8, u16, u16)>().prop_map(
        |(source_port, destination_port, sequence, acknowledgement, flags, window, urgent)| Header {
            source_port,
            destination_port,
            sequence,
            acknowledgement,
            flags: Flags(flags),
            window,
            urgent,
        },
    )
}

fn addresses() -> impl Strategy<Value = Addresses> {
    (address(), address()).prop_map(|(source, destination)| Addresses { source, destination })
}

fn encoded(header: &Header, options: &Options, addresses: &Addresses, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(options, addresses, payload, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

fn all(segment: &[u8]) -> Result<Vec<TcpOption<'_>>, DecodeError> {
    Segment::decode(segment)?.options.collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        header in header(),
        (options, list) in options(),
        addresses in addresses(),
        payload in payload(0..40),
    ) {
        let bytes = encoded(&header, &options, &addresses, payload);
        let segment = Segment::decode(&bytes).unwrap();
        prop_assert_eq!((segment.header, segment.payload), (header, payload));
        prop_assert_eq!(segment.header_bytes, bytes.len() - payload.len());
        prop_assert_eq!(segment.options.collect::<Result<Vec<_>, _>>(), Ok(list));
        prop_assert_eq!(tcp::verify(&addresses, &bytes), Ok(()));
    }

    #[test]
    fn a_header_that_is_cut_anywhere_is_refused(
        header in header(),
        (options, _) in options(),
        addresses in addresses(),
    ) {
        let bytes = encoded(&header, &options, &addresses, &[]);
        for end in 0..bytes.len() {
            let error = Segment::decode(&bytes[..end]).unwrap_err();
            prop_assert!(error.is_short(), "{}", error);
        }
    }

    /// A truncated option is refused, or decoded as another option of the shorter length.
    #[test]
    fn an_option_that_is_cut_anywhere_is_refused(option in option()) {
        let mut options = Options::new();
        prop_assume!(options.push(&option));
        let bytes = options.padded();
        let whole = option.encoded_bytes();
        for end in 1..whole {
            // At the end of the options: its length exceeds the remaining bytes.
            let cut = segment(&[&vec![1; OPTION_BYTES - end][..], &bytes[..end]].concat());
            let error = all(&cut).unwrap_err();
            prop_assert!(error.is_short(), "{}: {}", end, error);
            // With a matching length: nothing breaks.
            if end >= 2 {
                let mut shorter = bytes[..end].to_vec();
                shorter[1] = end as u8;
                shorter.resize(OPTION_BYTES, 0);
                let bytes = segment(&shorter);
                if let Some(Ok(read)) = Segment::decode(&bytes).unwrap().options.next() {
                    prop_assert_eq!(read.encoded_bytes(), end);
                }
            }
        }
    }

    #[test]
    fn a_damaged_segment_is_refused(
        header in header(),
        (options, _) in options(),
        addresses in addresses(),
        payload in payload(0..40),
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut bytes = encoded(&header, &options, &addresses, payload);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let refused = matches!(tcp::verify(&addresses, &bytes), Err(DecodeError::Checksum { at: 16, .. }));
        prop_assert!(refused);
    }

    #[test]
    fn short_numbers_are_expanded_to_the_nearest(number in any::<u64>(), ahead in -(1i64 << 31) + 1..1i64 << 31) {
        let expected = number.wrapping_add_signed(ahead);
        prop_assert_eq!(Number::Short(number as u32).expand(expected), number);
        prop_assert_eq!(Number::Long(number).expand(0), number);
    }
}

/// Returns a segment with these bytes as its options.
fn segment(options: &[u8]) -> Vec<u8> {
    let words = (20 + options.len()) / 4;
    [&[0; 12][..], &[(words as u8) << 4], &[0; 7], options].concat()
}

fn refused(options: &[u8]) -> String {
    let mut padded = options.to_vec();
    padded.resize(options.len().next_multiple_of(4), 0);
    all(&segment(&padded)).unwrap_err().to_string()
}

/// A SYN with Linux' options, in Linux' order.
#[test]
fn a_syn_by_hand() {
    let mut options = Options::new();
    let list = [
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { value: 0x0102_0304, echo: 0 },
        TcpOption::NoOperation,
        TcpOption::WindowScale(7),
        TcpOption::Mptcp(MptcpOption::Capable(Capable {
            version: 1,
            flags: Capable::HMAC_SHA256,
            keys: Keys::None,
        })),
    ];
    assert!(list.iter().all(|option| options.push(option)));
    let expected = [2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7, 30, 4, 0x01, 0x01];
    assert_eq!(options.padded(), expected);
    let header = Header {
        source_port: 40_000,
        destination_port: 80,
        sequence: 0xdead_beef,
        acknowledgement: 0,
        flags: Flags::SYN,
        window: 64_240,
        urgent: 0,
    };
    let addresses = Addresses {
        source: Ipv4Addr::new(10, 0, 0, 1).into(),
        destination: Ipv4Addr::new(10, 0, 0, 2).into(),
    };
    let bytes = encoded(&header, &options, &addresses, &[]);
    assert_eq!(bytes[..14], [0x9c, 0x40, 0, 80, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 0, 0xb0, 2]);
    assert_eq!(bytes.len(), 44);
}

#[test]
fn lengths_that_contradict_are_refused() {
    let cases: [(&[u8], &str); 12] = [
        (&[8], "TCP option at byte 21: its length cannot be 0"),
        (&[1, 1, 30, 9], "TCP option at byte 24: 7 bytes are missing"),
        (&[8, 9, 0, 0, 0, 0, 0, 0, 0], "timestamp's echo at byte 26: 1 byte is missing"),
        (&[3, 4, 7, 7], "TCP option at byte 21: its length cannot be 4"),
        (&[5, 2], "SACK option's blocks at byte 22: its length cannot be 0"),
        (&[5, 6, 0, 0, 0, 0], "SACK option's blocks at byte 22: its length cannot be 4"),
        (&[30, 2], "MPTCP option's subtype at byte 22: 1 byte is missing"),
        (&[30, 6, 0x01, 0, 0, 0], "MP_CAPABLE at byte 23: its length cannot be 5"),
        (&[30, 5, 0x10, 0, 0], "MP_JOIN at byte 23: its length cannot be 4"),
        (&[30, 8, 0x20, 0b101, 0, 0, 0, 0], "DSS option at byte 28: 4 bytes are missing"),
        (&[30, 3, 0x40], "REMOVE_ADDR at byte 22: its length cannot be 3"),
        (&[30, 7, 0x30, 0, 1, 2, 3], "ADD_ADDR at byte 23: its length cannot be 6"),
    ];
    for (options, expected) in cases {
        assert_eq!(refused(options), expected, "{options:?}");
    }
    let error = Segment::decode(&[&[0; 12][..], &[4 << 4], &[0; 7]].concat()).unwrap_err();
    assert_eq!(error.to_string(), "data offset at byte 12: its length cannot be 16");
}

#[test]
fn nothing_is_read_behind_the_end_of_the_list() {
    let bytes = segment(&[1, 0, 30, 99]);
    assert_eq!(all(&bytes), Ok(vec![TcpOption::NoOperation]));
}

#[test]
fn options_beyond_their_room_are_not_taken() {
    let mut options = Options::new();
    let timestamps = TcpOption::Timestamps { value: 1, echo: 2 };
    assert!((0..4).all(|_| options.push(&timestamps)));
    assert!(!options.push(&TcpOption::NoOperation));
    assert_eq!(options.padded().len(), OPTION_BYTES);
}

/// RFC 8684 §3.3.1: over the whole number, the subflow's number, the length, zeros, and the
/// payload.
#[test]
fn the_checksum_of_a_mapping() {
    let sum = Mapping::checksum(0x0001_0002_0003_0004, 0x0005_0006, 3, &[0x00, 0x07, 0x08]);
    assert_eq!(sum, !(1 + 2 + 3 + 4 + 5 + 6 + 3 + 7 + 0x0800));
}
