use super::super::script::Script;
use super::*;
use crate::view::Message;

/// Round trips of 50 and 130 ms, windows of 20 and 30, the first one full: the vectors of ECF.
fn two(waits: Waits, message: u64, all: u64) -> Script<Srpt> {
    let mut script = Script::new(Srpt::new(waits), &[(50, 20), (130, 30)]).in_flight(0, 20);
    script.connection.unassigned = all;
    script.connection.message = Some(Message { segments_left: message, ..Message::default() });
    script
}

#[test]
fn without_waiting_it_is_lowest_rtt() {
    assert_eq!(two(Waits::Never, 1, 100).opportunity(), [(1, 30)]);
}

#[test]
fn what_is_left_of_the_message_decides_or_all_that_waits() {
    // ECF begins to wait with 31 segments, and not with 32.
    assert_eq!(two(Waits::Message, 31, 100).opportunity(), []);
    assert_eq!(two(Waits::All, 31, 100).opportunity().first(), Some(&(1, 1)));
    assert_eq!(two(Waits::Message, 32, 31).opportunity().first(), Some(&(1, 1)));
    assert_eq!(two(Waits::All, 32, 31).opportunity(), []);
}

#[test]
fn the_fast_path_is_used_as_long_as_it_has_room() {
    let mut script = two(Waits::Message, 31, 100);
    script.paths[0].in_flight = 18;
    assert_eq!(script.opportunity(), [(0, 2)]);
}
