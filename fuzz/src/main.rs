//! The libFuzzer program: the environment variable `PLAIT_FUZZ` names the target. `make fuzz`
//! builds and runs it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plait_fuzz::{TARGETS, target};
use std::sync::LazyLock;

static CHECK: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("PLAIT_FUZZ").unwrap_or_default();
    let Some(target) = target(&name) else {
        let names = TARGETS.map(|target| target.name).join(", ");
        panic!("PLAIT_FUZZ is '{name}' (valid: {names})");
    };
    target.check
});

fuzz_target!(|bytes: &[u8]| CHECK(bytes));
