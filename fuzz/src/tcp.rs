//! TCP segments with their options, MPTCP's included.

use plait_transport::wire::checksum::Addresses;
use plait_transport::wire::tcp::{self, Header, Options};
use std::net::Ipv4Addr;

const ADDRESSES: Addresses = Addresses {
    source: std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    destination: std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)),
};

/// As they come, and with the checksum that fits.
pub fn segment(bytes: &[u8]) {
    let _ = tcp::verify(&ADDRESSES, bytes);
    let Ok((header, payload)) = Header::decode(bytes) else { return };
    let mut whole = Vec::new();
    header.encode(&ADDRESSES, payload, &mut whole);
    whole.extend_from_slice(payload);
    assert_eq!(tcp::verify(&ADDRESSES, &whole), Ok(()));
    assert_eq!(Header::decode(&whole), Ok((header, payload)), "read again");

    // Option by option, up to the first one that is malformed.
    let list: Vec<_> = header.options.iter().map_while(Result::ok).collect();
    let mut options = Options::new();
    for option in &list {
        assert!(options.push(option), "there was room for {option:?}");
    }
    assert!(options.iter().eq(list.into_iter().map(Ok)), "options are read again");
}
