//! Wire formats: encoded packets are decoded again; truncated and invented ones are refused.

mod number;
mod quic;
mod sctp;
mod tcp;

use proptest::prelude::*;

/// Bytes with the lifetime of the tests, since decoded structs borrow.
fn payload(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = &'static [u8]> {
    prop::collection::vec(any::<u8>(), length).prop_map(|bytes| &*bytes.leak())
}

/// True in one of four cases.
fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.25)
}
