//! The descriptions of keys, and randomly changed texts.

use super::*;
use crate::application;

#[test]
fn every_choice_is_named_in_the_description_of_its_key() {
    fn check<T: reader::Word>(table: &keys::TableInfo, key: &str) {
        let kind = table.key(key).expect(key).kind;
        for (word, choice) in T::WORDS {
            assert!(kind.contains(&format!("\"{word}\"")), "{key}: {kind}");
            assert_eq!(choice.word(), *word);
        }
        assert_eq!(kind.matches('"').count(), 2 * T::WORDS.len(), "{key}: {kind}");
    }
    let (sctp, mptcp) = (Protocol::CmtSctp.table(), Protocol::Mptcp.table());
    check::<Protocol>(sctp, "protocol");
    check::<Profile>(mptcp, "profile");
    check::<WindowAccounting>(sctp, "receive_window_accounting");
    check::<RetransmissionPolicy>(sctp, "retransmission_policy");
    let kind = |table: &keys::TableInfo| table.key("congestion_control").expect("there").kind;
    assert_eq!(kind(sctp), "\"newreno\"");
    assert_eq!(kind(mptcp), "\"newreno\", \"cubic\", \"lia\", \"olia\", \"balia\" or \"bbr\"");
    check::<application::WorkloadKind>(&application::TABLES[0], "kind");
    check::<flow::FlowKindName>(&keys::FLOW_TCP, "kind");
    check::<Direction>(&keys::FLOW_TCP, "direction");
    check::<crate::application::times::DistributionName>(&keys::FLOW_ON_OFF, "distribution");
    check::<link_values::LossModel>(&keys::LOSS_BERNOULLI, "model");
    check::<crate::link::JitterDistribution>(&keys::JITTER_TABLE, "distribution");
}

#[test]
fn every_key_is_described_once_and_in_a_sentence() {
    for table in keys::tables() {
        for (index, info) in table.keys.iter().enumerate() {
            assert!(
                !table.keys[..index].iter().any(|other| other.key == info.key),
                "{} {}",
                table.name,
                info.key
            );
            assert!(info.doc.ends_with('.') && !info.kind.is_empty(), "{} {}", table.name, info.key);
        }
    }
}

/// Words that a mutation may insert anywhere: valid ones in wrong places, and numbers at the
/// limits.
const WORDS: &[&str] = &[
    "\"20ms\"",
    "\"1Mbit\"",
    "\"bdp\"",
    "\"infinite\"",
    "\"50p\"",
    "\"0.2%\"",
    "\"unlimited\"",
    "\"1000000s\"",
    "\"1Tbit\"",
    "\"1ns\"",
    "\"18446744073709551615B\"",
    "0",
    "-1",
    "9223372036854775807",
    "nan",
    "-inf",
    "1e308",
    "true",
    "[]",
    "{}",
    "[[path]]",
    "[transport]",
    "rate",
    "rtt",
    "=",
    "\n",
    "\"",
    "{",
    "]",
    "1979-05-27",
    "\u{0}",
    "µ",
    "\"\"\"",
    "\\",
];

fn never_panics(text: &str) -> Result<(), TestCaseError> {
    for result in [
        Scenario::from_toml(text, "s.toml", Path::new("/nonexistent")),
        Scenario::from_json(text, "s.json", Path::new("/nonexistent")),
    ] {
        match result {
            Ok(scenario) => {
                let json = scenario.to_json().to_string();
                let again = Scenario::from_json(&json, "s.json", Path::new("/nonexistent"));
                prop_assert_eq!(again.as_ref(), Ok(&scenario));
                prop_assert!(scenario.warmup < scenario.duration && !scenario.paths.is_empty());
            }
            Err(error) => {
                let error = error.to_string();
                prop_assert!(!error.is_empty() && !error.chars().any(char::is_control), "{:?}", error);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        never_panics(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn mutated_scenarios_are_read_or_refused(
        json in any::<bool>(),
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(WORDS)), 1..4),
    ) {
        let mut text = FULL.to_owned();
        if json {
            text = read(FULL).expect("valid").to_json().to_string();
        }
        for (index, removed, word) in mutations {
            let characters: Vec<char> = text.chars().collect();
            let at = index.index(characters.len());
            let rest = characters.iter().skip(at + removed);
            text = characters[..at].iter().copied().chain(word.chars()).chain(rest.copied()).collect();
        }
        never_panics(&text)?;
    }

    /// Replaces whole values: the text stays well-formed, so that the test reaches the reader
    /// itself.
    #[test]
    fn misplaced_values_are_read_or_refused(
        replacements in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(&WORDS[..20])), 1..4),
    ) {
        let mut lines: Vec<String> = FULL.lines().map(str::to_owned).collect();
        for (index, word) in replacements {
            let line = index.get_mut(&mut lines);
            if let Some((key, _)) = line.split_once(" = ") {
                *line = format!("{key} = {word}");
            }
        }
        never_panics(&lines.join("\n"))?;
    }
}
