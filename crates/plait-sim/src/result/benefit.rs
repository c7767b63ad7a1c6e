//! Kaspar's aggregation benefit.

use crate::capacity::Capacities;
use crate::scenario::Scenario;
use plait_sched::Time;

/// The paths' maximum capacities during the measurement, in payload bits per second.
pub(super) fn capacities(scenario: &Scenario, end: Time) -> Capacities {
    let packet = f64::from(scenario.transport.packet);
    let payload = packet - f64::from(scenario.transport.overhead().of_data());
    let start = (Time::ZERO + scenario.warmup).min(end);
    Capacities::new(scenario, start, end, |rate| rate * payload / packet)
}

/// Kaspar's aggregation benefit of a goodput over paths with these capacities: (g − C_max)/(ΣC_i −
/// C_max) if g ≥ C_max, else (g − C_max)/C_max.
pub fn aggregation_benefit(goodput: f64, capacities: &[f64]) -> f64 {
    benefit(goodput, &Capacities { paths: capacities.to_vec(), total: capacities.iter().sum() })
}

/// The benefit over paths that may share links. The joint capacity takes the place of ΣC_i.
pub(super) fn benefit(goodput: f64, capacities: &Capacities) -> f64 {
    let best = capacities.paths.iter().copied().fold(0.0, f64::max);
    let others = capacities.total - best;
    let gain = goodput - best;
    if gain < 0.0 {
        gain / best
    } else if others > 0.0 {
        gain / others
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::aggregation_benefit;

    #[test]
    fn benefit_is_minus_one_to_one() {
        let paths = [10.0, 5.0];
        assert_eq!(aggregation_benefit(0.0, &paths), -1.0);
        assert_eq!(aggregation_benefit(10.0, &paths), 0.0);
        assert_eq!(aggregation_benefit(15.0, &paths), 1.0);
        assert_eq!(aggregation_benefit(4.0, &[4.0]), 0.0);
    }
}
