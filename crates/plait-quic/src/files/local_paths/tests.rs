use super::*;
use crate::files::address_pairs::AddressPair;
use crate::files::interface_changes::InterfaceChange;
use crate::files::now;
use crate::identity::{Fingerprint, Secret};
use crate::settings::Settings;

fn open(
    to: &str,
    locals: &[&str],
    interfaces: &[&str],
    terms: &[(String, Term)],
) -> Result<LocalPaths, Error> {
    let locals: Vec<Local> = locals.iter().map(|local| local.parse().expect("it is one")).collect();
    let interfaces: Vec<String> = interfaces.iter().map(ToString::to_string).collect();
    let wanted = Connect {
        to: to.to_owned(),
        fingerprint: Fingerprint([0; 32]),
        secret: Secret::new(""),
        locals,
        interfaces,
        terms: terms.to_vec(),
        record: None,
        settings: Settings::default(),
    };
    LocalPaths::open(now(), &wanted)
}

fn refusal(opened: Result<LocalPaths, Error>) -> String {
    opened.err().expect("it is refused").to_string()
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let error = refusal(open("192.0.2.1:9", &[], &["wlan99"], &[]));
    assert!(
        error.starts_with("no connection: interface wlan99: no address that leads to 192.0.2.1:9; ")
            && error.contains("interfaces with an address: ")
            && error.contains("lo"),
        "{error}"
    );
}

#[test]
fn what_is_not_there_is_waited_for_if_something_else_is() {
    // TEST-NET-1 (RFC 5737): assigned to no machine.
    let terms = [("wlan99".to_owned(), Term::Budget(5))];
    let local_paths = open("127.0.0.1:9", &["127.0.0.2", "192.0.2.77"], &["wlan99"], &terms);
    let local_paths = local_paths.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(local_paths.addresses(), [IpAddr::from([127, 0, 0, 2])]);
    assert_eq!(local_paths.awaited(), ["192.0.2.77", "wlan99"]);
    let error = refusal(open("127.0.0.1:9", &["192.0.2.77"], &[], &[]));
    assert!(error.starts_with("no connection: local address 192.0.2.77: "), "{error}");
}

#[test]
fn terms_are_those_of_paths_that_there_are_or_may_be() {
    let terms = [("wwna0".to_owned(), Term::Backup)];
    let error = refusal(open("127.0.0.1:9", &["127.0.0.2"], &[], &terms));
    assert!(error.starts_with("wwna0: no such path: choose 127.0.0.2"), "{error}");
}

#[test]
fn a_path_that_replaces_another_has_its_own_terms() {
    let terms = [("127.0.0.3".to_owned(), Term::Cost(7))];
    let mut local_paths =
        open("127.0.0.1:9", &["127.0.0.3"], &[], &terms).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(local_paths.terms[0].cost, 7);
    let mut address_changes = Vec::new();
    let remote = local_paths.remote();
    let pairs = |last: u8| {
        let local = Local { address: [127, 0, 0, last].into(), interface: None };
        AddressPairs::new(vec![AddressPair { local, remote }]).expect("there is one")
    };
    for last in 4..40 {
        local_paths.add(pairs(last), &mut address_changes);
    }
    assert_eq!(local_paths.scanned_paths.len(), crate::settings::MAX_PATHS, "so many and no more");
    assert_eq!(address_changes.len(), crate::settings::MAX_PATHS - 1);
    local_paths.apply(now(), InterfaceChange::Removed(0));
    address_changes.clear();
    assert!(local_paths.add(pairs(99), &mut address_changes));
    assert_eq!(address_changes, [AddressChange::Replaced(0, [127, 0, 0, 99].into(), Terms::default())]);
    assert_eq!((local_paths.terms[0].cost, local_paths.sockets.len()), (0, crate::settings::MAX_PATHS));
}

#[test]
fn a_refusal_needs_all_paths_or_time_and_counts_for_nothing_after_an_answer() {
    let opened = open("127.0.0.1:9", &["127.0.0.2", "127.0.0.3"], &[], &[]);
    let mut local_paths = opened.unwrap_or_else(|error| panic!("{error}"));
    let (start, remote) = (now(), local_paths.remote());
    assert_eq!(local_paths.refusal(start), None);
    local_paths.scanned_paths[0].pairs.refuse(start, remote);
    assert_eq!(local_paths.refusal(start + REFUSAL_GRACE / 2), None, "the other path may be answered");
    let expected = Some("127.0.0.1:9: nothing listens there (connection refused)".to_owned());
    assert_eq!(local_paths.refusal(start + REFUSAL_GRACE), expected);
    local_paths.scanned_paths[1].pairs.refuse(start, remote);
    assert_eq!(local_paths.refusal(start), expected);
    local_paths.scanned_paths[1].pairs.note_answer(remote);
    local_paths.receive(|_, _| {});
    assert_eq!(local_paths.refusal(start + REFUSAL_GRACE), None, "whatever the network says");
    assert!(
        local_paths.restart_search().is_empty() && local_paths.refusal(start + REFUSAL_GRACE).is_none(),
        "it is looked for with patience"
    );
}
