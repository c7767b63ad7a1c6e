//! Requests and responses: clients at the far end send requests, and the near end answers at once.
//!
//! Responses go in the forward direction. All clients share one connection. The near end answers
//! requests in the order of their arrival. A client thinks between the end of a response and its
//! next request.

use super::times::stop;
use super::{
    Application, ApplicationEvent, ApplicationInput, ConnectionEnd, ConnectionWriter, Description, KIND,
};
use super::{deadline, deadline_key, size_key, start_key, write_deadline};
use crate::error::ScenarioError;
use crate::format::keys::{DURATION, Preset, SIZE, TableInfo, WHOLE, key};
use crate::format::reader::{MAX_BYTES, MAX_DURATION, Reader, Word};
use crate::format::text;
use crate::random::RandomStream;
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::Value;
use std::collections::VecDeque;

/// Requests of clients at the far end, which the near end answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestResponse {
    /// The size of a request, or the mean of the sizes.
    pub request: u64,
    /// The size of a response, or the mean of the sizes.
    pub response: u64,
    /// The distribution of both sizes.
    pub sizes: RequestDistribution,
    /// The time from the end of a response to the client's next request, or the mean of that time.
    pub think: Duration,
    /// The distribution of think times.
    pub think_times: RequestDistribution,
    /// Number of clients.
    pub parallel: u32,
    /// Number of requests of all clients together, if limited.
    pub count: Option<u64>,
    /// The time of every client's first request.
    pub start: Duration,
    /// No request is written from this time on.
    pub stop: Option<Duration>,
    /// The deadline of a response, relative to the writing of its request.
    pub deadline: Option<Duration>,
    /// Number of clients with priority; they are the first ones.
    pub urgent: u32,
}

/// The distribution of amounts around their mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestDistribution {
    /// Every amount is the mean.
    Fixed,
    /// The exponential distribution, which has no memory.
    Exponential,
}

impl Word for RequestDistribution {
    const WORDS: &'static [(&'static str, Self)] =
        &[("fixed", Self::Fixed), ("exponential", Self::Exponential)];
}

const SPREAD: &str = "\"fixed\" or \"exponential\"";

/// Largest number of clients.
const MOST: u32 = 1000;

impl Description for RequestResponse {
    type Application = Clients;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"request-response\"",
        doc: "Clients at the far end send requests. The near end answers each at once, when it has \
            arrived completely. All clients share one connection, which the far end opens. \
            Responses take the paths' forward direction. The scheduler of requests is the \
            scenario's, also in a run with a scheduler in Python.",
        keys: &[
            KIND,
            key("request", SIZE, Preset::Text("200B"), "The size of a request, in payload bytes."),
            size_key("response", "The size of a response, in payload bytes."),
            key(
                "sizes",
                SPREAD,
                Preset::Text("fixed"),
                "The distribution of the sizes: the given sizes, or exponential with the given \
                 sizes as means.",
            ),
            key(
                "think",
                DURATION,
                Preset::Text("0s"),
                "The time from the end of a response to the client's next request.",
            ),
            key(
                "think_times",
                SPREAD,
                Preset::Text("fixed"),
                "The distribution of think times: the given time, or exponential with the given \
                 time as mean.",
            ),
            key(
                "parallel",
                WHOLE,
                Preset::Integer(1),
                "The number of clients, each with one request at a time; 1 to 1000.",
            ),
            key(
                "count",
                WHOLE,
                Preset::Otherwise("no limit"),
                "The number of requests of all clients together; the run ends when the last one is \
                 answered.",
            ),
            start_key("The time of every client's first request."),
            key(
                "stop",
                DURATION,
                Preset::Otherwise("the end of the run"),
                "The end of the requests; written requests are still answered.",
            ),
            deadline_key(
                "The time limit from the request's writing to the complete delivery of its \
                 response. Schedulers may know it, and metrics report it.",
            ),
            key(
                "urgent",
                WHOLE,
                Preset::Integer(0),
                "The number of clients, from the first one on, whose responses have priority over \
                 those of the others. The responses of a client are a stream. With protocols that \
                 have streams (cmt-sctp, mpquic), urgent streams are sent first.",
            ),
        ],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
        Ok(Self {
            request: reader.need("request")?.bytes(&(1..=MAX_BYTES))?,
            response: reader.need("response")?.bytes(&(1..=MAX_BYTES))?,
            sizes: reader.need("sizes")?.word()?,
            think: reader.need("think")?.duration(Duration::ZERO..=MAX_DURATION)?,
            think_times: reader.need("think_times")?.word()?,
            parallel: reader.need("parallel")?.integer(1..=MOST)?,
            count: reader
                .take("count")
                .map(|item| item.integer(1..=i64::MAX).map(i64::unsigned_abs))
                .transpose()?,
            start,
            stop: stop(reader, start)?,
            deadline: deadline(reader)?,
            urgent: reader.need("urgent")?.integer(0..=MOST)?,
        })
    }

    fn write(&self, table: &mut Value) {
        table["request"] = text::bytes(self.request).into();
        table["response"] = text::bytes(self.response).into();
        table["sizes"] = self.sizes.word().into();
        table["think"] = text::duration(self.think).into();
        table["think_times"] = self.think_times.word().into();
        table["parallel"] = self.parallel.into();
        if let Some(count) = self.count {
            table["count"] = count.into();
        }
        table["start"] = text::duration(self.start).into();
        if let Some(stop) = self.stop {
            table["stop"] = text::duration(stop).into();
        }
        write_deadline(table, self.deadline);
        table["urgent"] = self.urgent.into();
    }

    fn start(&self, seed: u64) -> Clients {
        let client = |number| Client {
            demands: self.demands(seed, number),
            next: Some(Time::ZERO + self.start),
            think: Duration::ZERO,
        };
        Clients {
            clients: (0..self.parallel).map(client).collect(),
            left: self.count.unwrap_or(u64::MAX),
            stop: self.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            deadline: self.deadline,
            urgent: self.urgent as usize,
            requests: VecDeque::new(),
            requested: 0,
            responses: 0,
            answering: VecDeque::new(),
        }
    }

    fn begin(&self) -> Duration {
        self.start
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    fn client(&self) -> ConnectionEnd {
        ConnectionEnd::Far
    }

    fn is_complete(&self, _delivered: u64, answered: u64) -> bool {
        self.count == Some(answered)
    }
}

/// One request, its response and its think time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the response.
    pub response: u64,
    /// The time from the end of the response to the client's next request.
    pub think: Duration,
}

impl RequestResponse {
    /// The requests of client `number`, from 0, in order. They do not depend on when the client
    /// sends them.
    pub fn demands(&self, seed: u64, number: u32) -> Demands {
        Demands { of: *self, stream: RandomStream::new(seed, &format!("workload/client {number}")) }
    }
}

/// The requests of one client, without end.
#[derive(Clone, Debug)]
pub struct Demands {
    of: RequestResponse,
    stream: RandomStream,
}

impl Iterator for Demands {
    type Item = Demand;

    /// Draws three random numbers per request even if sizes are fixed, so that random times stay
    /// the same.
    fn next(&mut self) -> Option<Demand> {
        let RequestResponse { request, response, sizes, think, think_times, .. } = self.of;
        let mut size = |mean: u64| match (sizes, self.stream.exponential_amount(mean)) {
            (RequestDistribution::Fixed, _) => mean,
            (RequestDistribution::Exponential, amount) => amount,
        };
        let (request, response) = (size(request), size(response));
        let think = match (think_times, self.stream.exponential(think)) {
            (RequestDistribution::Exponential, random) if !think.is_zero() => random,
            _ => think,
        };
        Some(Demand { request, response, think })
    }
}

/// One client.
#[derive(Clone, Debug)]
struct Client {
    demands: Demands,
    /// The time of its next request, or `None` while it waits for a response.
    next: Option<Time>,
    /// Its think time after the response.
    think: Duration,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Request {
    /// Its end in the stream of requests, in bytes.
    end: u64,
    client: usize,
    /// The size of its response.
    response: u64,
    /// The deadline of its response.
    deadline: Option<Time>,
}

/// The clients, and the server.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    clients: Vec<Client>,
    /// Number of requests that may still be written.
    left: u64,
    stop: Time,
    deadline: Option<Duration>,
    urgent: usize,
    /// Requests that have not arrived wholly, in order: all requests are one stream.
    requests: VecDeque<Request>,
    /// Bytes of requests written.
    requested: u64,
    /// Number of responses written. It is also the number of the next response's message and of the
    /// request that this message answers.
    responses: u64,
    /// Responses that have not arrived wholly: message number and client.
    answering: VecDeque<(u64, usize)>,
}

impl Clients {
    /// Writes the next request of every client whose time has come.
    fn ask(&mut self, now: Time, ends: &mut impl ConnectionWriter) {
        for (index, client) in self.clients.iter_mut().enumerate() {
            let due = client.next.is_some_and(|next| next <= now);
            if !due || now >= self.stop || self.left == 0 {
                continue;
            }
            let Some(Demand { request, response, think }) = client.demands.next() else { continue };
            (client.next, client.think) = (None, think);
            self.left -= 1;
            self.requested += request;
            let deadline = self.deadline.map(|deadline| now.saturating_add(deadline));
            self.requests.push_back(Request { end: self.requested, client: index, response, deadline });
            ends.write(ConnectionEnd::Far, request, &WriteOptions::default());
            let deadline = self.deadline;
            ends.note(ApplicationEvent::Requested { request, response, deadline });
        }
    }
}

impl Application for Clients {
    fn hears(&self) -> bool {
        true
    }

    fn next_wakeup(&self) -> Option<Time> {
        let next = self.clients.iter().filter_map(|client| client.next).min();
        next.filter(|next| *next < self.stop && self.left > 0)
    }

    fn handle(&mut self, now: Time, input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        match input {
            ApplicationInput::Timer => {}
            ApplicationInput::Delivered { at: ConnectionEnd::Near, bytes } => {
                while let Some(request) = self.requests.front().filter(|request| request.end <= bytes) {
                    let Request { client, response, deadline, .. } = *request;
                    self.requests.pop_front();
                    let priority = u8::from(client < self.urgent);
                    let options = WriteOptions { stream: client as u32, priority, deadline };
                    self.answering.push_back((self.responses, client));
                    self.responses += 1;
                    ends.write(ConnectionEnd::Near, response, &options);
                    ends.note(ApplicationEvent::Answered);
                }
                return;
            }
            // `ApplicationInput::Arrived` has already reported every complete response.
            ApplicationInput::Delivered { at: ConnectionEnd::Far, .. } => {}
            ApplicationInput::Arrived(number) => {
                let found = self.answering.iter().position(|(answering, _)| *answering == number);
                if let Some((_, client)) = found.and_then(|found| self.answering.remove(found)) {
                    let client = &mut self.clients[client];
                    client.next = Some(now.saturating_add(client.think));
                    ends.note(ApplicationEvent::Responded(number));
                }
                return;
            }
        }
        self.ask(now, ends);
    }
}
