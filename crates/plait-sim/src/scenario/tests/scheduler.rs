//! The choice of a scheduler: reading, writing, errors.

use super::*;

#[test]
fn options_of_a_scheduler_are_written_in_its_name() {
    for (scheduler, name, others) in [
        ("\"lowest-rtt\"", "lowest-rtt", ""),
        ("\"lowest-rtt+rp\"", "lowest-rtt+rp", ""),
        ("{ name = \"lowest-rtt\", retransmission_penalization = true }", "lowest-rtt+rp", ""),
        ("{ name = \"lowest-rtt\", retransmission_penalization = false }", "lowest-rtt", ""),
        (
            "{ name = \"lowest-rtt+bm+rp\", bufferbloat_lambda = 2 }",
            "lowest-rtt+rp+bm",
            "\"bufferbloat_lambda\":2.0,",
        ),
    ] {
        let scenario = read(&format!("scheduler = {scheduler}\n{SMALL}")).expect(scheduler);
        assert_eq!(scenario.scheduler.name(), name);
        assert_eq!(scenario.scheduler.build().to_string(), name);
        let json = scenario.to_json();
        assert_eq!(json["scheduler"].to_string(), format!("{{{others}\"name\":\"{name}\"}}"));
        let again = Scenario::from_json(&json.to_string(), "again", Path::new("")).expect("its own words");
        assert_eq!(again.scheduler, scenario.scheduler);
    }
}

#[test]
fn the_registry_explains_what_is_wrong_with_a_scheduler() {
    for scheduler in [
        "\"lowest-rtt+rb\"",
        "{ name = \"lowest-rtt+rp\", retransmission_penalization = true }",
        "\"daqs\"",
        "\"a\\nb\"",
        "{ name = \"round-robin\", segmnts = 1 }",
        "{ name = \"round-robin\", segments = 0 }",
        "{ name = \"round-robin\", segments = nan }",
    ] {
        let error = refused(&format!("scheduler = {scheduler}\n{SMALL}"));
        assert!(error.starts_with("s.toml: scheduler: "), "{error}");
    }
}
