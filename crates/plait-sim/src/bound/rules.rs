//! The rules of each protocol that bounds use.

use super::has_full_segments;
use crate::scenario::{CmtSctpOptions, OwnOptions, Profile, Scenario, WindowAccounting};
use plait_sched::Duration;
use plait_transport::mptcp::largest_window;

/// The rules of a scenario's protocol.
pub(super) struct Rules {
    pub(super) window: Window,
    /// Whether a path carries data only after an answer to its first packet.
    pub(super) handshake: bool,
    /// Whether acknowledgements return on the path of the newest packet, and not on the path of the
    /// data.
    pub(super) acknowledges_anywhere: bool,
    /// The smallest congestion window after a loss, in segments.
    pub(super) least_window: f64,
    /// The most segments that may leave beyond the congestion window.
    pub(super) beyond_window: f64,
    /// The shortest first retransmission timeout of a path.
    pub(super) first_timeout: Duration,
    /// The most packets without data that a path carries forward, such as those that open it and
    /// heartbeats; `None` without a limit.
    pub(super) other_packets: Option<f64>,
}

impl Rules {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let options = &scenario.transport;
        let size = options.receive_buffer as f64;
        let stream = Window { size, ends: true, buffer: Some(size) };
        let shortest = options.rto_initial.min(options.rto_min);
        let (time, longest) = (scenario.duration.as_secs_f64(), options.rto_max.as_secs_f64());
        let rules = match &options.own {
            OwnOptions::CmtSctp(own) => Self {
                window: credit(scenario, own),
                handshake: false,
                acknowledges_anywhere: true,
                least_window: 4.0,
                // A last packet may leave as long as a byte of the window is left. A timeout may
                // free a segment whose earlier transmission still arrives.
                beyond_window: 3.0,
                first_timeout: shortest,
                other_packets: {
                    let between = own.heartbeat_interval.min(options.rto_min).as_secs_f64();
                    Some(2.0 * (time / between + 8.0))
                },
            },
            OwnOptions::Mptcp(own) => {
                let linux = own.profile == Profile::Linux;
                let payload = u64::from(options.packet - options.overhead().of_data());
                let largest = largest_window(options.receive_buffer, payload) as f64;
                let doublings = (longest / options.rto_initial.as_secs_f64()).max(1.0).log2();
                let openings = if own.handshake { 2.0 * (doublings + time / longest + 8.0) } else { 8.0 };
                Self {
                    window: if linux {
                        Window { size: largest, buffer: Some(largest), ..stream }
                    } else {
                        stream
                    },
                    handshake: own.handshake,
                    acknowledges_anywhere: false,
                    least_window: 2.0,
                    beyond_window: 0.0,
                    first_timeout: if linux { options.rto_initial } else { shortest },
                    other_packets: Some(openings),
                }
            }
            OwnOptions::Mpquic(own) => Self {
                window: stream,
                handshake: own.handshake,
                acknowledges_anywhere: false,
                least_window: 2.0,
                beyond_window: 0.0,
                first_timeout: options.rto_initial,
                // Probes and frames of the connection are packets too.
                other_packets: None,
            },
        };
        let least = if options.congestion_control.name() == "bbr" { 4.0 } else { rules.least_window };
        Self { least_window: least, ..rules }
    }
}

/// The receiver's window, in bytes of payload.
pub(super) struct Window {
    /// The most payload that is on its way or waits for earlier data.
    pub(super) size: f64,
    /// Whether it ends at an offset of the stream. Otherwise it is a credit for all data on its
    /// way.
    pub(super) ends: bool,
    /// The most payload that waits at the receiver; `None` without a limit.
    pub(super) buffer: Option<f64>,
}

/// CMT-SCTP's window, in which chunks count with their headers.
fn credit(scenario: &Scenario, own: &CmtSctpOptions) -> Window {
    let options = &scenario.transport;
    let size = options.receive_buffer as f64;
    let payload = f64::from(options.packet - options.overhead().of_data());
    Window {
        size: if has_full_segments(scenario) { size * payload / options.counted_packet() } else { size },
        ends: false,
        buffer: (own.receive_window_accounting == WindowAccounting::Buffer).then_some(size),
    }
}
