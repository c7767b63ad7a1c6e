//! A sender and a receiver in virtual time, with pipes between them on which a script decides what happens.
//!
//! A pipe has a delay each way and, if wanted, a spacing between packets, nothing else: no queue, no limit. What a script
//! does not say does not happen.

mod config;
mod log;

pub(crate) use config::{COUNTED, config, mpquic_config, mptcp_config, segments};
pub(crate) use log::Log;

use plait_sched::{Builtin, Capabilities, Connection, Decision, Duration, Path, PathId, Scheduler, Time};
use plait_transport::endpoint::{Config, Endpoint, Side};
use plait_transport::packet::{OneRtt, Packet, TcpSegment};
use plait_transport::{Error, PathConfig};
use std::collections::BTreeMap;

/// `millis` milliseconds after the start.
pub(crate) fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// `millis` milliseconds.
pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To the receiver.
    Forward,
    /// To the sender.
    Backward,
}

/// What a script does to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// It takes the pipe's delay.
    Pass,
    /// It is lost.
    Drop,
    /// It takes this much longer.
    Late(Duration),
    /// It is marked on the way, if its sender understands that.
    Mark,
    /// Its marks are cleared on the way, and that it may be marked.
    Clear,
}

/// A packet that a script judges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'a> {
    /// When it is sent.
    pub(crate) now: Time,
    /// Which way.
    pub(crate) way: Way,
    /// On which path.
    pub(crate) path: usize,
    /// What it is.
    pub(crate) packet: &'a Packet,
    /// For data: how often its segment was sent before.
    pub(crate) sent_before: u32,
}

impl Judged<'_> {
    /// The segment, if it is data.
    pub(crate) fn segment(&self) -> Option<u64> {
        match self.packet {
            Packet::Data(data) | Packet::Bundle(data, _) => Some(data.segment),
            Packet::Segment(segment) => Some(segment.data.segment),
            Packet::OneRtt(packet) => packet.stream.map(|stream| stream.data.segment),
            _ => None,
        }
    }

    /// True if it is an acknowledgement.
    pub(crate) fn is_sack(&self) -> bool {
        match self.packet {
            Packet::Sack(_) | Packet::Ack(_) => true,
            Packet::OneRtt(packet) => packet.ack.is_some(),
            _ => false,
        }
    }
}

type Script = Box<dyn FnMut(&Judged<'_>) -> Fate>;

struct Pipe {
    delay: Duration,
    /// Between two packets in the same direction.
    spacing: Duration,
    /// When the next packet can leave: forward, backward.
    free: [Time; 2],
}

/// Both ends and what is between them.
pub(crate) struct Pair<S> {
    pub(crate) now: Time,
    pub(crate) sender: Endpoint<S>,
    pub(crate) receiver: Endpoint<Builtin>,
    pub(crate) log: Log,
    pipes: Vec<Pipe>,
    /// By arrival and first-in-first-out number.
    under_way: BTreeMap<(Time, u64), (Way, PathId, Packet)>,
    order: u64,
    sent: BTreeMap<u64, u32>,
    script: Script,
    error: Option<Error>,
    /// Somebody handed in packets that no pipe carried: the ends need not agree any more.
    pub(crate) tampered: bool,
}

impl<S: Scheduler> Pair<S> {
    /// Over paths with these round-trip times in milliseconds.
    pub(crate) fn new(config: impl Into<Config>, round_trips: &[u64], scheduler: S) -> Self {
        let paths = vec![PathConfig::default(); round_trips.len()];
        Self::with_paths(config, round_trips, &paths, scheduler)
    }

    pub(crate) fn with_paths(
        config: impl Into<Config>,
        round_trips: &[u64],
        paths: &[PathConfig],
        scheduler: S,
    ) -> Self {
        let pipe = |rtt: &u64| Pipe { delay: ms(*rtt) / 2, spacing: Duration::ZERO, free: [Time::ZERO; 2] };
        let config = config.into();
        Self {
            now: Time::ZERO,
            sender: Endpoint::new(&config, Side::Client, paths, scheduler)
                .expect("a protocol that offers everything"),
            receiver: Endpoint::new(&config, Side::Server, paths, in_turns()).expect("a built-in scheduler"),
            log: Log::default(),
            pipes: round_trips.iter().map(pipe).collect(),
            under_way: BTreeMap::new(),
            order: 0,
            sent: BTreeMap::new(),
            script: Box::new(|_| Fate::Pass),
            error: None,
            tampered: false,
        }
    }

    /// Packets leave every pipe at least this far apart, each direction by itself.
    pub(crate) fn spaced(mut self, spacing: Duration) -> Self {
        self.pipes.iter_mut().for_each(|pipe| pipe.spacing = spacing);
        self
    }

    /// From now on `script` judges every packet.
    pub(crate) fn script(&mut self, script: impl FnMut(&Judged<'_>) -> Fate + 'static) {
        self.script = Box::new(script);
    }

    /// Loses the first transmission of each of these segments.
    pub(crate) fn lose_once(&mut self, segments: &'static [u64]) {
        self.script(|judged| match judged.segment() {
            Some(segment) if judged.sent_before == 0 && segments.contains(&segment) => Fate::Drop,
            _ => Fate::Pass,
        });
    }

    /// Loses everything on `path`, both ways, from `from` up to `to`.
    pub(crate) fn cut(&mut self, path: usize, from: Time, to: Time) {
        self.script(move |judged| {
            if judged.path == path && (from..to).contains(&judged.now) { Fate::Drop } else { Fate::Pass }
        });
    }

    /// Everything that happens up to and including `until`.
    pub(crate) fn run_until(&mut self, until: Time) {
        self.drain();
        while self.error.is_none() {
            let timers = [self.sender.next_wakeup(), self.receiver.next_wakeup()];
            let arrival = self.under_way.keys().next().map(|(time, _)| *time);
            let Some(next) = timers.into_iter().flatten().chain(arrival).min() else { break };
            if next > until {
                break;
            }
            self.now = self.now.max(next);
            self.step(arrival);
        }
        self.now = self.now.max(until);
    }

    /// As [`Pair::run_until`], in milliseconds from now.
    pub(crate) fn run_for(&mut self, millis: u64) {
        self.run_until(self.now + ms(millis));
    }

    /// What broke the connection.
    pub(crate) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Writes and ends the stream.
    pub(crate) fn send_file(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.sender.finish();
    }

    /// A path's window in segments, rounded down.
    pub(crate) fn window(&self, path: u8) -> u64 {
        self.sender.window(PathId(path)).0 / COUNTED
    }

    /// The facts of a path.
    pub(crate) fn path(&self, path: usize) -> Path {
        self.sender.paths().swap_remove(path)
    }

    fn step(&mut self, arrival: Option<Time>) {
        if arrival.is_some_and(|time| time <= self.now) {
            let Some((_, (way, path, packet))) = self.under_way.pop_first() else { return };
            self.hand(way, path, &packet);
        } else {
            let received = self.receiver.handle_timeout(self.now, &mut ());
            let sent = self.sender.handle_timeout(self.now, &mut self.log);
            self.error = self.error.take().or(sent.and(received).err());
        }
        self.drain();
    }

    /// An end takes a packet that nobody sent.
    pub(crate) fn tamper(&mut self, way: Way, path: u8, packet: &Packet) {
        self.hand(way, PathId(path), packet);
        self.tampered = true;
    }

    /// An end takes a packet. What becomes of data that runs the other way is not logged.
    fn hand(&mut self, way: Way, path: PathId, packet: &Packet) {
        match (way, packet) {
            (Way::Forward, _) => self.receiver.handle_packet(self.now, path, packet, &mut self.log),
            (Way::Backward, Packet::Data(_) | Packet::Bundle(..) | Packet::Segment(_)) => {
                self.sender.handle_packet(self.now, path, packet, &mut ());
            }
            (Way::Backward, Packet::OneRtt(quic)) if quic.stream.is_some() => {
                self.sender.handle_packet(self.now, path, packet, &mut ());
            }
            (Way::Backward, _) => self.sender.handle_packet(self.now, path, packet, &mut self.log),
        }
    }

    fn drain(&mut self) {
        let sent = sent_by(|sink| {
            let transmitted = self.sender.transmit(self.now, sink, &mut self.log);
            self.error = self.error.take().or(transmitted.err());
        });
        sent.into_iter().for_each(|(path, packet)| self.put(Way::Forward, path, packet));
        let sent = sent_by(|sink| self.receiver.transmit(self.now, sink, &mut ()).expect("no fault"));
        sent.into_iter().for_each(|(path, packet)| self.put(Way::Backward, path, packet));
        let buffered = self.receiver.reassembly().buffered();
        self.log.most_buffered = self.log.most_buffered.max(buffered);
        self.check();
    }

    fn put(&mut self, way: Way, path: PathId, mut packet: Packet) {
        let mut sent_before = 0;
        let judged = Judged { now: self.now, way, path: path.index(), packet: &packet, sent_before };
        if let Some(segment) = judged.segment() {
            let count = self.sent.entry(segment).or_default();
            sent_before = *count;
            *count += 1;
        }
        let judged = Judged { sent_before, ..judged };
        let late = match (self.script)(&judged) {
            Fate::Drop => return,
            Fate::Pass => Duration::ZERO,
            fate @ (Fate::Mark | Fate::Clear) => {
                if let Packet::Segment(TcpSegment { ecn, .. }) | Packet::OneRtt(OneRtt { ecn, .. }) =
                    &mut packet
                {
                    ecn.capable &= fate == Fate::Mark;
                    ecn.congested = ecn.capable;
                }
                Duration::ZERO
            }
            Fate::Late(late) => late,
        };
        let pipe = &mut self.pipes[path.index()];
        let free = &mut pipe.free[way as usize];
        *free = (*free).max(self.now) + pipe.spacing;
        let arrival = *free + pipe.delay + late;
        self.under_way.insert((arrival, self.order), (way, path, packet));
        self.order += 1;
    }

    /// What holds at every moment, whatever the script.
    fn check(&self) {
        if self.tampered {
            return;
        }
        let connection = self.sender.connection();
        for path in self.sender.paths() {
            let recallable = path.queued as usize - self.sender.held_back(path.id);
            assert!(path.is_usable() || recallable == 0, "data is stranded on {path:?}");
        }
        if self.sender.is_drained() && matches!(self.sender, Endpoint::CmtSctp(_)) {
            assert_eq!(connection.unassigned, 0);
            let in_flight: u32 = self.sender.paths().iter().map(|path| path.in_flight).sum();
            let copies = self.sender.counters().reinjections > 0;
            assert!(copies || in_flight == 0, "a drained sender has nothing in flight but copies");
        }
        assert!(self.log.delivered.len() as u64 == self.receiver.reassembly().next_expected());
    }
}

/// What an end sends now.
pub(crate) fn sent_by(transmit: impl FnOnce(&mut Vec<(PathId, Packet)>)) -> Vec<(PathId, Packet)> {
    let mut sent = Vec::new();
    transmit(&mut sent);
    sent
}

/// A scheduler made of a closure, with everything a transport can offer.
pub(crate) struct By<F>(pub F);

impl<F: FnMut(Time, &Connection, &[Path]) -> Decision> Scheduler for By<F> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        (self.0)(now, connection, paths)
    }

    fn needs(&self) -> Capabilities {
        Capabilities { repair: false, ..Capabilities::ALL }
    }
}

/// One segment at a time on the open path that `key` makes smallest.
pub(crate) fn by_key(key: impl Fn(&Path) -> u64) -> impl Scheduler {
    By(move |_, connection: &Connection, paths: &[Path]| {
        let open = plait_sched::usable(paths).filter(|path| path.is_open());
        match open.min_by_key(|path| key(path)) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    })
}

/// The paths take turns, one segment each, as long as they are open.
pub(crate) fn in_turns() -> plait_sched::Builtin {
    let given = [("cwnd_limited", plait_sched::Value::Boolean(false))];
    plait_sched::Builtin::new("round-robin", &given).expect("a built-in scheduler")
}
