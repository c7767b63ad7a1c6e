//! Properties that must hold for any external input, one function per decoder.
//!
//! A target takes bytes. It panics if a decoder panics, or if decoded data differs after it was
//! encoded and decoded again. `make fuzz` searches for such bytes, guided by coverage;
//! `tests/fixed.rs` does so without guidance, with the same inputs each time.
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
    /// The target's name.
    pub name: &'static str,
    /// Checks arbitrary bytes.
    pub check: fn(&[u8]),
    /// Initial inputs: at least one of each kind that the encoders produce.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
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

/// Returns the target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
