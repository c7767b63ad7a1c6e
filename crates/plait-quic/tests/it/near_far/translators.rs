//! Network address translators between the near end and the far end.

use super::fixture::{Fixture, settings};
use crate::network::links::{FAST, Path, SLOW};
use plait_quic::OpeningEnd;
use std::time::Duration;

/// A translator gets another public address. The far end's datagrams still fit the near end's MTU.
#[test]
fn a_translator_with_another_address_closes_no_path() {
    let narrow = Some(([Duration::ZERO, Duration::MAX], settings().mtu.into()));
    let paths = [FAST, SLOW].map(|path| Path { narrow, ..path });
    let mut fixture = Fixture::new(&paths, "told", &[]);
    let before = fixture.exchange(4, 1_000_000);
    fixture.network.public = 11;
    let after = fixture.exchange(4, 1_000_000);
    let opened: Vec<u32> = fixture.near.progress().iter().map(|path| path.opened).collect();
    assert_eq!(opened, [1, 1]);
    assert!(after < before.mul_f64(1.5), "{before:?} before, {after:?} after");
}
