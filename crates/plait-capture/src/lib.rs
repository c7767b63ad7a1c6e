//! Packet captures of real MPTCP and TCP. Reads them into the results that the simulator gives, and
//! writes captures of simulated runs.
//!
//! A run in the real Linux kernel leaves a *run folder*; [`observe()`] turns it into a
//! [`RunResult`](plait_sim::result::RunResult). No metric is computed in this crate. It replays the
//! captures into the simulator's own recorder, so a metric means the same whichever engine it comes
//! from. [`mod@write`] does the reverse: it writes the captures that a simulated run would have
//! left.
//!
//! [`observe()`] reads a run folder twice: first the sent packets, because packets leave out of
//! stream order and segments get their numbers by their place in the stream; then everything,
//! merged by time.
//!
//! | file | content |
//! |---|---|
//! | `capture`, `packet`, `records`, `feed` | capture files; headers and MPTCP's options; files of records; files read one record ahead |
//! | `folder`, `decisions`, `logged` | `observed.json`; the scheduler's log, of a run and alone |
//! | `route`, `translation` | packets to connections and flows; subflows behind address translation |
//! | `sending`, `segments` | the bytes of the stream in a packet: subflow numbers, mappings, 32-bit numbers extended; ranges first sent in one piece |
//! | `receiving` | a model of the receiver: order of each subflow, then order of the stream |
//! | `connection`, `datagrams` | one connection, or one flow of datagrams, from both captures |
//! | `replay`, `observe` | everything merged by time; the result |
//! | `queues` | active queues, from captures made at the router |
//! | [`mod@write`], `ip` | captures of simulated runs; IPv4 headers |
//!
//! # The run folder
//!
//! All times are nanoseconds of one virtual clock, that of the captures; all binary files are
//! little-endian.
//!
//! | file | content |
//! |---|---|
//! | `sender.pcap`, `receiver.pcap` | packets that leave and reach both hosts, from before the first SYN to the end, as by `tcpdump -i any --time-stamp-precision=nano -s 160` |
//! | `observed.json` | addresses, counters, start and end of the run: see below |
//! | `writes.bin` | needed for workloads of blocks. One record after each block: `i64` time just before the write, `u64` bytes written since the start |
//! | `reads.bin` | optional. One record after each read of the application: `i64` time, `u64` bytes read since the start |
//! | `requests.bin` | needed for workloads of requests. One record of 40 bytes per request, in the order of writing. Three `i64` times: the client wrote the request, the server wrote the response after it had received the whole request, the client had received the whole response (negative: not before the end). Then `u64` bytes of the request and `u64` bytes of the response |
//! | `decisions.bin` | optional: the scheduler's log |
//! | `series.bin` | optional: samples of the paths |
//!
//! **Captures** are pcap or pcapng files of link type 276 (`LINUX_SLL2`), 113 (`LINUX_SLL`), 1
//! (Ethernet) or 101 (`RAW`: no link header). Segmentation offloads are switched off, so that one
//! record is one packet. The first bytes of a file tell its format. A file may contain both
//! directions. It must contain each connection's handshake. The third packet's `MP_CAPABLE` has the
//! key from which the first data sequence number follows (RFC 8684 §3.1), and SYNs have the
//! subflows' initial sequence numbers. The IPv4 identification, which Linux increments with every
//! packet of a socket, identifies a transmission at the receiver. Addresses and ports may have been
//! translated on the way: subflows of MPTCP are recognised by their keys and tokens.
//!
//! **`observed.json`**: nullable fields may be left out, and unknown fields are ignored:
//!
//! ```json
//! { "version": 1, "start_ns": 0, "end_ns": 0, "port": 5001, "written_bytes": 0,
//!   "paths": [{ "name": "", "sender": "10.0.0.1", "receiver": "10.0.0.2",
//!               "warmup": { "lost": 0, "dropped": 0, "timeouts": null, "tail_probes": null },
//!               "end": { "lost": 0, "dropped": 0, "timeouts": null, "tail_probes": null },
//!               "srtt_us": null, "cwnd": null, "forward_delay_us": null, "backward_delay_us": null }],
//!   "fallback": null, "kernel": null,
//!   "scheduler": { "warmup": { "decisions": 0, "waits": 0 }, "end": { "decisions": 0, "waits": 0 } },
//!   "flows": [{ "name": "", "sender": "10.0.1.1", "receiver": "10.0.1.2", "port": 5002 }] }
//! ```
//!
//! `start_ns` is the scenario's time 0. `port` is the port of the end that accepts the connection:
//! the receiver, or the sender if it answers requests. Paths and flows are those of the scenario,
//! in its order. Counters are those of the forward direction, at the end of the warm-up and at the
//! end of the run. `cwnd` is in packets. `scheduler` is null if the scheduler counts nothing.
//! `fallback` is the reason why the connection fell back from MPTCP, if it did: then data without a
//! mapping continues where the data before it ended. `kernel` is copied to the result unchanged. A
//! flow's sender is the source of its data, even if the flow goes backward. A flow of kind
//! `multipath` uses its paths' addresses and needs none. Datagrams begin with their number: eight
//! bytes, big-endian, from 0.
//!
//! **`decisions.bin`**: records of 88 bytes plus 112 for each path. The kernel copies them from the
//! structures of `linux/schedulers/plait.h`:
//! `s64 time; u16 paths, format; u32 token; struct plait_decision; struct plait_connection;` and
//! then as many `struct plait_path` without its last member. The format is 1. The amount of a
//! decision to wait is a time of the same clock as `time`.
//!
//! **`series.bin`**: records of 40 bytes, one per path and time:
//! `i64 time; u32 path, cwnd, ssthresh` (packets; 2³¹ − 1 or more: unset)`, srtt_us` (0: none
//! yet)`, in_flight` (packets)`, unsent_bytes, link_queue` (packets on the forward
//! route)`, unused`.
//!
//! # How metrics are derived
//!
//! - A *packet* of the stream is a range of bytes that was first sent in one piece. Later
//!   transmissions may have other boundaries: bytes are counted as bytes, and a packet has arrived
//!   when its last missing byte has.
//! - *Sent* and *arrived* are times in the captures. Data that the receiver's TCP rejects by its
//!   timestamp (PAWS) counts as arrived. The retransmission that replaces rejected data therefore
//!   counts as a retransmission of data that had arrived. *Delivered* is data that the application
//!   read, if `reads.bin` exists. Without it, *delivered* is all readable data: in order in the
//!   stream and in each subflow, since TCP delivers nothing beyond a gap.
//! - Data sent again with the same sequence number on its subflow is a *retransmission*. Data sent
//!   again with another sequence number, on any subflow, is a *reinjection*, even if the kernel
//!   chose to send it.
//! - A path's lost and dropped packets are the counters of its link, for packets of all
//!   connections. A flow's lost packets are those that never arrived and were overtaken, at
//!   whichever link they were lost.

mod capture;
mod connection;
mod datagrams;
mod decisions;
mod error;
mod feed;
mod folder;
mod ip;
mod logged;
mod observe;
mod packet;
mod queues;
mod ranges;
mod receiving;
mod records;
mod replay;
mod route;
mod segments;
mod sending;
#[cfg(test)]
mod tests;
mod translation;
pub mod write;

pub use error::ObservationError;
pub use logged::{Logged, logged};
pub use observe::observe;
