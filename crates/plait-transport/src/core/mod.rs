//! The connection core that every protocol shares: data queue and path queues, flight per path, scheduler, windows,
//! round-trip times, retransmission queues and path states.
//!
//! What differs between protocols stays outside: how an acknowledgement is read and what it says about losses, where a
//! lost segment is sent again, what heartbeats look like (see [`crate::cmt_sctp`]).

mod acknowledgement;
mod committed;
mod copies;
mod counters;
mod facts;
mod flight;
mod fragments;
mod interface;
mod loss;
mod messages;
mod news;
mod pacer;
mod path;
mod rate;
mod replacement;
mod room;
mod rules;
mod schedule;
mod segment;
mod send_buffer;
mod stream;
mod transmission;
mod transmit;
mod uncarried;
mod verbs;
mod window;

pub(crate) use acknowledgement::Via;
pub use counters::Counters;
pub(crate) use flight::Flight;
pub(crate) use fragments::full_fragment_end;
pub use interface::PathTotals;
pub(crate) use loss::{insert_ascending, merge_ascending};
pub use messages::WriteOptions;
pub(crate) use news::PathNews;
pub(crate) use path::PathSender;
pub use path::{OneWayDelays, PathConfig};
pub(crate) use rules::{BufferRule, CoreRules};
pub(crate) use segment::SegmentState;
pub(crate) use send_buffer::WRITE;
pub(crate) use transmission::{Transmission, TransmissionState};
pub(crate) use transmit::Outgoing;
pub(crate) use window::{SendWindow, WindowRule};

use crate::congestion::{CongestionConfig, Share};
use crate::error::Error;
use crate::observer::Observer;
use crate::rtt::RtoConfig;
use messages::Order;
use plait_sched::{Capabilities, Event, Interest, PathId, PathState, Scheduler, Time};
use send_buffer::SendBuffer;
use std::collections::VecDeque;
use stream::Stream;
use uncarried::Uncarried;

/// Segments that may wait in one path's queue.
pub const MAX_QUEUED: usize = 1 << 20;

/// Decisions that a scheduler may take at one moment before it waits, beside one for each segment that it assigns.
pub const MAX_DECISIONS_PER_OPPORTUNITY: u32 = 1 << 16;

/// What both ends and all protocols agree on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionConfig {
    /// Payload bytes of a full segment.
    pub segment_bytes: u32,
    /// Header bytes per segment that count in congestion and receiver windows (SCTP's DATA chunk header: 16).
    pub counted_overhead: u32,
    /// The receiver's window before its first acknowledgement, in counted bytes.
    pub receive_window: u64,
    /// Payload bytes that may be assigned and not yet cumulatively acknowledged; `u64::MAX` for no limit.
    pub send_buffer: u64,
    /// Congestion control.
    pub congestion: CongestionConfig,
    /// Retransmission timeout.
    pub rto: RtoConfig,
    /// Timeouts in a row after which a path has failed (Path.Max.Retrans).
    pub path_max_retransmissions: u32,
    /// Timeouts in a row, on all paths together, after which the peer is given up (Association.Max.Retrans).
    pub association_max_retransmissions: u32,
    /// A path takes no new data from its first timeout until a probe comes back (RFC 7829).
    pub potentially_failed: bool,
    /// A window may grow while losses of an earlier window are repaired, which RFC 9260 §7.2.1 forbids and ns-2 does.
    pub grow_in_recovery: bool,
    /// Packets that one event may release on a path (RFC 9260 §6.1 D: Max.Burst); 0 for no limit.
    pub max_burst: u32,
    /// Congestion windows count packets, as in Linux, however small: each takes a full segment of them.
    pub window_in_packets: bool,
    /// After a pause every packet of the first burst cuts the window for it, as in Linux' MPTCP, which looks when it queues a packet
    /// and sends them all afterwards (`tcp_slow_start_after_idle_check`); otherwise the pause itself does, once.
    pub restarts_by_packet: bool,
    /// Merges queued small writes into full segments. Protocols that keep message boundaries bundle whole messages instead.
    pub joined_writes: bool,
}

impl ConnectionConfig {
    /// Bytes that a full segment counts in windows.
    pub fn counted_segment(&self) -> u64 {
        u64::from(self.segment_bytes) + u64::from(self.counted_overhead)
    }
}

/// Where segments are sent again when their path cannot be chosen yet.
pub(crate) const ANY_PATH: Option<PathId> = None;

#[derive(Clone, Debug)]
pub(crate) struct Core<S, R> {
    config: ConnectionConfig,
    stream: Stream,
    paths: Vec<PathSender<R>>,
    facts: Vec<plait_sched::Path>,
    scheduler: S,
    /// What the protocol offers to schedulers.
    offered: Capabilities,
    needs: Capabilities,
    /// What each path lacks of what is in flight, where the scheduler wants to know.
    uncarried: Uncarried,
    interest: Interest,
    waits_without_room: bool,
    /// Ask the scheduler before the next transmission.
    opportunity: bool,
    /// Something was sent, of which the scheduler may want copies, or that left more room than it was told.
    ask_again: bool,
    /// The application has written since the scheduler was asked.
    wrote: bool,
    /// A packet has left while the application waited for room, so that the buffer of its path may have grown (`tcp_check_space` in
    /// net/ipv4/tcp_input.c, `subflow_write_space` in net/mptcp/subflow.c).
    left_while_blocked: bool,
    /// The scheduler has not waited since.
    asking: Option<schedule::Asking>,
    /// A path's queue held a segment after the last decision (`sched_backlog` in net/mptcp/protocol.h).
    backlog: bool,
    /// Assigned, and not in a queue: it leaves next.
    at_once: Option<schedule::AtOnce>,
    /// Congestion control paces packets.
    paces: bool,
    /// The protocol may have copies or probes of its own that leave before new data.
    pub(crate) may_copy: bool,
    wake: Option<Time>,
    /// What the receiver admits.
    window: SendWindow,
    /// The first segment beyond all that were ever sent.
    sent_end: u64,
    /// Payload bytes assigned and not cumulatively acknowledged.
    held: u64,
    buffer: SendBuffer,
    /// The scheduler says how large the send buffer is.
    autotuned: bool,
    /// A short segment fills the rest of the receiver's window, as with Linux' own scheduler (`mptcp_check_allowed_size` in
    /// net/mptcp/protocol.c). A scheduler in a module decides on full segments.
    fills_window: bool,
    /// The send buffer keeps nothing that a path has been given.
    hands_down: bool,
    queued_segments: u64,
    /// Bytes that the next new packet counts in windows.
    next_packet: u64,
    /// A penalty falls due with the path's next acknowledgement.
    penalties_wait: bool,
    /// Paths take what their congestion windows have room for, whatever windows of their own say.
    commits: bool,
    /// Segments found lost at this moment, on their way to a queue.
    lost: Vec<u64>,
    /// Lost segments that any path may send again, ascending.
    shared_retransmissions: VecDeque<u64>,
    /// Something may wait in their queues.
    retransmits: bool,
    /// Likewise copies, where the scheduler asks for none.
    copies: bool,
    next_transmission: u64,
    counters: Counters,
    /// What coupled congestion control sees of the paths; empty for an algorithm that is not coupled.
    shares: Vec<Share>,
}

impl<S: Scheduler, R> Core<S, R> {
    /// Refuses a scheduler that needs more than `offered`.
    pub(crate) fn new(
        config: ConnectionConfig,
        rules: CoreRules,
        paths: &[PathConfig],
        recovery: impl Fn() -> R,
        scheduler: S,
        offered: Capabilities,
    ) -> Result<Self, Error> {
        let needs = scheduler.needs();
        if let Some(capability) = needs.missing_from(offered) {
            return Err(Error::Unsupported { capability });
        }
        let bytes = config.counted_segment();
        if bytes > u64::from(u16::MAX) {
            return Err(Error::SegmentSize { bytes });
        }
        let interest = scheduler.interest();
        let waits_without_room = scheduler.waits_without_room();
        let mut core = Self {
            config,
            stream: Stream::new(config.segment_bytes, config.joined_writes, rules.message_header),
            paths: (paths.iter().zip(0..))
                .map(|(path, id)| PathSender::new(PathId(id), &config, &rules, path, recovery()))
                .collect(),
            facts: (paths.iter().enumerate())
                .map(|(index, path)| facts::initial_facts(index, config.segment_bytes, path))
                .collect(),
            scheduler,
            offered,
            needs,
            uncarried: Uncarried::new(paths.len(), needs.uncarried),
            interest,
            waits_without_room,
            opportunity: true,
            ask_again: false,
            wrote: false,
            left_while_blocked: false,
            asking: None,
            backlog: false,
            at_once: None,
            may_copy: false,
            paces: false,
            wake: None,
            window: SendWindow::new(rules.window, config.receive_window),
            sent_end: 0,
            held: 0,
            buffer: SendBuffer::of_payload(config.send_buffer),
            hands_down: false,
            autotuned: false,
            fills_window: false,
            queued_segments: 0,
            next_packet: bytes,
            penalties_wait: rules.penalties_wait,
            commits: rules.commits,
            lost: Vec::new(),
            shared_retransmissions: VecDeque::new(),
            retransmits: false,
            copies: false,
            next_transmission: 0,
            counters: Counters::default(),
            shares: Vec::with_capacity(paths.len()),
        };
        if rules.streams {
            core.stream.set_order(Order::wanted(needs));
        }
        core.paces = core.paths.iter().any(|path| path.pacer.is_some());
        core.reckon_memory(rules.buffer);
        core.update_facts();
        Ok(core)
    }

    fn reckon_memory(&mut self, rule: BufferRule) {
        match rule {
            BufferRule::Payload => return,
            BufferRule::Memory => {
                self.buffer = SendBuffer::of_packets(self.config.send_buffer, self.config.segment_bytes);
                return;
            }
            BufferRule::MemoryOfEachPath => {}
        }
        let own = self.scheduler.send_memory();
        self.fills_window = own.is_some();
        let found = own.filter(|_| self.config.send_buffer == u64::MAX);
        self.autotuned = found.is_some();
        self.buffer = SendBuffer::of_fragments(found.unwrap_or(self.config.send_buffer));
        if self.autotuned {
            return;
        }
        if let Some(size) = self.buffer.memory() {
            self.paths.iter_mut().for_each(|path| path.send_memory = size);
        }
    }

    /// From now on the connection's send buffer keeps nothing that a path has been given.
    pub(crate) fn hand_down(&mut self) {
        self.hands_down = true;
        self.release_buffer();
    }

    /// Something changed that the scheduler should hear of.
    pub(crate) fn note_opportunity(&mut self) {
        self.opportunity = true;
    }

    /// The scheduler is to be asked before the next transmission.
    pub(crate) fn has_opportunity(&self) -> bool {
        self.opportunity
    }

    /// Something about a path has changed.
    #[inline]
    pub(crate) fn touch(&mut self, index: usize) {
        self.paths[index].touch();
    }

    /// What is in flight or waits on a path has changed.
    #[inline]
    pub(crate) fn touch_amounts(&mut self, index: usize) {
        self.paths[index].touch_amounts();
    }

    /// Brings the facts up to date, where something has changed: several changes between two looks cost as much as one.
    #[inline(never)]
    pub(crate) fn update_facts(&mut self) {
        self.look_at_paths();
    }

    /// As [`Core::update_facts`], for the one who looks most often.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn look_at_paths(&mut self) {
        for (path, facts) in self.paths.iter_mut().zip(&mut self.facts) {
            path.show(facts);
        }
        if self.needs.uncarried {
            self.uncarried.show(&self.stream, self.sent_end, &mut self.facts);
        }
    }

    /// What the scheduler would see of the paths now.
    pub(crate) fn fresh_facts(&self) -> Vec<plait_sched::Path> {
        let mut facts = self.facts.clone();
        self.paths.iter().zip(&mut facts).for_each(|(path, facts)| path.show_changes(facts));
        facts
    }

    /// What the scheduler sees of the paths, as of the last [update](Self::update_facts); states are always true.
    #[inline]
    pub(crate) fn facts(&self) -> &[plait_sched::Path] {
        &self.facts
    }

    /// No path can be used until it is opened.
    pub(crate) fn close_paths(&mut self) {
        self.set_open(false);
        self.facts.iter_mut().for_each(|path| path.state = PathState::Failed);
    }

    /// Another path, which is closed.
    pub(crate) fn add_path(&mut self, rules: &CoreRules, path: &PathConfig, recovery: R) {
        let index = self.paths.len();
        assert!(index < plait_sched::MAX_PATHS, "{index} paths");
        self.paths.push(PathSender::new(PathId(index as u8), &self.config, rules, path, recovery));
        let facts = facts::initial_facts(index, self.config.segment_bytes, path);
        self.facts.push(plait_sched::Path { state: PathState::Failed, ..facts });
        self.uncarried.add(self.needs.uncarried);
        self.touch(index);
    }

    /// Nothing is known of a path any more, which carries nothing; what it sent keeps its numbers, and counts.
    pub(crate) fn renew_path(&mut self, index: usize, rules: &CoreRules, path: &PathConfig)
    where
        R: Clone,
    {
        let recovery = self.paths[index].recovery.clone();
        self.paths[index].renew(PathSender::new(PathId(index as u8), &self.config, rules, path, recovery));
        (self.facts[index].cost, self.facts[index].weight) = (path.cost, path.weight);
        self.touch(index);
    }

    pub(crate) fn counted(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.config.counted_overhead)
    }

    /// Tells the scheduler; the facts must be up to date.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn notify(&mut self, event: &Event) {
        if self.interest.covers(event) {
            self.tell(event);
        }
    }

    #[inline(never)]
    fn tell(&mut self, event: &Event) {
        self.update_facts();
        let connection = self.connection_facts();
        self.scheduler.on_event(event, &connection, &self.facts);
    }

    /// Sets a path's state. A path that stops being usable gives everything it has not sent back.
    #[inline]
    pub(crate) fn set_state(
        &mut self,
        now: Time,
        index: usize,
        state: PathState,
        observer: &mut impl Observer,
    ) {
        if self.facts[index].state != state {
            self.change_state(now, index, state, observer);
        }
    }

    #[inline(never)]
    fn change_state(&mut self, now: Time, index: usize, state: PathState, observer: &mut impl Observer) {
        let was_usable = self.facts[index].is_usable();
        self.facts[index].state = state;
        let path = PathId(index as u8);
        observer.path_state(now, path, state);
        if was_usable && !self.facts[index].is_usable() {
            self.recall(index);
            for &segment in &self.paths[index].retransmissions {
                if let Some(entry) = self.stream.get_mut(segment) {
                    entry.wait_on(None);
                }
            }
            self.paths[index].waiting = 0;
            merge_ascending(&mut self.shared_retransmissions, self.paths[index].retransmissions.drain(..));
            self.drop_copies(index);
            self.retransmits |= !self.shared_retransmissions.is_empty();
            self.uncarried.begin_anew(path);
            self.touch(index);
            self.notify(&Event::PathDown { path });
        } else if !was_usable && self.facts[index].is_usable() {
            self.touch(index);
            self.copy_again(index);
            self.notify(&Event::PathUp { path });
        }
        self.note_opportunity();
    }

    /// Takes the unsent segments of a path back into the data queue.
    pub(crate) fn recall(&mut self, index: usize) {
        let path = &mut self.paths[index];
        self.queued_segments -= path.queue.len() as u64;
        self.stream.recall(&mut path.queue);
        self.touch_amounts(index);
    }

    /// The earliest of the core's own timers: retransmission timers and the scheduler's wait. [`Time::MAX`] is never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_timer(&self) -> Time {
        let timers = self.paths.iter().map(|path| moment(path.retransmission_timer));
        let next = timers.fold(moment(self.wake), Time::min);
        if self.paces { next.min(self.next_departure()) } else { next }
    }

    /// When pacing lets the next packet out, if data waits for it.
    #[inline(never)]
    fn next_departure(&self) -> Time {
        let waits = |path: &PathSender<R>| path.has_something_waiting() || self.has_unassigned();
        let held_back = self.paths.iter().filter(|path| path.is_paced_out() && waits(path));
        held_back.filter_map(|path| path.pacer.as_ref()).fold(Time::MAX, |next, pacer| next.min(pacer.next()))
    }

    /// Packets are about to leave: looks whether pacing lets them.
    #[inline]
    pub(crate) fn look_at_pacers(&mut self, now: Time) {
        if self.paces {
            for index in 0..self.paths.len() {
                if self.paths[index].look_at_pacer(now) && !self.paths[index].is_paced_out() {
                    self.note_opportunity();
                }
            }
        }
    }

    /// Wakes the scheduler if it asked to be.
    pub(crate) fn wake_scheduler(&mut self, now: Time) {
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
            self.note_opportunity();
        }
    }
}

/// When a timer runs out: [`Time::MAX`], which is never, if it is not set.
#[inline]
pub(crate) fn moment(timer: Option<Time>) -> Time {
    timer.unwrap_or(Time::MAX)
}

/// Likewise the other way round.
#[inline]
pub(crate) fn timer(moment: Time) -> Option<Time> {
    (moment < Time::MAX).then_some(moment)
}
