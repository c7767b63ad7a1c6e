//! Packet captures of real MPTCP and TCP: read into the results that the simulator gives, and written from its own.
//!
//! A run in the real Linux kernel leaves a *run folder*; [`observe()`] turns it into a
//! [`RunResult`](plait_sim::result::RunResult). Nothing here computes a metric: what the captures show is told to the
//! simulator's own recorder, so a metric means the same whichever engine it comes from. [`mod@write`] does the reverse: it
//! writes the captures that a simulated run would have left.
//!
//! # The run folder
//!
//! All times are nanoseconds of one virtual clock, that of the captures; all binary files are little-endian.
//!
//! | file | what |
//! |---|---|
//! | `sender.pcap`, `receiver.pcap` | what leaves and reaches both hosts from before the first SYN to the end, as by `tcpdump -i any --time-stamp-precision=nano -s 160` |
//! | `observed.json` | addresses, counters, the start and the end: see below |
//! | `writes.bin` | needed for workloads of blocks. After each block: `i64` time just before the write, `u64` bytes written since the start |
//! | `reads.bin` | optional. After each read of the application: `i64` time, `u64` bytes read since the start |
//! | `requests.bin` | needed for workloads of requests. One record of 40 bytes each, in the order of writing: `i64` times at which the client wrote it, the server had it whole and wrote the response, the client had the response whole (negative: not until the end), `u64` bytes of the request and of the response |
//! | `decisions.bin` | optional: the scheduler's log |
//! | `series.bin` | optional: samples of the paths |
//!
//! **Captures** are pcap or pcapng files of link type 276 (`LINUX_SLL2`), 113 (`LINUX_SLL`), 1 (Ethernet) or 101 (`RAW`: no link
//! header), with segmentation offloads switched off, so that one record is one packet. The first bytes tell the format. Both directions may be there. Each connection's
//! handshake has to be: the third packet's `MP_CAPABLE` has the key from which the first data sequence number follows
//! (RFC 8684 §3.1), SYNs have the subflows' initial sequence numbers. A transmission is found again at the receiver by its
//! IPv4 identification, which Linux counts up with every packet of a socket. Addresses and ports may have been translated
//! on the way: subflows of MPTCP are found again by their keys and tokens.
//!
//! **`observed.json`**; what may be null may be left out, and what is not listed is ignored:
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
//! `start_ns` is the scenario's time 0, `port` that of the end that is connected to: the receiver, or the sender where it answers requests. Paths and flows are those of the scenario, in its order;
//! counters are those of the forward direction at the end of the warm-up and at the end, `cwnd` is in packets, `scheduler`
//! is null if it counts nothing. `fallback` says why the connection gave up MPTCP, if it did: then data without a mapping goes
//! on where the data before it ended. `kernel` is handed on to the result as it is. A flow's sender is where its data comes from, also if it goes backward. A flow of kind
//! `multipath` uses its paths' addresses and needs none. Datagrams begin with their number: eight bytes, big-endian, from 0.
//!
//! **`decisions.bin`**: records of 88 bytes and 112 for each path, which the kernel copies from the structures of
//! `linux/schedulers/plait.h`: `s64 time; u32 paths; u32 unused; struct plait_decision; struct plait_connection;` and then
//! as many `struct plait_path`. The amount of a decision to wait is a moment of the same clock as the time.
//!
//! **`series.bin`**: records of 40 bytes, one per path and moment: `i64 time; u32 path, cwnd, ssthresh` (packets; 2³¹ − 1 or
//! more: unset)`, srtt_us` (0: none yet)`, in_flight` (packets)`, unsent_bytes, link_queue` (packets on the forward route)`,
//! unused`.
//!
//! # What the metrics mean here
//!
//! - A *packet* of the stream is what was sent for the first time in one piece. Later transmissions may have other
//!   boundaries: bytes are counted as bytes, and a packet has arrived when its last missing byte has.
//! - *Sent* and *arrived* are the moments in the captures. What the receiver's TCP rejects by its timestamp (PAWS) has
//!   arrived too, and so the retransmission that replaces it counts as one of what had arrived. *Delivered* is what the application read, if `reads.bin` is
//!   there; else what could be read: in the stream's order, and in each subflow's, since TCP hands up nothing beyond a hole.
//! - What is sent again under its number on the subflow is a *retransmission*; what is sent again under another one, on
//!   whatever subflow, is a *reinjection*, also if the kernel did it by itself.
//! - A path's lost and dropped packets are the counters of its link, whosever packets they were. A flow's lost packets are
//!   those that never arrived and were overtaken, wherever they got lost.

mod capture;
mod connection;
mod datagrams;
mod decisions;
mod error;
mod feed;
mod folder;
mod ip;
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
pub use observe::observe;
