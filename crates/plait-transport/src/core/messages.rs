//! Messages, from their writing until they are wholly acknowledged, and the order of streams.

use crate::ring::Ring;
use plait_sched::{Capabilities, Time};
use std::collections::{BTreeSet, VecDeque};

/// Properties of a message apart from its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteOptions {
    /// The stream of the message. Messages of a stream keep their order. A protocol with one stream
    /// puts all messages into it.
    pub stream: u32,
    /// Streams of a higher priority go first.
    pub priority: u8,
    /// Time by which the whole message should have arrived.
    pub deadline: Option<Time>,
}

/// Length of a message without end.
pub(super) const ENDLESS: u64 = u64::MAX;

/// A message that is not wholly cut into segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Writing {
    pub(super) number: u64,
    pub(super) options: WriteOptions,
    /// Bytes that are not cut yet.
    pub(super) left: u64,
}

/// A message whose last byte has been cut into a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    pub(super) number: u64,
    pub(super) options: WriteOptions,
    /// The segment with the message's last byte, and the offset after this byte in the stream of
    /// bytes.
    last_segment: u64,
    end: u64,
}

/// Order in which messages are cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// In the order of writing, for protocols with one stream.
    Written,
    /// By priority, then in the order of writing.
    Priority,
    /// By priority, then the message with the fewest bytes left first.
    Shortest,
}

impl Order {
    /// Returns the order that a scheduler needs, for protocols with several streams.
    pub(super) fn wanted(needs: Capabilities) -> Self {
        if needs.shortest_first { Self::Shortest } else { Self::Priority }
    }
}

/// All messages of one end.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    order: Order,
    /// Messages in the order of cutting. With several streams: one message of each, sorted by
    /// priority.
    waiting: VecDeque<Writing>,
    /// Number and uncut bytes of the first waiting message; 0 if there is none. Most segments need
    /// no more.
    head: u64,
    left: u64,
    /// Messages behind another one of their stream in `waiting`, in the order of writing.
    behind: VecDeque<Writing>,
    /// Messages that are cut and not wholly acknowledged, in the order of their ends.
    ended: VecDeque<Ended>,
    /// The stream of the first written message.
    only: Option<u32>,
    /// True if messages of further streams were written, so that their segments may alternate.
    interleaved: bool,
    /// With several streams: the message at the beginning of each segment.
    segments: Ring<u64>,
    /// Deadlines and numbers of all messages with a deadline that are not wholly acknowledged.
    deadlines: BTreeSet<(Time, u64)>,
    written: u64,
}

impl Messages {
    pub(super) fn new() -> Self {
        Self {
            order: Order::Written,
            waiting: VecDeque::new(),
            head: 0,
            left: 0,
            behind: VecDeque::new(),
            ended: VecDeque::new(),
            only: None,
            interleaved: false,
            segments: Ring::default(),
            deadlines: BTreeSet::new(),
            written: 0,
        }
    }

    /// Sets the order. Must be called before the first message is written.
    pub(super) fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Changes the order of further segments, if there are several streams. Deferred messages
    /// return to their place in the new order.
    pub(super) fn reorder(&mut self, order: Order) {
        if self.order == Order::Written || self.order == order {
            return;
        }
        self.store();
        self.order = order;
        self.waiting.make_contiguous().sort_unstable_by_key(|writing| writing.number);
        for writing in core::mem::take(&mut self.waiting) {
            self.place(writing);
        }
        self.load();
    }

    /// Adds a message of `left` bytes, and returns its number.
    pub(super) fn write(&mut self, left: u64, options: &WriteOptions) -> u64 {
        let number = self.written;
        self.written += 1;
        self.only.get_or_insert(options.stream);
        self.store();
        let mut writing = Writing { number, options: *options, left };
        if let Some(deadline) = options.deadline {
            self.deadlines.insert((deadline, number));
        }
        if self.order == Order::Written {
            writing.options.stream = 0;
            self.waiting.push_back(writing);
        } else if self.waiting.iter().any(|other| other.options.stream == options.stream) {
            self.behind.push_back(writing);
        } else {
            self.place(writing);
        }
        self.load();
        number
    }

    /// Writes the cached bytes of the head back to the head.
    fn store(&mut self) {
        if let Some(head) = self.waiting.front_mut() {
            head.left = self.left;
        }
    }

    /// Caches number and bytes of the head, after it may have changed.
    fn load(&mut self) {
        (self.head, self.left) = self.waiting.front().map_or((0, 0), |head| (head.number, head.left));
    }

    /// Inserts a message into the order, for a stream that has no waiting message at this place.
    fn place(&mut self, writing: Writing) {
        let priority = writing.options.priority;
        let goes_first = |other: &Writing| match other.options.priority == priority {
            true => self.order != Order::Shortest || other.left <= writing.left,
            false => other.options.priority > priority,
        };
        let place = self.waiting.partition_point(goes_first);
        self.waiting.insert(place, writing);
    }

    /// Returns the uncut bytes of the next message; 0 if there is none.
    #[inline]
    pub(super) fn head_left(&self) -> u64 {
        self.left
    }

    /// Returns the message that is cut next. Its `left` may be out of date; see
    /// [`Messages::head_left`].
    pub(super) fn head(&self) -> Option<&Writing> {
        self.waiting.front()
    }

    /// Returns the bytes of the next segment, up to `most`, if a segment may hold several messages.
    /// Each further message takes `header` additional bytes. With headers, further messages are
    /// whole. Messages of several streams share no segment.
    #[cold]
    pub(super) fn bytes_up_to(&self, most: u64, header: u32) -> u64 {
        let (mut bytes, mut room) = (self.left, most - self.left);
        if self.interleaved {
            return bytes;
        }
        for writing in self.waiting.iter().skip(1).chain(&self.behind) {
            let behind_header = room.saturating_sub(u64::from(header));
            if behind_header == 0 || (header > 0 && writing.left > behind_header) {
                break;
            }
            let taken = writing.left.min(behind_header);
            bytes += taken;
            room = behind_header - taken;
        }
        bytes
    }

    /// Cuts the next `bytes`, which begin at `offset` of the stream of bytes, as `segment`.
    #[inline]
    pub(super) fn cut(&mut self, bytes: u32, segment: u64, offset: u64) {
        if self.interleaved {
            self.note(segment, self.head);
        }
        if self.left == ENDLESS {
            return;
        }
        if self.left > u64::from(bytes) {
            self.left -= u64::from(bytes);
        } else {
            self.end(u64::from(bytes), segment, offset);
        }
    }

    /// True if a message with these options makes messages alternate for the first time. Each
    /// segment's message must then be [noted](Messages::note), those of earlier segments first.
    pub(super) fn will_interleave(&self, options: &WriteOptions) -> bool {
        let another = self.only.is_some_and(|only| only != options.stream);
        another && !self.interleaved && self.order != Order::Written
    }

    /// Records that messages may alternate in the stream.
    pub(super) fn interleave(&mut self) {
        self.interleaved = true;
    }

    /// Records the message at the beginning of a segment.
    pub(super) fn note(&mut self, segment: u64, message: u64) {
        if self.segments.is_empty() {
            self.segments.forget_below(segment);
        }
        self.segments.push(message);
    }

    /// Returns the message at the beginning of an unacknowledged segment at `offset` of the stream
    /// of bytes.
    pub(super) fn of(&self, segment: u64, offset: u64) -> u64 {
        if self.interleaved {
            return self.segments.get(segment).copied().unwrap_or(self.head);
        }
        let place = self.ended.partition_point(|ended| ended.end <= offset);
        self.ended.get(place).map_or(self.head, |ended| ended.number)
    }

    /// Cuts bytes like [`Messages::cut`], where messages end.
    #[inline(never)]
    fn end(&mut self, mut bytes: u64, last_segment: u64, offset: u64) {
        let mut end = offset;
        self.store();
        while bytes > 0
            && let Some(head) = self.waiting.front_mut()
        {
            if head.left > bytes {
                head.left -= if head.left == ENDLESS { 0 } else { bytes };
                break;
            }
            bytes -= head.left;
            end += head.left;
            let Writing { number, options, .. } = *head;
            self.waiting.pop_front();
            self.ended.push_back(Ended { number, options, last_segment, end });
            if let Some(next) = self.behind.iter().position(|next| next.options.stream == options.stream)
                && let Some(next) = self.behind.remove(next)
            {
                self.place(next);
            }
        }
        self.load();
    }

    /// True if acknowledgements release state.
    #[inline]
    pub(super) fn hear_of_acknowledgements(&self) -> bool {
        !self.ended.is_empty() || !self.segments.is_empty()
    }

    /// Forgets state, after all segments before this one were acknowledged.
    #[inline(never)]
    pub(super) fn acknowledged(&mut self, segment: u64) {
        if !self.segments.is_empty() {
            self.segments.forget_below(segment);
        }
        while let Some(ended) = self.ended.front()
            && ended.last_segment < segment
        {
            if let Some(deadline) = ended.options.deadline {
                self.deadlines.remove(&(deadline, ended.number));
            }
            self.ended.pop_front();
        }
    }

    /// Moves the stream that is cut next behind the others of its priority.
    pub(super) fn defer(&mut self) {
        if self.order == Order::Written {
            return;
        }
        self.store();
        let others = self.rivals();
        if let Some(head) = self.waiting.pop_front() {
            self.waiting.insert(others - 1, head);
        }
        self.load();
    }

    /// Returns the number of streams with uncut data and the highest priority.
    pub(super) fn rivals(&self) -> usize {
        let Some(head) = self.waiting.front() else { return 0 };
        match self.order {
            Order::Written => 1,
            _ => self.waiting.partition_point(|other| other.options.priority == head.options.priority),
        }
    }

    /// Returns the earliest deadline of the messages that are not wholly acknowledged.
    pub(super) fn due(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Returns the options and the uncut bytes of a message that is not wholly acknowledged.
    pub(super) fn find(&self, number: u64) -> Option<(WriteOptions, u64)> {
        let ended = self.ended.iter().find(|ended| ended.number == number);
        let waiting = || self.waiting.iter().find(|writing| writing.number == number);
        let left = |one: &Writing| if one.number == self.head { self.left } else { one.left };
        ended.map(|ended| (ended.options, 0)).or_else(|| waiting().map(|one| (one.options, left(one))))
    }

    /// True if a message that is not forgotten ends beyond `offset` bytes.
    #[inline]
    pub(super) fn ends_beyond(&self, offset: u64) -> bool {
        self.ended.back().is_some_and(|last| last.end > offset)
    }

    /// Returns the messages that end beyond `from` bytes and within the first `to`, in this order.
    /// Excludes forgotten messages.
    pub(super) fn ended(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let begin = self.ended.partition_point(|ended| ended.end <= from);
        self.ended.iter().skip(begin).take_while(move |ended| ended.end <= to).map(|ended| ended.number)
    }
}

#[cfg(test)]
mod tests;
