//! What has to hold of any bytes that come from outside, one function per decoder.
//!
//! A target takes bytes and panics if a decoder does, or if what was decoded is not the same after it was encoded and decoded
//! again. `make fuzz` searches for such bytes, led by coverage; `tests/fixed.rs` does so blindly, the same way each time.
//!
//! A new target is a function and a line in [`TARGETS`], with seeds in [`mod@seeds`].

pub mod ends;
pub mod files;
pub mod quic;
pub mod sctp;
pub mod seeds;
pub mod streams;
pub mod tcp;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called.
    pub name: &'static str,
    /// Checks any bytes.
    pub check: fn(&[u8]),
    /// Bytes to begin with: all kinds of what can be encoded.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 14] = [
    Target { name: "sctp", check: sctp::packet, seeds: seeds::sctp },
    Target { name: "tcp", check: tcp::segment, seeds: seeds::tcp },
    Target { name: "quic-packets", check: quic::datagram, seeds: seeds::quic_packets },
    Target { name: "quic-frames", check: quic::frames, seeds: seeds::quic_frames },
    Target { name: "quic-parameters", check: quic::parameters, seeds: seeds::quic_parameters },
    Target { name: "quic-numbers", check: quic::numbers, seeds: seeds::quic_numbers },
    Target { name: "sctp-end", check: ends::sctp, seeds: ends::sctp_seeds },
    Target { name: "mptcp-end", check: ends::mptcp, seeds: ends::mptcp_seeds },
    Target { name: "mptcp-linux-end", check: ends::linux, seeds: ends::linux_seeds },
    Target { name: "quic-end", check: ends::quic, seeds: ends::quic_seeds },
    Target { name: "file-greeting", check: files::greeting, seeds: files::greeting_seeds },
    Target { name: "file-records", check: files::records, seeds: files::records_seeds },
    Target { name: "file-packets", check: files::packets, seeds: files::packets_seeds },
    Target { name: "stream-segments", check: streams::segments, seeds: streams::segments_seeds },
];

/// The target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
