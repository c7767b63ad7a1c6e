//! Transfers, streams and proxies, in one test program. `cargo test -p plait-quic --test it cuts`
//! runs the tests of one module.

mod allowance;
mod attacks;
mod auto;
#[cfg(target_os = "linux")]
mod boot;
mod budgets;
mod cuts;
mod datagrams;
mod folders;
#[cfg(target_os = "linux")]
mod interfaces;
mod interop;
mod interop_files;
mod memory;
mod mtu;
#[cfg(target_os = "linux")]
mod namespaces;
mod near_far;
mod network;
mod noq_multipath;
mod peer;
mod program;
mod proxy;
mod recorded;
mod records;
mod redundant;
mod running;
mod service;
mod sessions;
mod silent;
mod streams;
mod transfer;
mod tunnels;
mod units;
mod waiting;
