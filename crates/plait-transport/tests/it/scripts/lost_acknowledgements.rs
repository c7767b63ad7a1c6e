//! Lost acknowledgements: later ones repeat their information, and no data is retransmitted
//! needlessly.

use crate::common::{Fate, Pair, at, config, in_turns, ms, segments};

#[test]
fn the_next_acknowledgement_makes_up_for_a_lost_one() {
    let mut config = config();
    config.connection.congestion.initial_window = segments(40);
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    let mut sacks = 0;
    pair.script(move |judged| {
        sacks += u32::from(judged.is_sack());
        if judged.is_sack() && sacks % 4 != 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(5_000));
    assert!(pair.log.delivered.len() > 30_000, "{}", pair.log.delivered.len());
    assert_eq!(pair.sender.counters().retransmissions, 0);
}

/// Many holes, while only every `n`-th acknowledgement of the runs between them arrives.
fn holes_and_few_acknowledgements(n: u32) -> (Vec<u64>, u64) {
    let mut config = config();
    config.connection.congestion.initial_window = segments(200);
    config.connection.congestion.initial_threshold = segments(200);
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    let mut sacks = 0;
    pair.script(move |judged| {
        sacks += u32::from(judged.is_sack());
        match judged.segment() {
            Some(segment) if segment < 120 && segment % 3 == 0 && judged.sent_before == 0 => Fate::Drop,
            None if sacks % n != 0 => Fate::Drop,
            _ => Fate::Pass,
        }
    });
    pair.run_until(at(900));
    assert!(pair.log.delivered.len() > 200);
    (pair.log.retransmitted(), pair.sender.counters().timeouts)
}

#[test]
fn gap_blocks_are_repeated_until_they_get_through() {
    let lost: Vec<u64> = (0..120).step_by(3).collect();
    for n in [1, 2, 5] {
        let (mut again, timeouts) = holes_and_few_acknowledgements(n);
        again.sort_unstable();
        assert_eq!((again, timeouts), (lost.clone(), 0), "one acknowledgement in {n} arrives");
    }
}

#[test]
fn a_long_silence_ends_in_a_timeout_and_not_in_a_loss_of_the_path() {
    let mut pair = Pair::new(config(), &[20], in_turns()).spaced(ms(1) / 10);
    pair.send_file(2_000_000);
    pair.script(|judged| {
        if judged.is_sack() && (at(100)..at(2_500)).contains(&judged.now) { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(60_000));
    assert!(pair.sender.is_drained() && pair.log.states.is_empty());
    assert_eq!(pair.log.delivered_bytes, 2_000_000);
    assert!((1..=3).contains(&pair.sender.counters().timeouts));
    assert_eq!(pair.log.duplicates.len() as u64, pair.sender.counters().retransmissions);
}

#[test]
fn acknowledgements_of_a_path_without_a_way_back_arrive_over_the_others() {
    let mut pair = Pair::new(config(), &[20, 20], in_turns()).spaced(ms(1) / 10);
    pair.send_file(500_000);
    pair.script(|judged| if judged.is_sack() && judged.path == 1 { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(5_000));
    assert!(pair.sender.is_drained());
    let counters = pair.sender.counters();
    assert_eq!((counters.retransmissions, counters.timeouts), (0, 0));
}

#[test]
fn an_acknowledgement_that_was_overtaken_changes_nothing() {
    let mut pair = Pair::new(config(), &[20], in_turns()).spaced(ms(1) / 10);
    pair.send_file(1_000_000);
    let mut sacks = 0;
    pair.script(move |judged| {
        sacks += u32::from(judged.is_sack());
        if judged.is_sack() && sacks % 2 == 0 { Fate::Late(ms(15)) } else { Fate::Pass }
    });
    pair.run_until(at(20_000));
    assert!(pair.sender.is_drained());
    assert_eq!(pair.sender.counters().retransmissions, 0);
}
