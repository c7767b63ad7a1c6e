//! Emulates a scenario's links for any program, in user space and without root.
//!
//! ```text
//!  COMMAND ─► near namespace ─► one interface per path ─► Relay: plait-sim's links ─► far namespace ─► server
//!                               (TUN)                     driven by a real clock
//! ```
//! - [`relay`]: decides when each packet leaves. It uses the simulator's own links, without sockets
//!   or clocks;
//! - [`packet`]: the fields of an IP packet that links need: its flow, and whether it is
//!   ECN-capable;
//! - [`plan`]: names and addresses of both ends of every path;
//! - [`driver`]: the loop between a clock, file descriptors and the relay;
//! - [`tunnel`], [`netlink`], [`namespace`], [`near_routes`], [`command`]: interfaces, routes,
//!   namespaces, routes that return with their link, and the programs (Linux);
//! - [`loopback`]: the same links between UDP sockets on loopback addresses, without namespaces.
//!
//! The process makes both namespaces for itself and stays in the near one, so nothing remains after
//! any kind of end. It has to be a process of one thread, which user namespaces require, and only
//! the command calls it. Interfaces are TUN, not veth: packets are complete, with checksums, so no
//! offloading has to be switched off and there is no address resolution. There is no Ethernet.
//! `system.rs` has the only unsafe code. CoDel's marks become ECN bits in the IP header.
//!
//! ```
//! use plait_link::relay::Relay;
//! use plait_sched::{Duration, Time};
//! use plait_sim::scenario::{Scenario, Direction};
//! use std::path::Path;
//!
//! let text = "[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"";
//! let scenario = Scenario::from_toml(text, "example.toml", Path::new("."))?;
//! let mut relay = Relay::new(&scenario);
//! relay.send(Time::ZERO, 0, Direction::Forward, 1500, &[0; 1500]);
//! // 12 ms for 1500 bytes, 10 ms on the way.
//! assert_eq!(relay.next(), Some(Time::ZERO + Duration::from_millis(22)));
//! # Ok::<(), plait_sim::error::ScenarioError>(())
//! ```

pub mod error;
pub mod packet;
pub mod plan;
pub mod relay;

#[cfg(target_os = "linux")]
pub mod command;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(target_os = "linux")]
pub mod loopback;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod near_routes;
#[cfg(target_os = "linux")]
pub mod netlink;
#[cfg(target_os = "linux")]
mod system;
#[cfg(target_os = "linux")]
pub mod tunnel;
