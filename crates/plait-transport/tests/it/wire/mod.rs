//! The wire formats: what is written is read again, whatever it is; what is cut or made up is refused.

mod number;
mod quic;
mod sctp;
mod tcp;

use proptest::prelude::*;

/// Bytes that live as long as the tests, since decoded structs borrow.
fn payload(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = &'static [u8]> {
    prop::collection::vec(any::<u8>(), length).prop_map(|bytes| &*bytes.leak())
}

/// True in one of four cases, more often than not false.
fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.25)
}
