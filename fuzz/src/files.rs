//! Files over real paths: what is said around the data, and a receiving end whose peer knows the secret and sends anything.

use plait_quic::hello::{Hello, Offer, Reply, Verdict};
use plait_quic::session::{Agreed, Extent, Session};
use plait_quic::{Secret, Settings};
use plait_sched::{Builtin, Duration, PathId, Time};
use plait_transport::endpoint::Side;

const WINDOW: u64 = 1 << 16;
const SEGMENT: u16 = 500;

/// Greetings, answers and verdicts.
///
/// # Panics
/// If what was read is not written as the same bytes.
pub fn greeting(bytes: &[u8]) {
    if let Ok(Some(hello)) = Hello::decode(bytes) {
        assert_eq!(hello.encode(), bytes);
    }
    if let Ok(Some(reply)) = Reply::decode(bytes, u64::MAX) {
        assert_eq!(reply.encode(), bytes);
    }
    let _ = Verdict::decode(bytes, &[0; 32]);
}

/// One of each.
pub fn greeting_seeds() -> Vec<Vec<u8>> {
    let offer = Offer { name: "a file".to_owned(), size: 1_000_000, digest: [3; 32] };
    let hello =
        Hello { secret: Secret::new("told"), session: [1; 16], path: 1, continues: false, paths: 2, segment: SEGMENT, offer };
    vec![
        hello.encode(),
        Reply { window: WINDOW, offset: 99 }.encode().to_vec(),
        Verdict::Kept.encode(&[0; 32]).to_vec(),
    ]
}

fn session(side: Side, sends: u64, gets: u64) -> Session {
    let extent = Extent::Piece { sends, gets };
    let agreed = Agreed { paths: 2, initial: 0, segment: SEGMENT, window: WINDOW, extent };
    let scheduler = Builtin::new("lowest-rtt", &[]).expect("it is built in");
    Session::new(side, &Settings::default(), agreed, scheduler).expect("it needs nothing special")
}

/// Packets for a receiver, each with two bytes of length and one that says the path.
///
/// # Panics
/// If more waits than the window allows.
pub fn packets(bytes: &[u8]) {
    let (mut end, mut now, mut rest) = (session(Side::Server, 33, 1 << 30), Time::ZERO, bytes);
    let mut out = Vec::new();
    while let Some((&[high, low, path], after)) = rest.split_first_chunk() {
        let (packet, after) = after.split_at(usize::from(u16::from_be_bytes([high, low])).min(after.len()));
        rest = after;
        now = now.saturating_add(Duration::from_millis(10));
        end.handle(now, PathId(path % 2), packet);
        while end.read().is_some() {}
        let _ = end.handle_timeout(now);
        let _ = end.transmit(now, &mut vec![0; 33], &mut out);
        assert!(end.buffered() <= WINDOW, "the window bounds what waits");
    }
}

/// What a sender really sends, all of it in one input and a packet in each.
pub fn packets_seeds() -> Vec<Vec<u8>> {
    let mut ends = [session(Side::Client, 20_000, 33), session(Side::Server, 33, 20_000)];
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
