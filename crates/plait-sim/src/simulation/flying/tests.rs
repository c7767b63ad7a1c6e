//! Packets arrive as they were sent.

use super::*;
use proptest::prelude::*;

fn ecn() -> impl Strategy<Value = SegmentEcn> {
    any::<[bool; 3]>().prop_map(|[capable, congested, reduced]| SegmentEcn { capable, congested, reduced })
}

/// Packets of the frequent kinds, and kinds that are stored whole.
fn packet() -> impl Strategy<Value = Packet> {
    let data = (0..=MOST, 0..=u32::from(u16::MAX)).prop_map(|(segment, bytes)| Data { segment, bytes });
    let numbers = (0..=MOST, 0..1_u64 << 48, any::<(u32, u32, bool)>(), ecn());
    let segment = (data.clone(), numbers).prop_map(|(data, (number, offset, rest, ecn))| {
        let (timestamp, echo, push) = rest;
        let ack = None;
        tcp::Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack, ecn }).into()
    });
    let stream = (data.clone(), 0..=MOST, 0..1_u64 << 48, any::<[bool; 2]>());
    let stream = stream.prop_map(|(data, number, offset, [capable, congested])| {
        let ecn = SegmentEcn { capable, congested, reduced: false };
        let stream = Some(Stream { data, offset });
        quic::Packet::OneRtt(OneRtt { stream, ecn, ..OneRtt::new(number) }).into()
    });
    let numbers = (0..=MOST, 0..=MOST, any::<(u32, u32, bool, bool)>());
    let ack = (numbers, any::<u64>(), prop_oneof![0..=MOST, any::<u64>()]);
    let ack =
        ack.prop_map(|((cumulative, data, (timestamp, echo, plain, congested)), window_end, window)| {
            let mut ack = Ack::new(cumulative, data, timestamp, echo);
            (ack.window_end, ack.window, ack.plain, ack.congested) = (window_end, window, plain, congested);
            tcp::Packet::Ack(ack).into()
        });
    let heartbeat =
        any::<u64>().prop_map(|nanos| sctp::Packet::Heartbeat { sent_at: Time::from_nanos(nanos) }.into());
    prop_oneof![data.prop_map(|data| sctp::Packet::Data(data).into()), segment, stream, ack, heartbeat]
}

proptest! {
    /// Packets arrive as they were sent, together with other packets and losses, and with the
    /// marks that they received on the way.
    #[test]
    fn packets_arrive_as_they_were_sent(
        sent in prop::collection::vec((packet(), 0..=MOST, 0..MOST_LEGS, any::<[bool; 2]>()), 1..60),
        order in any::<prop::sample::Index>(),
    ) {
        let mut store = PacketStore::default();
        for round in 0..3 {
            let mut under_way: Vec<_> =
                sent.iter().map(|(packet, number, leg, _)| store.pack(packet.by_ref(), *number, *leg)).collect();
            let turn = order.index(sent.len());
            under_way.rotate_left(turn);
            for (flying, index) in under_way.iter_mut().zip((0..sent.len()).cycle().skip(turn)) {
                let (packet, number, leg, [lost, marked]) = &sent[index];
                prop_assert_eq!((flying.leg(), flying.number()), (*leg, Some((*number, packet.by_ref().carries_data()))));
                // A copy that is lost, or arrives, does not change the packet.
                let copy = store.copy(flying);
                if *lost {
                    store.forget(flying);
                    *flying = copy;
                } else {
                    store.forget(&copy);
                }
                let marked = *marked && flying.mark();
                let mut expected = *packet;
                if let Some(ecn) = expected.ecn_mut() {
                    ecn.congested |= marked;
                }
                let packet = store.take(flying, flying.place()).expect("it is there");
                prop_assert_eq!(*packet, expected, "round {}", round);
                store.put_back(flying.place(), packet);
            }
        }
        // Beside the packets in flight there is at most one copy.
        prop_assert!(store.places.len() <= sent.len() + 1);
    }
}

#[test]
fn a_datagram_says_when_it_was_sent_however_late_that_was() {
    for nanos in [0, 1, MOST, MOST + 1, u64::MAX] {
        let datagram = Flying::datagram(Time::from_nanos(nanos)).on(7);
        assert_eq!((datagram.sent(), datagram.number()), (Some(Time::from_nanos(nanos)), None));
    }
    assert_eq!(Flying::carried(9).on(3).carried_number(), Some(9));
}
