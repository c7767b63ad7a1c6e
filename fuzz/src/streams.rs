//! Fuzz target for streams: an endpoint of either side whose peer knows the secret and sends
//! arbitrary segments.

use plait_quic::source::Source;
use plait_quic::streams::{Class, MAX_PROMISED, Reason, StreamEvent, Streams};
use plait_sched::Time;

const SEGMENT: u16 = 500;

/// Delivers segments to an endpoint. Each segment has two bytes of length in front. The endpoint
/// opens streams if the first byte is odd. Segments are reordered if the byte's next bit is set.
/// The endpoint reads part of the data that arrives.
///
/// # Panics
/// If the endpoint exceeds the limit of promises, or data to be sent is missing.
pub fn segments(bytes: &[u8]) {
    let Some((&side, mut rest)) = bytes.split_first() else { return };
    let mut end = Streams::new(side % 2 == 1, SEGMENT);
    if side % 2 == 1 {
        (0..3).for_each(|_| assert!(end.open("host:1", Class::Bulk).is_ok(), "there is room"));
    }
    let (mut place, mut number) = (0, 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (segment, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        let came = if side & 2 == 0 {
            end.handle(segment)
        } else {
            number += 1;
            end.handle_early(number, &segment.to_vec().into()).and_then(|()| end.advance(number / 2))
        };
        if came.is_err() {
            return;
        }
        while let Some(event) = end.poll() {
            match event {
                StreamEvent::Opened { stream, target, .. } if target.len() % 2 == 0 => {
                    end.reset(stream, Reason::Denied);
                }
                StreamEvent::Opened { stream, .. } => {
                    end.accept(stream);
                    end.write(stream, b"an answer");
                }
                StreamEvent::Flow { flow, target, .. } if target.len() % 2 == 0 => {
                    end.reset(flow, Reason::Denied);
                }
                StreamEvent::Flow { flow, .. } => end.send_datagram(Time::ZERO, flow, b"an answer"),
                StreamEvent::Accepted { .. } | StreamEvent::Reset { .. } => {}
            }
        }
        while end.receive_datagram().is_some() {}
        while let Some(stream) = end.next_ready() {
            end.consume(stream, end.peek(stream).len() / 2);
        }
        collect(&mut end, &mut place);
        assert!(end.promised() <= MAX_PROMISED, "promises are bounded");
    }
}

/// Returns the segments that an endpoint has to send, from this place on.
fn collect(end: &mut Streams, place: &mut u64) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    while let Some(bytes) = end.reserve() {
        let mut left = bytes;
        while left > 0 {
            let mut segment = vec![0; left.min(SEGMENT.into()) as usize];
            end.read_at(*place, &mut segment).expect("it was reserved");
            left -= segment.len() as u64;
            *place += segment.len() as u64;
            segments.push(segment);
        }
    }
    segments
}

/// Segments that two endpoints actually send to each other.
pub fn segments_seeds() -> Vec<Vec<u8>> {
    let mut ends = [Streams::new(true, SEGMENT), Streams::new(false, SEGMENT)];
    let mut places = [0; 2];
    let mut said = [vec![3], vec![0]];
    for at in 0..3 {
        let stream = ends[0].open(&format!("host:{at}"), Class::Interactive).expect("there is room");
        ends[0].write(stream, &[7; 900]);
    }
    for round in 0..4 {
        for from in 0..2 {
            for segment in collect(&mut ends[from], &mut places[from]) {
                said[1 - from].extend((segment.len() as u16).to_be_bytes());
                said[1 - from].extend(&segment);
                ends[1 - from].handle(&segment).expect("it is one");
            }
        }
        for stream in 0..3 {
            ends[1].accept(stream);
            ends[1].write(stream, &[8; 100]);
            let count = ends[1].peek(stream).len();
            ends[1].consume(stream, count);
        }
        match round {
            1 => ends[0].finish(0),
            2 => ends[1].reset(1, Reason::Broken),
            _ => {}
        }
    }
    // The first byte selects the endpoint that receives the segments.
    said.into()
}
