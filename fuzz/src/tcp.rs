//! TCP segments with their options, MPTCP's included.

use plait_transport::wire::checksum::Addresses;
use plait_transport::wire::tcp::{self, Options, Segment};
use std::net::Ipv4Addr;

const ADDRESSES: Addresses = Addresses {
    source: std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    destination: std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
};

/// Decodes a segment as it is, and with the matching checksum.
pub fn segment(bytes: &[u8]) {
    let _ = tcp::verify(&ADDRESSES, bytes);
    let Ok(segment) = Segment::decode(bytes) else { return };
    // Options up to the first malformed one.
    let list: Vec<_> = segment.options.map_while(Result::ok).collect();
    let mut options = Options::new();
    for option in &list {
        assert!(options.push(option), "there was room for {option:?}");
    }
    let mut whole = Vec::new();
    segment.header.encode(&options, &ADDRESSES, segment.payload, &mut whole);
    whole.extend_from_slice(segment.payload);
    assert_eq!(tcp::verify(&ADDRESSES, &whole), Ok(()));
    let again = Segment::decode(&whole).expect("our own segment");
    assert_eq!((again.header, again.payload), (segment.header, segment.payload), "read again");
    assert!(again.options.eq(list.into_iter().map(Ok)), "options are read again");
}
