//! The carrier: requests to the process, and its packets on the links.

use crate::decisions::Decisions;
use crate::opening;
use crate::packet;
use crate::process::{Process, ProcessError, Reply, Request};
use crate::segments::{Segments, Transmission};
use crate::settings;
use plait_sched::{Duration, PathId, Scheduler, Time};
use plait_sim::result::Engine;
use plait_sim::scenario::{Direction, Scenario};
use plait_sim::simulation::{Carrier, Datagram, StackEvent, StackState};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// A packet on the links.
#[derive(Clone, Debug)]
struct InFlight {
    path: PathId,
    direction: Direction,
    bytes: Vec<u8>,
    transmissions: Vec<Transmission>,
    /// Additional copies that links made.
    copies: u32,
}

/// FreeBSD's stack with both ends of the connection of a run.
#[derive(Debug)]
pub struct Stack<'s> {
    process: Process<'s>,
    /// The stack's clock at the scenario's time 0.
    begin: Duration,
    next: Option<Time>,
    written: u64,
    segments: Segments,
    in_flight: BTreeMap<u64, InFlight>,
    datagrams: VecDeque<Datagram>,
    count: u64,
    replies: Vec<Reply>,
    failure: Option<String>,
}

impl<'s> Stack<'s> {
    /// Starts `program` and opens the association. Without a scheduler, the stack takes turns.
    ///
    /// # Errors
    /// If the transport is refused ([`refusal`](crate::refusal)), the scheduler needs more than
    /// [`OFFERED`](crate::OFFERED), or the process fails.
    pub fn new(
        scenario: &Scenario,
        program: &Path,
        scheduler: Option<&'s mut dyn Scheduler>,
    ) -> Result<Self, ProcessError> {
        let mut arguments =
            settings::arguments(scenario).map_err(|(what, why)| ProcessError(format!("{what}: {why}")))?;
        let decisions = scheduler.map(|scheduler| Decisions::new(scheduler, scenario));
        let decisions = decisions.transpose().map_err(ProcessError)?;
        if let Some(decisions) = &decisions {
            arguments.push("scheduler=1".to_owned());
            arguments.push(format!("interest={}", decisions.interest()));
        }
        let mut process = Process::start(program, &arguments, decisions)?;
        let opened = opening::open(&mut process, scenario)?;
        let begin = opened.time.since(Time::ZERO);
        if let Some(decisions) = &mut process.decisions {
            decisions.begin(begin);
        }
        Ok(Self {
            process,
            begin,
            next: opened.next,
            written: 0,
            segments: Segments::new(opened.initial_tsn),
            in_flight: BTreeMap::new(),
            datagrams: VecDeque::new(),
            count: 0,
            replies: Vec::new(),
            failure: None,
        })
    }

    /// Makes a request and handles the answer. Returns the state, if it was asked for.
    fn ask(&mut self, now: Time, request: Request<'_>) -> Option<StackState> {
        if self.failure.is_some() {
            return None;
        }
        match self.process.ask(now + self.begin, request, &mut self.replies) {
            Ok(next) => self.next = next,
            Err(error) => self.failure = Some(error.to_string()),
        }
        let mut state = None;
        for reply in std::mem::take(&mut self.replies) {
            match reply {
                Reply::Sent(bytes) => self.launch(bytes),
                Reply::Delivered(total) => self.segments.deliver(total),
                Reply::State(found, _) => state = Some(found),
            }
        }
        state
    }

    /// Puts a packet on its path.
    fn launch(&mut self, packet: Vec<u8>) {
        let reading = match packet::read(&packet) {
            Ok(reading) => reading,
            Err(error) => {
                self.failure.get_or_insert(format!("the stack sent a malformed packet: {error}"));
                return;
            }
        };
        let (path, direction) = (reading.path, reading.direction);
        let transmissions = self.segments.sent(path, &reading.chunks);
        let (number, bytes) = (self.count, packet.len() as u32);
        self.count += 1;
        self.datagrams.push_back(Datagram { path, direction, number, bytes });
        let in_flight = InFlight { path, direction, bytes: packet, transmissions, copies: 0 };
        self.in_flight.insert(number, in_flight);
    }

    /// Takes a packet, or one of its copies, that arrived or was lost.
    fn take(&mut self, number: u64) -> Option<InFlight> {
        let packet = self.in_flight.get_mut(&number)?;
        if packet.copies == 0 {
            return self.in_flight.remove(&number);
        }
        packet.copies -= 1;
        Some(packet.clone())
    }
}

impl Carrier for Stack<'_> {
    const ENGINE: Engine = Engine::Usrsctp;
    const IS_STACK: bool = true;

    fn write(&mut self, now: Time, written_bytes: u64) {
        let new = match written_bytes {
            u64::MAX if self.written < u64::MAX => u64::MAX,
            bytes => bytes - self.written,
        };
        self.written = written_bytes;
        if new > 0 {
            self.ask(now, Request::Write(new));
        }
    }

    fn arrived(&mut self, now: Time, number: u64) {
        let Some(packet) = self.take(number) else { return };
        if packet.direction == Direction::Forward {
            self.segments.arrive(packet.path, &packet.transmissions);
        }
        self.ask(now, Request::Packet(&packet.bytes));
    }

    fn copied(&mut self, number: u64) {
        if let Some(packet) = self.in_flight.get_mut(&number) {
            packet.copies += 1;
        }
    }

    fn gone(&mut self, number: u64) {
        self.take(number);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.ask(now, Request::Wake);
    }

    fn next_wakeup(&mut self) -> Option<Time> {
        self.next.map(|next| Time::ZERO + next.since(Time::ZERO + self.begin))
    }

    fn next_datagram(&mut self) -> Option<Datagram> {
        self.datagrams.pop_front()
    }

    fn next_event(&mut self) -> Option<StackEvent> {
        self.segments.events.pop_front()
    }

    fn state(&mut self, now: Time) -> Option<StackState> {
        self.ask(now, Request::State)
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}
