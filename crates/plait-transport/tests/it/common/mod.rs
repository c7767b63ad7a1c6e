//! A sender and a receiver in virtual time, connected by pipes whose packets a script controls.
//!
//! A pipe has a delay in each direction and an optional spacing between packets. It has no queue
//! and no limit. Only the script causes further events.

mod config;
mod log;

pub(crate) use config::{COUNTED, config, mpquic_config, mptcp_config, segments};
pub(crate) use log::Log;

use plait_sched::{Capabilities, Connection, Decision, Duration, Path, PathId, Scheduler, Time};
use plait_transport::endpoint::{Config, Endpoint, Side};
use plait_transport::packet::{Packet, quic, sctp, tcp};

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

/// Direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To the receiver.
    Forward,
    /// To the sender.
    Backward,
}

/// Action of a script on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// The packet takes the pipe's delay.
    Pass,
    /// The packet is lost.
    Drop,
    /// The packet takes this much longer.
    Late(Duration),
    /// The packet is marked on the way if it is ECN-capable.
    Mark,
    /// The packet loses its mark and its ECN capability on the way.
    Clear,
}

/// A packet before the script's decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged<'a> {
    /// Transmission time.
    pub(crate) now: Time,
    /// Direction of the packet.
    pub(crate) way: Way,
    /// Path of the packet.
    pub(crate) path: usize,
    /// The packet.
    pub(crate) packet: &'a Packet,
    /// For data: number of earlier transmissions of its segment.
    pub(crate) sent_before: u32,
}

impl Judged<'_> {
    /// Returns the segment of a data packet.
    pub(crate) fn segment(&self) -> Option<u64> {
        self.packet.by_ref().data().map(|data| data.segment)
    }

    /// True if the packet contains an acknowledgement.
    pub(crate) fn is_sack(&self) -> bool {
        match self.packet {
            Packet::Sctp(sctp::Packet::Sack(_)) | Packet::Tcp(tcp::Packet::Ack(_)) => true,
            Packet::Quic(quic::Packet::OneRtt(packet)) => packet.ack.is_some(),
            _ => false,
        }
    }
}

type Script = Box<dyn FnMut(&Judged<'_>) -> Fate>;

struct Pipe {
    delay: Duration,
    /// Interval between two packets in the same direction.
    spacing: Duration,
    /// Earliest time of the next packet: forward, backward.
    free: [Time; 2],
}

/// Both endpoints and the pipes between them. All schedulers have one type: the transports compile
/// once, and not once for each scheduler.
pub(crate) struct Pair {
    pub(crate) now: Time,
    pub(crate) sender: Endpoint<Box<dyn Scheduler>>,
    pub(crate) receiver: Endpoint<Box<dyn Scheduler>>,
    pub(crate) log: Log,
    pipes: Vec<Pipe>,
    /// Packets in flight by arrival time and first-in-first-out number.
    under_way: BTreeMap<(Time, u64), (Way, PathId, Packet)>,
    order: u64,
    sent: BTreeMap<u64, u32>,
    script: Script,
    error: Option<Error>,
    /// True after packets that no pipe carried: the endpoints need not agree any more.
    pub(crate) tampered: bool,
}

impl Pair {
    /// Connects two endpoints over paths with these round-trip times in milliseconds.
    pub(crate) fn new(
        config: impl Into<Config>,
        round_trips: &[u64],
        scheduler: impl Scheduler + 'static,
    ) -> Self {
        let paths = vec![PathConfig::default(); round_trips.len()];
        Self::with_paths(config, round_trips, &paths, scheduler)
    }

    pub(crate) fn with_paths(
        config: impl Into<Config>,
        round_trips: &[u64],
        paths: &[PathConfig],
        scheduler: impl Scheduler + 'static,
    ) -> Self {
        let pipe = |rtt: &u64| Pipe { delay: ms(*rtt) / 2, spacing: Duration::ZERO, free: [Time::ZERO; 2] };
        let config = config.into();
        Self {
            now: Time::ZERO,
            sender: Endpoint::new(&config, Side::Client, paths, boxed(scheduler))
                .expect("a protocol that offers everything"),
            receiver: Endpoint::new(&config, Side::Server, paths, boxed(in_turns()))
                .expect("a built-in scheduler"),
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

    /// Sets the smallest interval between packets of a pipe, per direction.
    pub(crate) fn spaced(mut self, spacing: Duration) -> Self {
        self.pipes.iter_mut().for_each(|pipe| pipe.spacing = spacing);
        self
    }

    /// Lets `script` decide about every packet from now on.
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

    /// Loses all packets on `path` in both directions, from `from` up to `to`.
    pub(crate) fn cut(&mut self, path: usize, from: Time, to: Time) {
        self.script(move |judged| {
            if judged.path == path && (from..to).contains(&judged.now) { Fate::Drop } else { Fate::Pass }
        });
    }

    /// Runs the connection up to and including `until`.
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

    /// Runs the connection for a number of milliseconds.
    pub(crate) fn run_for(&mut self, millis: u64) {
        self.run_until(self.now + ms(millis));
    }

    /// Returns the error that stopped the connection.
    pub(crate) fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Writes and ends the stream.
    pub(crate) fn send_file(&mut self, bytes: u64) {
        self.sender.write(bytes);
        self.sender.finish();
    }

    /// Returns a path's congestion window in segments, rounded down.
    pub(crate) fn window(&self, path: u8) -> u64 {
        self.sender.window(PathId(path)).0 / COUNTED
    }

    /// Returns the facts of a path.
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

    /// Delivers a packet that the peer did not send.
    pub(crate) fn tamper(&mut self, way: Way, path: u8, packet: &Packet) {
        self.hand(way, PathId(path), packet);
        self.tampered = true;
    }

    /// Delivers a packet to an endpoint. Events of data in the backward direction are not logged.
    fn hand(&mut self, way: Way, path: PathId, packet: &Packet) {
        match way {
            Way::Forward => self.receiver.handle_packet(self.now, path, packet, &mut self.log),
            Way::Backward if packet.by_ref().carries_data() => {
                self.sender.handle_packet(self.now, path, packet, &mut ());
            }
            Way::Backward => self.sender.handle_packet(self.now, path, packet, &mut self.log),
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
                if let Some(ecn) = packet.ecn_mut() {
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

    /// Checks invariants that hold for every script.
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

/// Returns the packets that an endpoint sends now.
pub(crate) fn sent_by(transmit: impl FnOnce(&mut Vec<(PathId, Packet)>)) -> Vec<(PathId, Packet)> {
    let mut sent = Vec::new();
    transmit(&mut sent);
    sent
}

fn boxed(scheduler: impl Scheduler + 'static) -> Box<dyn Scheduler> {
    Box::new(scheduler)
}

/// A scheduler made of a closure, with all capabilities of a transport.
pub(crate) struct By<F>(pub F);

impl<F: FnMut(Time, &Connection, &[Path]) -> Decision> Scheduler for By<F> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        (self.0)(now, connection, paths)
    }

    fn needs(&self) -> Capabilities {
        Capabilities { repair: false, ..Capabilities::ALL }
    }
}

/// Assigns one segment at a time to the open path with the smallest `key`.
pub(crate) fn by_key(key: impl Fn(&Path) -> u64 + 'static) -> impl Scheduler {
    By(move |_, connection: &Connection, paths: &[Path]| {
        let open = plait_sched::usable(paths).filter(|path| path.is_open());
        match open.min_by_key(|path| key(path)) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    })
}

/// Assigns one segment to each open path in turn.
pub(crate) fn in_turns() -> plait_sched::Builtin {
    let given = [("cwnd_limited", plait_sched::Value::Boolean(false))];
    plait_sched::Builtin::new("round-robin", &given).expect("a built-in scheduler")
}
