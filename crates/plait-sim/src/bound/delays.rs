//! The latest departure from a link that still arrives in time.

use crate::link::{LinkConfig, Steps, Varying};
use plait_sched::Duration;

/// Steps of a delay that a search looks at. A search that ends early returns a later departure.
const LOOKS: usize = 64;

/// The delays of a link without queueing and serialization, in nanoseconds. Jitter counts with its
/// smallest value, which may be negative.
pub(super) struct Delays<'a> {
    delay: &'a Varying<Duration>,
    extra: i64,
    pub(super) shortest: u64,
    /// The longest delay; packets that keep their order arrive by then, too.
    pub(super) longest: u64,
}

impl<'a> Delays<'a> {
    pub(super) fn new(config: &'a LinkConfig) -> Self {
        let (shortest, longest) = config.delays();
        let extra = config.jitter.map_or(0, |jitter| jitter.range().0);
        Self { delay: &config.delay, extra, shortest: shortest.as_nanos(), longest: longest.as_nanos() }
    }

    pub(super) fn are_constant(&self) -> bool {
        matches!(self.delay, Varying::Constant(_))
    }

    /// The latest departure of a packet that arrives by `moment`; `None` if there is none.
    pub(super) fn departure(&self, moment: u64) -> Option<u64> {
        match self.delay {
            Varying::Constant(_) => moment.checked_sub(self.shortest),
            Varying::Steps(steps) => self.departure_in(steps, moment),
        }
    }

    /// Goes back over the stages of the delay. The first stage with a departure has the latest one.
    fn departure_in(&self, steps: &Steps<Duration>, moment: u64) -> Option<u64> {
        let mut end = moment.checked_sub(self.shortest)?.saturating_add(1);
        for _ in 0..LOOKS {
            let (start, delay) = stage(steps, end - 1);
            let delay = delay.as_nanos().saturating_add_signed(self.extra);
            if let Some(departure) = moment.checked_sub(delay)
                && departure >= start
            {
                return Some(departure.min(end - 1));
            }
            if start == 0 {
                return None;
            }
            end = start;
        }
        Some(end - 1)
    }
}

/// The stage of a value at `moment`: its start, and the value.
fn stage(steps: &Steps<Duration>, moment: u64) -> (u64, Duration) {
    let base = steps.repeat().map_or(0, |span| moment - moment % span.as_nanos());
    let passed = steps.steps().partition_point(|step| base + step.at.as_nanos() <= moment);
    match passed.checked_sub(1).map(|index| steps.steps()[index]) {
        Some(step) => (base + step.at.as_nanos(), step.value),
        None => (base, steps.first()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Jitter, JitterDistribution, Step};
    use plait_sched::Time;
    use std::sync::Arc;

    /// 30 ns, from 100 ns on 80 ns, from 200 ns on 10 ns.
    fn link(repeat: Option<u64>) -> LinkConfig {
        let step = |at, value| Step { at: Time::from_nanos(at), value: Duration::from_nanos(value) };
        let steps = vec![step(100, 80), step(200, 10)];
        let steps = Steps::new(Duration::from_nanos(30), steps, repeat.map(Duration::from_nanos));
        LinkConfig { delay: Varying::Steps(Arc::new(steps)), ..LinkConfig::new(1, Duration::ZERO) }
    }

    #[test]
    fn a_departure_has_the_delay_of_its_own_time() {
        let config = link(None);
        let delays = Delays::new(&config);
        let found = [29, 30, 120, 140, 185, 205, 215].map(|moment| delays.departure(moment));
        assert_eq!(found, [None, Some(0), Some(90), Some(99), Some(105), Some(125), Some(205)]);
        let repeated = link(Some(300));
        assert_eq!(Delays::new(&repeated).departure(335), Some(305));
        assert_eq!(Delays::new(&repeated).departure(325), Some(299), "sent before the period ends");
    }

    #[test]
    fn jitter_below_zero_makes_departures_later() {
        let jitter = Jitter {
            amount: Duration::from_nanos(4),
            distribution: JitterDistribution::Normal,
            ..Jitter::default()
        };
        let config = LinkConfig { jitter: Some(jitter), ..LinkConfig::new(1, Duration::from_nanos(100)) };
        let delays = Delays::new(&config);
        assert!(delays.shortest < 100, "{}", delays.shortest);
        assert_eq!(delays.departure(100), Some(100 - delays.shortest));
    }
}
