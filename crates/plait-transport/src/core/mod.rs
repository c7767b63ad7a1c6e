//! The connection core that every protocol shares: data queue, paths, scheduler and windows.
//! Protocols read acknowledgements, detect losses, place retransmissions and send heartbeats (see
//! [`crate::cmt_sctp`]).
//!
//! The connection (`Core`) holds the stream, the scheduler, copies and the receiver's window. Each
//! path (`PathSender`) is one machine: flight, round-trip estimator, congestion controller, timers,
//! queues, and the protocol's loss recovery, which is thus not generic over the scheduler.
//!
//! The transport decides the place of a retransmission: any path with room (Multipath QUIC), or a
//! policy (CMT-SCTP). With copies of the segment, or if the scheduler declares `repair`, the path
//! that lost the segment retransmits it.
//!
//! | file | content |
//! |---|---|
//! | `stream.rs`, `segment.rs` | the data queue; every segment from its assignment to its cumulative acknowledgement |
//! | `stream/spread.rs` | the paths involved with each segment |
//! | `path.rs`, `flight.rs`, `transmission.rs` | a path; its transmissions in the order of sending, numbered per path: MPTCP's subflow sequence space, QUIC's packet numbers, the basis of CMT's split fast retransmit |
//! | `acknowledgement.rs`, `arrived.rs` | acknowledged data; which of several copies arrived |
//! | `news.rs` | news of an acknowledgement for one path |
//! | `loss.rs`, `retransmission.rs` | lost data and its queues; the next retransmission |
//! | `room.rs` | open window and free memory of a path |
//! | `facts.rs`, `connection.rs` | the facts of paths and of the connection for schedulers |
//! | `rate.rs`, `pacer.rs` | the delivery rate and its samples; pacing for controllers that ask |
//! | `schedule.rs`, `replacement.rs` | asking the scheduler, checking and executing its decisions; replacing the scheduler |
//! | `send_buffer.rs`, `fragments.rs` | the limit of written data: payload, or the memory that Linux counts; storage of written data as in Linux |
//! | `transmit.rs` | the next packet: retransmissions, copies, then new data, lowest number first |
//! | `window.rs` | the receiver's window: SCTP's credit, TCP's offset in the stream, or QUIC's hard limit |
//! | `copies.rs`, `uncarried.rs` | requested copies until they leave; the data that each path does not carry |
//! | `messages.rs`, `committed.rs` | messages and the order of streams; the write queues of paths |
//! | `config.rs`, `rules.rs` | common settings; the requirements of a protocol |
//! | `timers.rs`, `interface.rs`, `counters.rs` | timers; the common interface of ends; counters |

mod acknowledgement;
mod arrived;
mod committed;
mod config;
mod connection;
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
mod retransmission;
mod room;
mod rules;
mod schedule;
mod segment;
mod send_buffer;
mod stream;
mod timers;
mod transmission;
mod transmit;
mod uncarried;
mod window;

pub(crate) use acknowledgement::Via;
pub use config::{ConnectionConfig, MAX_DECISIONS_PER_OPPORTUNITY, MAX_QUEUED};
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
pub(crate) use timers::{NEVER, moment, timer};
pub(crate) use transmission::{Transmission, TransmissionState};
pub(crate) use transmit::Outgoing;
pub(crate) use window::{SendWindow, WindowRule};

use crate::congestion::Share;
use crate::error::Error;
use crate::observer::Observer;
use messages::Order;
use plait_sched::{Capabilities, Event, Interest, PathId, PathState, Scheduler, Time};
use send_buffer::SendBuffer;
use std::collections::VecDeque;
use stream::Stream;
use uncarried::Uncarried;

/// The path of a retransmission if it cannot be chosen yet.
pub(crate) const ANY_PATH: Option<PathId> = None;

#[derive(Clone, Debug)]
pub(crate) struct Core<S, R> {
    config: ConnectionConfig,
    pub(crate) stream: Stream,
    pub(crate) paths: Vec<PathSender<R>>,
    facts: Vec<plait_sched::Path>,
    scheduler: S,
    /// Capabilities that the protocol offers to schedulers.
    offered: Capabilities,
    needs: Capabilities,
    /// Data in flight that each path does not carry, if the scheduler asks for it.
    uncarried: Uncarried,
    interest: Interest,
    waits_without_room: bool,
    /// Ask the scheduler before the next transmission.
    opportunity: bool,
    /// A packet left that the scheduler may want copied, or that left more room than it saw.
    ask_again: bool,
    /// The application has written since the scheduler was asked.
    wrote: bool,
    /// A packet left while the application waited for room, so its path's buffer may have grown
    /// (`tcp_check_space` in net/ipv4/tcp_input.c, `subflow_write_space` in net/mptcp/subflow.c).
    left_while_blocked: bool,
    /// The scheduler has not waited since.
    asking: Option<schedule::Asking>,
    /// A queue held a segment after the last decision, and the scheduler is asked once more
    /// (`sched_backlog` in net/mptcp/protocol.h).
    backlog: bool,
    /// Assigned, and not in a queue: it leaves next.
    at_once: Option<schedule::AtOnce>,
    /// Congestion control paces packets.
    paces: bool,
    /// The protocol may have copies or probes of its own that leave before new data.
    pub(crate) may_copy: bool,
    wake: Option<Time>,
    /// The receiver's window.
    pub(crate) window: SendWindow,
    /// The first segment beyond all that were ever sent.
    pub(crate) sent_end: u64,
    /// Payload bytes assigned and not cumulatively acknowledged.
    held: u64,
    pub(crate) buffer: SendBuffer,
    /// The scheduler says how large the send buffer is.
    autotuned: bool,
    /// A short segment fills the rest of the receiver's window, as with Linux' own scheduler, not
    /// with modules (`mptcp_check_allowed_size` in net/mptcp/protocol.c).
    fills_window: bool,
    /// The send buffer releases data that a path has accepted.
    hands_down: bool,
    queued_segments: u64,
    /// Bytes that the next new packet counts in windows.
    next_packet: u64,
    /// A penalty falls due with the path's next acknowledgement.
    penalties_wait: bool,
    /// The scheduler is also asked while assigned segments wait, and once more.
    asks_on: bool,
    /// Newly lost segments that are not in a queue yet.
    lost: Vec<u64>,
    /// Lost segments that any path may retransmit, ascending.
    shared_retransmissions: VecDeque<u64>,
    /// Retransmissions may wait in queues.
    retransmits: bool,
    /// Queues may hold copies although the scheduler requests none.
    copies: bool,
    next_transmission: u64,
    pub(crate) counters: Counters,
    /// Paths as coupled congestion control sees them; empty for an uncoupled algorithm.
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
            asks_on: rules.write_queues,
            lost: Vec::new(),
            shared_retransmissions: VecDeque::new(),
            retransmits: false,
            copies: false,
            next_transmission: 0,
            counters: Counters::default(),
            shares: Vec::with_capacity(paths.len()),
            config,
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

    /// The connection's send buffer releases data that a path has accepted.
    pub(crate) fn hand_down(&mut self) {
        self.hands_down = true;
        self.release_buffer();
    }

    /// Notes a change that the scheduler must see.
    pub(crate) fn note_opportunity(&mut self) {
        self.opportunity = true;
    }

    /// True if the scheduler must be asked before the next transmission.
    pub(crate) fn has_opportunity(&self) -> bool {
        self.opportunity
    }

    /// No path can be used until it is opened.
    pub(crate) fn close_paths(&mut self) {
        self.set_open(false);
        self.facts.iter_mut().for_each(|path| path.state = PathState::Failed);
    }

    /// Adds a path, which is closed.
    pub(crate) fn add_path(&mut self, rules: &CoreRules, path: &PathConfig, recovery: R) {
        let index = self.paths.len();
        assert!(index < plait_sched::MAX_PATHS, "{index} paths");
        self.paths.push(PathSender::new(PathId(index as u8), &self.config, rules, path, recovery));
        let facts = facts::initial_facts(index, self.config.segment_bytes, path);
        self.facts.push(plait_sched::Path { state: PathState::Failed, ..facts });
        self.uncarried.add(self.needs.uncarried);
        self.paths[index].touch();
    }

    /// Resets a path that carries nothing. Its earlier transmissions keep their numbers and count.
    pub(crate) fn renew_path(&mut self, index: usize, rules: &CoreRules, path: &PathConfig)
    where
        R: Clone,
    {
        let recovery = self.paths[index].recovery.clone();
        self.paths[index].renew(PathSender::new(PathId(index as u8), &self.config, rules, path, recovery));
        (self.facts[index].cost, self.facts[index].weight) = (path.cost, path.weight);
        self.paths[index].touch();
    }

    pub(crate) fn counted(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.config.counted_overhead)
    }

    /// Sends an event to the scheduler; the facts must be up to date.
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

    /// Sets a path's state. A path that stops being usable returns all its unsent segments.
    #[cfg_attr(not(debug_assertions), inline(always))]
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
            self.paths[index].touch();
            self.notify(&Event::PathDown { path });
        } else if !was_usable && self.facts[index].is_usable() {
            self.paths[index].touch();
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
        self.paths[index].touch_amounts();
    }
}
