//! The maximum capacity of a scenario's paths, of each path and of all paths together.
//!
//! A path has the capacity of the slowest link of its forward route. Together, paths that share
//! links carry less than the sum of their capacities. Their maximum is the solution of the linear
//! program "maximize Σ xᵢ where, on each link, the xᵢ of the paths that pass it add up to its
//! capacity at most". The simplex method solves it exactly: there are at most 32 paths, and xᵢ = 0
//! is a feasible start. Competing flows are not deducted: the remaining capacity depends on how the
//! flows share links.

use crate::scenario::{Direction, Hop, Scenario};
use plait_sched::Time;

/// Capacities in bits per second between two moments.
#[derive(Clone, PartialEq, Debug)]
pub struct Capacities {
    /// The capacity of each path alone.
    pub paths: Vec<f64>,
    /// The capacity of all paths together.
    pub total: f64,
}

impl Capacities {
    /// Computes the capacities of a scenario's paths between two moments. `counted` converts a rate
    /// on the wire to the rate that counts, such as that of payload.
    pub fn new(scenario: &Scenario, from: Time, to: Time, counted: impl Fn(f64) -> f64) -> Self {
        let routes: Vec<Vec<Hop>> = (0..scenario.paths.len())
            .map(|path| scenario.directed(scenario.hops(path), Direction::Forward))
            .collect();
        let rate = |hop: Hop| {
            let link = scenario.hop(hop, Direction::Forward);
            link.map_or(f64::INFINITY, |link| counted(link.capacity.mean_rate(from, to) as f64))
        };
        let paths: Vec<f64> = routes
            .iter()
            .map(|route| route.iter().map(|&hop| rate(hop)).fold(f64::INFINITY, f64::min))
            .collect();
        let sum = paths.iter().sum();
        let shared = (0..scenario.links.len()).map(Hop::Shared);
        let shared: Vec<(Vec<bool>, f64)> = shared
            .map(|hop| (routes.iter().map(|route| route.contains(&hop)).collect::<Vec<bool>>(), rate(hop)))
            .filter(|(users, _)| users.iter().filter(|user| **user).count() > 1)
            .collect();
        let total = if shared.is_empty() { sum } else { most(&paths, &shared).min(sum) };
        Self { paths, total }
    }
}

/// Returns the largest sum of rates. Each rate is at most its path's. On each link, the users'
/// rates add up to at most the link's rate.
///
/// Dantzig's tableau with Bland's rule, which guarantees termination. It has a row per limit. Its
/// columns are the paths, then the slack of each limit, then the right side. The last row is the
/// objective.
pub(crate) fn most(paths: &[f64], shared: &[(Vec<bool>, f64)]) -> f64 {
    let (n, m) = (paths.len(), paths.len() + shared.len());
    let scale = paths.iter().copied().fold(1.0, f64::max);
    let width = n + m + 1;
    let mut rows = vec![vec![0.0; width]; m + 1];
    for (index, row) in rows[..m].iter_mut().enumerate() {
        match shared.get(index.wrapping_sub(n)) {
            Some((users, rate)) if index >= n => {
                for (cell, user) in row.iter_mut().zip(users) {
                    *cell = f64::from(u8::from(*user));
                }
                row[width - 1] = rate / scale;
            }
            _ => {
                row[index] = 1.0;
                row[width - 1] = paths[index] / scale;
            }
        }
        row[n + index] = 1.0;
    }
    rows[m][..n].fill(-1.0);
    let mut basis: Vec<usize> = (n..n + m).collect();
    const TINY: f64 = 1e-12;
    while let Some(entering) = (0..n + m).find(|&column| rows[m][column] < -TINY) {
        let ratio = |row: usize| rows[row][width - 1] / rows[row][entering];
        let candidates = (0..m).filter(|&row| rows[row][entering] > TINY);
        let leaving = candidates.min_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(basis[a].cmp(&basis[b])));
        // Every path has its own limit, so a candidate always exists.
        let Some(leaving) = leaving else { break };
        let pivot = rows[leaving][entering];
        rows[leaving].iter_mut().for_each(|cell| *cell /= pivot);
        basis[leaving] = entering;
        let pivot_row = rows[leaving].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[entering];
            if index != leaving && factor != 0.0 {
                row.iter_mut().zip(&pivot_row).for_each(|(cell, pivot)| *cell -= factor * pivot);
            }
        }
    }
    rows[m][width - 1] * scale
}

#[cfg(test)]
mod tests {
    use super::most;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
    }

    #[test]
    fn shared_links_limit_the_sum_and_not_each_path() {
        let all = vec![true, true];
        close(most(&[10.0, 5.0], &[(all.clone(), 12.0)]), 12.0);
        close(most(&[10.0, 5.0], &[(all.clone(), 20.0)]), 15.0);
        close(most(&[10.0, 5.0], &[(all.clone(), 12.0), (all, 3.0)]), 3.0);
    }

    /// An even share would give 1.5. One path uses both links, the other two use one link each.
    #[test]
    fn the_most_leaves_out_a_path_that_costs_two_others() {
        let links = [(vec![true, true, false], 1.0), (vec![true, false, true], 1.0)];
        close(most(&[1.0, 1.0, 1.0], &links), 2.0);
    }

    /// Three links, each shared by another pair of paths: each path gets half.
    #[test]
    fn cycles_of_links_have_fractional_solutions() {
        let links =
            [(vec![true, true, false], 1.0), (vec![false, true, true], 1.0), (vec![true, false, true], 1.0)];
        close(most(&[1.0, 1.0, 1.0], &links), 1.5);
    }

    proptest! {
        /// At most the bound of every set of limits, and at least the result of filling the paths
        /// in order.
        #[test]
        fn lies_between_simple_bounds(
            paths in prop::collection::vec(1.0_f64..1e9, 1..8),
            links in prop::collection::vec((prop::collection::vec(any::<bool>(), 8), 1.0_f64..1e9), 0..5),
        ) {
            let links: Vec<(Vec<bool>, f64)> =
                links.into_iter().map(|(users, rate)| (users[..paths.len()].to_vec(), rate)).collect();
            let found = most(&paths, &links);
            let mut left: Vec<f64> = links.iter().map(|(_, rate)| *rate).collect();
            let mut greedy = 0.0;
            for (path, &rate) in paths.iter().enumerate() {
                let users = || links.iter().enumerate().filter(|(_, (users, _))| users[path]).map(|(link, _)| link);
                let share = users().map(|link| left[link]).fold(rate, f64::min);
                users().for_each(|link| left[link] -= share);
                greedy += share;
            }
            prop_assert!(found >= greedy * (1.0 - 1e-9) && found <= paths.iter().sum::<f64>() * (1.0 + 1e-9));
            for (users, rate) in &links {
                let others: f64 = paths.iter().zip(users).filter(|(_, user)| !**user).map(|(path, _)| path).sum();
                prop_assert!(found <= (rate + others) * (1.0 + 1e-9));
            }
        }
    }
}
