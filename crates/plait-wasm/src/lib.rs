//! The simulator for a page in a browser: one function from a request to an answer, both in JSON.
//!
//! - [`answer`]: a run with its pictures' data, or the decision behind one packet;
//! - `tables`: the recorded tables in JSON, with the columns of Python's frames;
//! - `decisions`: decisions in the shape of `plait explain --json`;
//! - `memory`: the interface to a browser, only on WebAssembly.
//!
//! The crate has no arithmetic of its own beyond the quantiles of delays: a run is
//! [`plait_sim::simulation::run_with_preview`], its metrics are
//! [`plait_sim::result::RunResult::to_json`].
//!
//! ```
//! let request = r#"{
//!     "scenario": { "duration": "2s", "path": [{ "rate": "1Mbit", "rtt": "20ms" }] },
//!     "scheduler": "lowest-rtt",
//!     "run": { "window_ns": [1000000000, 1100000000], "series_ns": 100000000 }
//! }"#;
//! assert!(plait_wasm::answer(request, &mut |_| ()).starts_with(r#"{"result":{"scenario":"playground","#));
//! let request = r#"{ "scenario": {}, "scheduler": "lowest-rtt", "run": null }"#;
//! let wrong = plait_wasm::answer(request, &mut |_| ());
//! assert!(wrong.starts_with(r#"{"error":""#));
//! ```

mod decisions;
#[cfg(target_arch = "wasm32")]
pub mod memory;
mod request;
mod tables;

pub use request::answer;
