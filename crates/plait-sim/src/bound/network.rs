//! The most that the paths can deliver, alone and together over shared links.

use super::curve::Curve;
use super::envelope::Envelope;
use crate::capacity::most;
use crate::scenario::{Direction, Hop, Scenario};

/// Payload that must arrive, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Demand {
    /// In packets of any size.
    Bytes(f64),
    /// In packets of which at least `full` are full, and one more has `short` bytes or more, if
    /// `short` is not 0.
    Packets { full: u64, short: f64 },
}

/// Sizes of data packets, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// A full packet on the wire.
    pub(super) full: f64,
    /// Its payload.
    pub(super) payload: f64,
    /// The headers of a packet with data.
    pub(super) headers: f64,
}

/// The forward links of all paths.
pub(super) struct Network<'a> {
    pub(super) curves: Vec<Curve<'a>>,
    /// The links of each path, in order, as indices of `curves`.
    pub(super) routes: Vec<Vec<usize>>,
    /// The links of several paths.
    shared: Vec<usize>,
    pub(super) sizes: Sizes,
    /// The end of the run.
    pub(super) end: u64,
}

/// Bytes that paths and shared links can carry in a time.
struct Carried {
    paths: Vec<f64>,
    /// With the users of each shared link.
    shared: Vec<(Vec<bool>, f64)>,
}

impl<'a> Network<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let (packet, overhead) = (scenario.transport.packet, scenario.transport.overhead());
        let headers = overhead.of_data();
        let sizes = Sizes {
            full: f64::from(packet),
            payload: f64::from(packet - headers),
            headers: f64::from(headers),
        };
        let end = scenario.duration.as_nanos();
        let mut known: Vec<Hop> = Vec::new();
        let mut curves = Vec::new();
        let routes: Vec<Vec<usize>> = (0..scenario.paths.len())
            .map(|path| {
                let mut route = Vec::new();
                for hop in scenario.directed(scenario.hops(path), Direction::Forward) {
                    let place = known.iter().position(|other| *other == hop).unwrap_or_else(|| {
                        known.push(hop);
                        let link = scenario.hop(hop, Direction::Forward);
                        curves.extend(link.map(|link| Curve::new(link, sizes.full, end)));
                        curves.len() - 1
                    });
                    route.push(place);
                }
                route
            })
            .collect();
        let users = |link: &usize| routes.iter().filter(|route| route.contains(link)).count();
        let shared = (0..curves.len()).filter(|link| users(link) > 1).collect();
        Self { curves, routes, shared, sizes, end }
    }

    /// Whether deliveries depend only on the time since their release.
    pub(super) fn is_steady(&self) -> bool {
        self.curves.iter().all(Curve::is_steady)
    }

    /// The shortest time of a packet of `bytes` on a path.
    pub(super) fn quickest(&self, path: usize, bytes: f64) -> u64 {
        self.routes[path].iter().map(|&link| self.curves[link].quickest(bytes)).sum()
    }

    /// The highest rate of a path in bytes of payload per nanosecond.
    pub(super) fn peak(&self, path: usize) -> f64 {
        let peaks = self.routes[path].iter().map(|&link| self.curves[link].peak());
        peaks.fold(f64::INFINITY, f64::min) * self.payload_share()
    }

    /// The shortest time in which `payload` bytes can arrive at any time of the run: all links have
    /// their highest rate and their shortest delay.
    pub(super) fn least_time(&self, payload: f64) -> f64 {
        let paths = 0..self.routes.len();
        let mut paths: Vec<(f64, f64)> =
            paths.map(|path| (self.quickest(path, 0.0) as f64, self.peak(path))).collect();
        paths.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (mut least, mut rate, mut delayed) = (f64::INFINITY, 0.0, 0.0);
        for (delay, peak) in paths {
            // The paths so far, of which each starts after its delay. A rate may be infinite.
            if delay >= least {
                break;
            }
            if peak.is_infinite() {
                return delay;
            }
            (rate, delayed) = (rate + peak, delayed + peak * delay);
            least = (payload + delayed) / rate;
        }
        least
    }

    /// The payload's share of a full packet.
    pub(super) fn payload_share(&self) -> f64 {
        self.sizes.payload / self.sizes.full
    }

    /// The first time in `low..=high` by which a demand can arrive; `high` if there is none. Data
    /// leaves on a path from `from` on.
    pub(super) fn earliest(
        &self,
        from: &[u64],
        demand: Demand,
        slow: Option<&[Envelope]>,
        (low, high): (u64, u64),
    ) -> u64 {
        let (mut low, mut high) = (low, high);
        // Most demands arrive soon after `low`.
        let mut step = 1 << 16;
        while low + step < high {
            if self.delivers(from, low + step, demand, slow) {
                high = low + step;
            } else {
                low += step + 1;
                step *= 4;
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.delivers(from, middle, demand, slow) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Whether a demand can arrive by `to`.
    pub(super) fn delivers(&self, from: &[u64], to: u64, demand: Demand, slow: Option<&[Envelope]>) -> bool {
        let smallest = match demand {
            Demand::Bytes(bytes) => bytes.min(1.0) + self.sizes.headers,
            Demand::Packets { short: 0.0, .. } => self.sizes.full,
            Demand::Packets { short, .. } => short + self.sizes.headers,
        };
        let limit = |path: usize| slow.map_or(f64::INFINITY, |slow| slow[path].most(to));
        let carried = self.carries(from, to, smallest);
        match demand {
            Demand::Bytes(bytes) => self.payload_of(&carried, limit) >= bytes,
            Demand::Packets { full, short } => self.holds(&carried, limit, full, short),
        }
    }

    /// The most payload that can arrive by `to`, in packets of any size.
    pub(super) fn payload(&self, from: &[u64], to: u64, slow: Option<&[Envelope]>) -> f64 {
        let limit = |path: usize| slow.map_or(f64::INFINITY, |slow| slow[path].most(to));
        self.payload_of(&self.carries(from, to, self.sizes.headers + 1.0), limit)
    }

    /// The payload of one path in `bytes` on the wire.
    pub(super) fn payload_in(&self, bytes: f64) -> f64 {
        let Sizes { full, payload, headers } = self.sizes;
        let packets = (bytes / full).floor();
        packets * payload + (bytes - packets * full - headers).max(0.0)
    }

    fn payload_of(&self, carried: &Carried, limit: impl Fn(usize) -> f64) -> f64 {
        let payload = |(path, &bytes): (usize, &f64)| self.payload_in(bytes).min(limit(path));
        let paths: Vec<f64> = carried.paths.iter().enumerate().map(payload).collect();
        let share = self.payload_share();
        total(&paths, carried.shared.iter().map(|(users, bytes)| (users.clone(), bytes * share)))
    }

    /// Whether `full` full packets fit, and one more with `short` bytes.
    fn holds(&self, carried: &Carried, limit: impl Fn(usize) -> f64, full: u64, short: f64) -> bool {
        let Sizes { full: size, payload, headers } = self.sizes;
        let packets = |(path, &bytes): (usize, &f64)| {
            (bytes / size + 1e-9).floor().min((limit(path) / payload + 1e-9).floor())
        };
        let counts: Vec<f64> = carried.paths.iter().enumerate().map(packets).collect();
        let shared = carried.shared.iter().map(|(users, bytes)| (users.clone(), bytes / size));
        let fit = (total(&counts, shared) + 1e-6).floor();
        if short == 0.0 || fit > full as f64 {
            return fit >= full as f64;
        }
        let has_room = |(path, &bytes): (usize, &f64)| {
            let (left, open) = (bytes - counts[path] * size, limit(path) - counts[path] * payload);
            left >= short + headers && open >= short
        };
        // Over a shared link the packets may have another distribution.
        fit >= full as f64 && (!carried.shared.is_empty() || carried.paths.iter().enumerate().any(has_room))
    }

    /// Bytes that arrive by `to`. The smallest packet has `smallest` bytes.
    fn carries(&self, from: &[u64], to: u64, smallest: f64) -> Carried {
        let mut spans = vec![(u64::MAX, 0); self.shared.len()];
        let paths =
            (0..self.routes.len()).map(|path| self.carries_on(path, from[path], to, smallest, &mut spans));
        let paths = paths.collect();
        let shared = self.shared.iter().zip(&spans).map(|(&link, &(from, to))| {
            let users = self.routes.iter().map(|route| route.contains(&link)).collect();
            (users, self.curves[link].carries(from, to))
        });
        Carried { paths, shared: shared.collect() }
    }

    /// Bytes that arrive over a path. `spans` are widened to the times in which its packets are in
    /// the service of shared links.
    fn carries_on(&self, path: usize, from: u64, to: u64, smallest: f64, spans: &mut [(u64, u64)]) -> f64 {
        let route = &self.routes[path];
        let mut latest = to;
        let mut departures = vec![0; route.len()];
        for (place, &link) in route.iter().enumerate().rev() {
            let curve = &self.curves[link];
            let Some(departure) = curve.delays.departure(latest) else { return 0.0 };
            departures[place] = departure;
            latest = (departure + 1).saturating_sub((smallest / curve.peak()) as u64);
        }
        let (mut earliest, mut most) = (from, f64::INFINITY);
        for (&link, &departure) in route.iter().zip(&departures) {
            let curve = &self.curves[link];
            most = most.min(curve.carries(earliest, departure));
            if let Some(place) = self.shared.iter().position(|other| *other == link) {
                spans[place] = (spans[place].0.min(earliest), spans[place].1.max(departure));
            }
            earliest += curve.quickest(smallest);
        }
        most
    }

    /// The most payload that arrives over all paths from `since` (exclusive) to `to`, if data
    /// leaves from `from` on. Packets may be inside the links at `since`.
    pub(super) fn arrives(&self, from: u64, since: u64, to: u64) -> (Vec<f64>, f64) {
        let all = vec![from; self.routes.len()];
        let mut carried = self.carries(&all, to, self.sizes.headers + 1.0);
        if since > from {
            for (path, bytes) in carried.paths.iter_mut().enumerate() {
                *bytes = bytes.min(self.leaves_last(path, since, to));
            }
            for (place, (users, bytes)) in carried.shared.iter_mut().enumerate() {
                let link = self.shared[place];
                let is_last = |path: usize| self.routes[path].last() == Some(&link);
                if users.iter().enumerate().all(|(path, user)| !user || is_last(path)) {
                    *bytes = bytes.min(self.leaves(link, since, to));
                }
            }
        }
        let paths: Vec<f64> = carried.paths.iter().map(|&bytes| self.payload_in(bytes)).collect();
        let share = self.payload_share();
        let sum = total(&paths, carried.shared.iter().map(|(users, bytes)| (users.clone(), bytes * share)));
        (paths, sum)
    }

    /// Bytes that leave a path from `since` to `to`: for each link, those that it sends, and those
    /// behind it at `since`.
    fn leaves_last(&self, path: usize, since: u64, to: u64) -> f64 {
        let mut behind = 0.0;
        let mut most = f64::INFINITY;
        for &link in self.routes[path].iter().rev() {
            most = most.min(self.leaves(link, since, to) + behind);
            let Some(stored) = self.curves[link].stores() else { break };
            behind += stored + self.on_the_wire(link, since) + self.sizes.full;
        }
        most
    }

    /// Bytes that a link sends and that arrive after `since` and by `to`.
    fn leaves(&self, link: usize, since: u64, to: u64) -> f64 {
        let curve = &self.curves[link];
        let departure = curve.delays.departure(to).unwrap_or(0);
        // A packet may be in transmission at the beginning.
        curve.carries(since.saturating_sub(curve.delays.longest), departure) + self.sizes.full
    }

    fn on_the_wire(&self, link: usize, moment: u64) -> f64 {
        let curve = &self.curves[link];
        curve.carries(moment.saturating_sub(curve.delays.longest), moment)
    }
}

/// The largest sum over paths with limits of their own and limits of shared links.
fn total(paths: &[f64], shared: impl Iterator<Item = (Vec<bool>, f64)>) -> f64 {
    let shared: Vec<(Vec<bool>, f64)> = shared.collect();
    let sum_of = |wanted: &dyn Fn(usize) -> bool| -> f64 {
        paths.iter().enumerate().filter(|(path, _)| wanted(*path)).map(|(_, limit)| limit).sum()
    };
    let links_of = |path: usize| shared.iter().filter(|(users, _)| users[path]).count();
    if (0..paths.len()).any(|path| links_of(path) > 1) {
        // The share covers the rounding of the simplex method.
        return sum_of(&|_| true).min(most(paths, &shared) * (1.0 + 1e-12) + 1e-6);
    }
    // Each path has one shared link at most, so links limit the sums of their own users.
    let alone = sum_of(&|path| links_of(path) == 0);
    shared.iter().fold(alone, |sum, (users, limit)| sum + sum_of(&|path| users[path]).min(*limit))
}

#[cfg(test)]
mod tests {
    use super::{most, total};

    #[test]
    fn links_without_common_paths_need_no_linear_program() {
        let paths = [4.0, 5.0, 6.0, 7.0, 1.0];
        let shared =
            vec![(vec![true, true, false, false, false], 8.0), (vec![false, false, true, true, false], 20.0)];
        assert_eq!(total(&paths, shared.clone().into_iter()), 8.0 + 13.0 + 1.0);
        assert!((most(&paths, &shared) - 22.0).abs() < 1e-9);
    }
}
