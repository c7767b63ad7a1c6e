//! Fuzz targets for file transfers: the records around the data, and a receiver whose peer knows
//! the secret and sends arbitrary packets.

use plait_quic::files::records::{
    Entry, Kind, Piece, ReceiverRecord, ReceiverRecordReader, SenderRecord, SenderRecordReader, Verdict,
};
use plait_quic::hello::{Hello, Offer, Reply};
use plait_quic::session::{Agreed, Delivery, Session};
use plait_quic::{Secret, Settings};
use plait_sched::{Builtin, Duration, PathId, Time};
use plait_transport::endpoint::Side;

const WINDOW: u64 = 1 << 16;
const SEGMENT: u16 = 500;

/// Decodes greetings and replies.
///
/// # Panics
/// If a decoded message is not encoded as the same bytes.
pub fn greeting(bytes: &[u8]) {
    if let Ok(Some(hello)) = Hello::decode(bytes) {
        assert_eq!(hello.encode(), bytes);
    }
    if let Ok(Some(reply)) = Reply::decode(bytes) {
        assert_eq!(reply.encode(), bytes);
    }
}

/// Decodes the records of both ends of a transfer.
///
/// # Panics
/// If a decoded record differs after it was encoded and decoded again.
pub fn records(bytes: &[u8]) {
    let (mut reader, mut input) = (SenderRecordReader::default(), bytes);
    while let Ok(Some(piece)) = reader.next(&mut input) {
        if let Piece::Record(record) = piece {
            let mut again = Vec::new();
            record.encode(&mut again);
            let read = SenderRecordReader::default().next(&mut &again[..]);
            assert!(matches!(read, Ok(Some(Piece::Record(other))) if other == record));
        }
    }
    let (mut reader, mut input) = (ReceiverRecordReader::default(), bytes);
    while let Ok(Some(answer)) = reader.next(&mut input) {
        let mut again = Vec::new();
        answer.encode(&mut again);
        assert!(ReceiverRecordReader::default().next(&mut &again[..]).is_ok_and(|read| read == Some(answer)));
    }
}

/// A sender's stream, and a receiver's.
pub fn records_seeds() -> Vec<Vec<u8>> {
    let entry = Entry { kind: Kind::File, mode: 0o644, modified: (1, 2), size: 3, path: b"a/b".to_vec() };
    let (mut offered, mut answered) = (Vec::new(), Vec::new());
    SenderRecord::Entry(entry).encode(&mut offered);
    SenderRecord::Finish { count: 1 }.encode(&mut offered);
    SenderRecord::Prefix { entry: 0, digest: [1; 32] }.encode(&mut offered);
    SenderRecord::Data { entry: 0, length: 3 }.encode(&mut offered);
    offered.extend(b"abc");
    SenderRecord::End { entry: 0, sound: true, digest: [2; 32] }.encode(&mut offered);
    ReceiverRecord::Have { entry: 0, bytes: 3 }.encode(&mut answered);
    ReceiverRecord::Want { entry: 0, from: 3 }.encode(&mut answered);
    let (verdict, reason) = (Verdict::NotStored, "full".to_owned());
    ReceiverRecord::Verdict { entry: 0, verdict, digest: [3; 32], reason }.encode(&mut answered);
    ReceiverRecord::Finished.encode(&mut answered);
    vec![offered, answered]
}

/// One greeting and one reply.
pub fn greeting_seeds() -> Vec<Vec<u8>> {
    let offer = Offer { name: "a file".to_owned(), size: 1_000_000, identity: [3; 32] };
    let hello = Hello {
        secret: Secret::new("told"),
        session: [1; 16],
        path: 1,
        continues: false,
        paths: 2,
        segment: SEGMENT,
        offer,
    };
    vec![hello.encode(), Reply { window: WINDOW }.encode().to_vec()]
}

fn session(side: Side, sends: u64) -> Session {
    let agreed =
        Agreed { paths: 2, initial: 0, segment: SEGMENT, window: WINDOW, delivery: Delivery::Ordered };
    let scheduler = Builtin::new("lowest-rtt", &[]).expect("it is built in");
    let session = Session::new(side, &Settings::default(), agreed, scheduler);
    let mut session = session.expect("it needs nothing special");
    session.extend(sends);
    session
}

/// Sends packets to a receiver. Each packet has two bytes of length and one byte of path in front.
///
/// # Panics
/// If the receiver buffers more than the window allows.
pub fn packets(bytes: &[u8]) {
    let (mut end, mut now, mut rest) = (session(Side::Server, SEGMENT.into()), Time::ZERO, bytes);
    let mut out = Vec::new();
    while let Some((&[high, low, path], after)) = rest.split_first_chunk() {
        let (packet, after) = after.split_at(usize::from(u16::from_be_bytes([high, low])).min(after.len()));
        rest = after;
        now = now.saturating_add(Duration::from_millis(10));
        end.handle(now, PathId(path % 2), packet);
        while end.read().is_some() {}
        let _ = end.handle_timeout(now);
        let _ = end.transmit(now, &mut vec![0; SEGMENT.into()], &mut out);
        assert!(end.buffered() <= WINDOW, "the window bounds what waits");
    }
}

/// Packets that a sender actually sends: one input per packet, and one with all packets.
pub fn packets_seeds() -> Vec<Vec<u8>> {
    let mut ends = [session(Side::Client, 20_000), session(Side::Server, SEGMENT.into())];
    let (mut sent, mut now) = (Vec::new(), Time::ZERO);
    for _ in 0..8 {
        for from in 0..2 {
            let mut out = Vec::new();
            let [client, server] = &mut ends;
            let (end, peer) = if from == 0 { (client, server) } else { (server, client) };
            end.transmit(now, &mut vec![7; 20_000], &mut out).expect("it can be read");
            now = now.saturating_add(Duration::from_millis(20));
            for (path, packet) in out {
                peer.handle(now, path, &packet);
                if from == 0 {
                    let length = (packet.len() as u16).to_be_bytes();
                    sent.push([&length[..], &[path.0], &packet].concat());
                }
            }
        }
    }
    let all = sent.concat();
    sent.push(all);
    sent
}
