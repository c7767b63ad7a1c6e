//! The process of one run, and the protocol with it (`usrsctp/host/main.c`).

use crate::decisions::Decisions;
use plait_sched::{Duration, Time};
use plait_sim::simulation::{StackPath, StackState};
use std::fmt;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A request, without its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request<'a> {
    /// Nothing but the timers.
    Wake,
    /// An IPv4 packet arrives.
    Packet(&'a [u8]),
    /// The near end's application writes this number of bytes; `u64::MAX` for an endless stream.
    Write(u64),
    /// Asks for [`Reply::State`].
    State,
}

/// A part of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    /// An IPv4 packet leaves.
    Sent(Vec<u8>),
    /// The far end's application has read this number of bytes since the start.
    Delivered(u64),
    /// The state of the near end, and whether every path is confirmed.
    State(StackState, bool),
}

/// Reason why the process cannot continue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessError(pub(crate) String);

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProcessError {}

impl From<std::io::Error> for ProcessError {
    fn from(error: std::io::Error) -> Self {
        Self(format!("the stack's process: {error}"))
    }
}

/// Kinds of requests and records.
mod kind {
    pub(super) const WAKE: u32 = 0;
    pub(super) const PACKET: u32 = 1;
    pub(super) const WRITE: u32 = 2;
    pub(super) const STATE: u32 = 3;
    pub(super) const END: u32 = 0;
    pub(super) const SENT: u32 = 1;
    pub(super) const DELIVERED: u32 = 2;
    pub(super) const STATES: u32 = 3;
    pub(super) const FAILED: u32 = 4;
    pub(super) const DECIDE: u32 = 5;
    pub(super) const EVENT: u32 = 6;
}

/// Bytes of `struct path_state`.
const PATH_STATE_BYTES: usize = 6 * 8;

/// A running process. It ends with this value.
#[derive(Debug)]
pub(crate) struct Process<'s> {
    child: Child,
    to: Option<BufWriter<ChildStdin>>,
    from: BufReader<ChildStdout>,
    /// Decides instead of the stack's turns.
    pub(crate) decisions: Option<Decisions<'s>>,
}

impl<'s> Process<'s> {
    /// Starts `program` with these arguments.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        decisions: Option<Decisions<'s>>,
    ) -> Result<Self, ProcessError> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| ProcessError(format!("{}: {error}", program.display())))?;
        let missing = || ProcessError("the stack's process has no pipes".to_owned());
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = child.stdout.take().ok_or_else(missing)?;
        Ok(Self { child, to: Some(BufWriter::new(to)), from: BufReader::new(from), decisions })
    }

    /// Makes a request, and appends the answer to `replies`. Returns the time of the next timer.
    pub(crate) fn ask(
        &mut self,
        now: Time,
        request: Request<'_>,
        replies: &mut Vec<Reply>,
    ) -> Result<Option<Time>, ProcessError> {
        self.exchange(now, request, replies).map_err(|error| self.explained(error))
    }

    fn exchange(
        &mut self,
        now: Time,
        request: Request<'_>,
        replies: &mut Vec<Reply>,
    ) -> Result<Option<Time>, ProcessError> {
        let number;
        let (kind, body): (u32, &[u8]) = match request {
            Request::Wake => (kind::WAKE, &[]),
            Request::Packet(packet) => (kind::PACKET, packet),
            Request::Write(bytes) => {
                number = bytes.to_le_bytes();
                (kind::WRITE, &number)
            }
            Request::State => (kind::STATE, &[]),
        };
        let Some(to) = &mut self.to else { return Ok(None) };
        to.write_all(&now.as_nanos().to_le_bytes())?;
        to.write_all(&kind.to_le_bytes())?;
        to.write_all(&(body.len() as u32).to_le_bytes())?;
        to.write_all(body)?;
        to.flush()?;
        loop {
            let (kind, body) = self.record()?;
            let mut numbers = body.chunks_exact(8).map(number_of);
            match kind {
                kind::END => {
                    let next = numbers.next().unwrap_or(u64::MAX);
                    return Ok((next != u64::MAX).then(|| Time::from_nanos(next)));
                }
                kind::DECIDE => self.decide(now, &body)?,
                kind::EVENT => {
                    let decisions = self.decisions.as_mut();
                    decisions.map_or(Ok(()), |one| one.on_event(&body)).map_err(ProcessError)?;
                }
                kind::SENT => replies.push(Reply::Sent(body)),
                kind::DELIVERED => replies.push(Reply::Delivered(numbers.next().unwrap_or(0))),
                kind::STATES => {
                    let (state, confirmed) = state(&body);
                    replies.push(Reply::State(state, confirmed));
                }
                kind::FAILED => {
                    let reason = String::from_utf8_lossy(&body);
                    return Err(ProcessError(format!("the association failed: {reason}")));
                }
                _ => return Err(ProcessError(format!("the stack's process sent a record of kind {kind}"))),
            }
        }
    }

    /// Answers the process, which waits for a decision.
    fn decide(&mut self, now: Time, facts: &[u8]) -> Result<(), ProcessError> {
        let (Some(decisions), Some(to)) = (&mut self.decisions, &mut self.to) else { return Ok(()) };
        to.write_all(&decisions.decide(now, facts).map_err(ProcessError)?)?;
        Ok(to.flush()?)
    }

    fn record(&mut self) -> Result<(u32, Vec<u8>), ProcessError> {
        let mut head = [0; 8];
        self.from.read_exact(&mut head)?;
        let [a, b, c, d, e, f, g, h] = head;
        let mut body = vec![0; u32::from_le_bytes([e, f, g, h]) as usize];
        self.from.read_exact(&mut body)?;
        Ok((u32::from_le_bytes([a, b, c, d]), body))
    }

    /// Adds the last line that the process wrote to its standard error.
    fn explained(&mut self, error: ProcessError) -> ProcessError {
        self.to = None;
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(mut said) = self.child.stderr.take() {
            let _ = said.read_to_string(&mut text);
        }
        match text.lines().last() {
            Some(line) => ProcessError(format!("{error}: {line}")),
            None => error,
        }
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        // The process ends at the end of its input.
        self.to = None;
        let _ = self.child.wait();
    }
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Reads STATES.
fn state(body: &[u8]) -> (StackState, bool) {
    let (counts, paths) = body.split_at(body.len().min(16));
    let mut counts = counts.chunks_exact(8).map(number_of);
    let (timeouts, window_left) = (counts.next().unwrap_or(0), counts.next().unwrap_or(0));
    let mut confirmed = true;
    let paths = paths.chunks_exact(PATH_STATE_BYTES).map(|path| {
        let fields: Vec<u64> = path.chunks_exact(8).map(number_of).collect();
        confirmed &= fields[4] != 0;
        StackPath {
            srtt: (fields[0] > 0).then(|| Duration::from_nanos(fields[0] * 1000)),
            cwnd: fields[1],
            ssthresh: fields[2],
            in_flight: fields[3],
        }
    });
    let paths = paths.collect();
    (StackState { timeouts, window_left, paths }, confirmed)
}
