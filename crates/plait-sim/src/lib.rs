//! A packet-level network in exact virtual time: links with queues, losses and outages, scenario
//! files, and runs of a transport over them.
//!
//! - [`scenario`]: the description of a simulation, from a TOML file or from Rust;
//! - [`simulation`]: one run;
//! - [`link`]: one direction of a wire, which computes a packet's fate when the packet enters;
//!   [`capacity`]: the capacity of paths; [`bound`]: bounds of a run's metrics;
//!   [`oracle`]: a search for the best schedule;
//! - [`application`]: the traffic that is written into a connection, and its reaction to
//!   deliveries;
//! - [`agenda`]: the event queue; [`random`]: one stream of random numbers per component;
//!   [`logarithm`]: its functions;
//! - [`mod@format`]: the format of scenario files; [`statistics`]: summaries of many samples;
//! - [`recorder`], [`result`]: metrics, and tables on request.
//!
//! Modules depend on each other in one direction: `format` ← `application` ← `scenario` ← `result`
//! ← `simulation`. An application describes its keys and its behaviour, and knows neither scenarios
//! nor simulations. Metrics count from the end of the warm-up to the end of the run. In the steady
//! state nothing is allocated per packet.
//!
//! ```
//! use plait_sched::registry::Builtin;
//! use plait_sim::{recorder::RecordOptions, scenario::Scenario, simulation};
//!
//! let text = r#"
//!     duration = "20s"
//!     warmup = "10s"
//!     transport = { protocol = "cmt-sctp" }
//!     [[path]]
//!     rate = "1Mbit"
//!     rtt = "20ms"
//!     queue = "50p"
//! "#;
//! let scenario = Scenario::from_toml(text, "example.toml", std::path::Path::new("."))?;
//! let scheduler = Builtin::new("lowest-rtt", &[])?;
//! let control = &mut |_share| simulation::Control::Continue;
//! let result = simulation::run(&scenario, scheduler, &RecordOptions::default(), control)?;
//! // 1452 of 1500 bytes are payload.
//! assert!((result.metrics.goodput_bps / 968_000.0 - 1.0).abs() < 0.001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agenda;
pub mod application;
pub mod bound;
pub mod capacity;
pub mod error;
pub mod format;
pub mod link;
pub mod logarithm;
pub mod oracle;
pub mod random;
pub mod recorder;
pub mod result;
pub mod scenario;
pub mod simulation;
pub mod statistics;

/// The README's code runs as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
