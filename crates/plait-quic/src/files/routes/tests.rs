use super::*;
use crate::files::aims::Aim;
use crate::files::now;
use crate::identity::{Fingerprint, Secret};
use crate::settings::Settings;

fn open(to: &str, locals: &[&str], interfaces: &[&str], terms: &[(String, Term)]) -> Result<Routes, Error> {
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
    Routes::open(now(), &wanted)
}

fn refusal(opened: Result<Routes, Error>) -> String {
    opened.err().expect("it is refused").to_string()
}

#[test]
fn an_interface_that_is_not_there_is_named_with_those_that_are() {
    let error = refusal(open("192.0.2.1:9", &[], &["wlan99"], &[]));
    assert!(
        error.starts_with("interface wlan99: no address that leads to 192.0.2.1:9") && error.contains("lo"),
        "{error}"
    );
}

#[test]
fn what_is_not_there_is_waited_for_if_something_else_is() {
    // TEST-NET-1 (RFC 5737): assigned to no machine.
    let terms = [("wlan99".to_owned(), Term::Budget(5))];
    let routes = open("127.0.0.1:9", &["127.0.0.2", "192.0.2.77"], &["wlan99"], &terms);
    let routes = routes.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(routes.addresses(), [IpAddr::from([127, 0, 0, 2])]);
    assert_eq!(routes.awaited(), ["192.0.2.77", "wlan99"]);
    let error = refusal(open("127.0.0.1:9", &["192.0.2.77"], &[], &[]));
    assert!(error.starts_with("local address 192.0.2.77: "), "{error}");
}

#[test]
fn terms_are_those_of_paths_that_there_are_or_may_be() {
    let terms = [("wwna0".to_owned(), Term::Backup)];
    let error = refusal(open("127.0.0.1:9", &["127.0.0.2"], &[], &terms));
    assert!(error.starts_with("wwna0: no such path: choose 127.0.0.2"), "{error}");
}

#[test]
fn a_path_whose_place_is_given_away_has_other_terms() {
    let terms = [("127.0.0.3".to_owned(), Term::Cost(7))];
    let mut routes =
        open("127.0.0.1:9", &["127.0.0.3"], &[], &terms).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(routes.terms[0].cost, 7);
    let mut reroutes = Vec::new();
    let remote = routes.remote();
    let aims = |last: u8| {
        let local = Local { address: [127, 0, 0, last].into(), interface: None };
        Aims::new(vec![Aim { local, remote }]).expect("there is one")
    };
    for last in 4..40 {
        routes.add(aims(last), &mut reroutes);
    }
    assert_eq!(routes.places.len(), crate::settings::MAX_LINKS, "so many and no more");
    assert_eq!(reroutes.len(), crate::settings::MAX_LINKS - 1);
    routes.apply(now(), Change::Gone(0));
    reroutes.clear();
    assert!(routes.add(aims(99), &mut reroutes));
    assert_eq!(reroutes, [Reroute::Replaced(0, [127, 0, 0, 99].into(), Terms::default())]);
    assert_eq!((routes.terms[0].cost, routes.sockets.len()), (0, crate::settings::MAX_LINKS));
}

#[test]
fn a_refusal_needs_all_paths_or_time_and_counts_for_nothing_after_an_answer() {
    let opened = open("127.0.0.1:9", &["127.0.0.2", "127.0.0.3"], &[], &[]);
    let mut routes = opened.unwrap_or_else(|error| panic!("{error}"));
    let (start, remote) = (now(), routes.remote());
    assert_eq!(routes.refusal(start), None);
    routes.places[0].aims.refuse(start, remote);
    assert_eq!(routes.refusal(start + DOUBT / 2), None, "the other path may be answered");
    let expected = Some("127.0.0.1:9: nothing listens there (connection refused)".to_owned());
    assert_eq!(routes.refusal(start + DOUBT), expected);
    routes.places[1].aims.refuse(start, remote);
    assert_eq!(routes.refusal(start), expected);
    routes.places[1].aims.hear(remote);
    routes.receive(|_, _, _, _| {});
    assert_eq!(routes.refusal(start + DOUBT), None, "whatever the network says");
    assert!(
        routes.aim().is_empty() && routes.refusal(start + DOUBT).is_none(),
        "it is looked for with patience"
    );
}
