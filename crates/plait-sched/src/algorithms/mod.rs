//! The built-in schedulers, one file each. Each file describes the rule, its source, and the
//! departures from it.
//!
//! To add a scheduler, write its file with a type, its `INFO` and its `from_parameters`. Then add
//! its module and a line in the list here.
//!
//! The enum, its dispatch and the description for users (parameters, defaults, source) follow from
//! the list, in `registry.rs`. The state of an algorithm is in arrays of
//! [`MAX_PATHS`](crate::MAX_PATHS) entries: no algorithm allocates.

pub mod blest;
pub mod cheapest_first;
pub mod daps;
pub mod daps_rounds;
pub mod delivery_delay;
pub mod dqs;
pub mod ecf;
pub mod guard;
pub mod intelligent_delivery_delay;
pub mod lamps;
pub mod linux_default;
pub mod lowest_rtt;
pub mod mp_dash;
pub mod musher;
mod numeric;
mod opportunity;
pub mod otias;
pub mod peekaboo;
pub mod plait;
pub mod raven;
pub mod redundant;
pub mod round_robin;
pub mod round_trip;
pub mod s_edpf;
pub mod sa_ecf;
#[cfg(test)]
mod script;
pub mod srpt;
pub mod stms;
pub mod sttf;
mod suspects;
pub mod weighted;
pub mod xlink;

use crate::view::{Path, PathState};

/// Passes the list of schedulers to a macro, in the order in which users see them.
macro_rules! algorithms {
    ($use:ident) => {
        $use! {
            round_robin::RoundRobin,
            lowest_rtt::LowestRtt,
            daps::Daps,
            daps_rounds::DapsRounds,
            delivery_delay::DeliveryDelay,
            intelligent_delivery_delay::IntelligentDeliveryDelay,
            dqs::Dqs,
            redundant::Redundant,
            blest::Blest,
            ecf::Ecf,
            otias::Otias,
            sttf::Sttf,
            linux_default::LinuxDefault,
            cheapest_first::CheapestFirst,
            weighted::Weighted,
            srpt::Srpt,
            sa_ecf::SaEcf,
            mp_dash::MpDash,
            lamps::Lamps,
            raven::Raven,
            musher::Musher,
            s_edpf::SEdpf,
            peekaboo::Peekaboo,
            stms::Stms,
            xlink::Xlink,
            plait::Plait,
        }
    };
}

pub(crate) use algorithms;

/// Number of segments that the usable path `path` can send at once.
fn room(path: &Path) -> u32 {
    if path.is_open() { path.room() } else { 0 }
}

/// Number of segments that `path`, one of `paths`, may get to send at once. It is 0 unless the path
/// is open, and 0 for a backup path while an active one is usable.
fn room_now(path: &Path, paths: &[Path]) -> u32 {
    let replaced = path.state == PathState::Backup && paths.iter().any(|p| p.state == PathState::Active);
    if replaced { 0 } else { room(path) }
}

/// The smaller of a number of segments on a path and a number of segments of the stream.
fn clip(segments: u32, stream: u64) -> u32 {
    u32::try_from(stream).map_or(segments, |stream| segments.min(stream))
}
