//! The header in the repository equals the one generated from the crate: `PLAIT_RENEW_HEADER=1
//! cargo test -p plait-sched-ffi --test it header` writes it.

use plait_sched_ffi::plait_sched::Capabilities;
use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let mut written = Vec::new();
    cbindgen::generate_with_config(folder, config).unwrap().write(&mut written);
    let written = String::from_utf8(written).unwrap();
    // Rust's section on the caller's obligations has another title in C.
    let written = written.replace("# Safety\n", "The caller ensures:\n");
    let file = folder.join("include/plait_sched.h");
    if std::env::var_os("PLAIT_RENEW_HEADER").is_some() {
        std::fs::write(&file, &written).unwrap();
    }
    assert!(std::fs::read_to_string(&file).unwrap_or_default() == written, "see the first line of this file");
}

#[test]
fn each_capability_is_a_bit() {
    let header = include_str!("../../include/plait_sched.h");
    let bits: Vec<_> = header.lines().filter(|line| line.starts_with("#define PLAIT_NEEDS_")).collect();
    let expected = Capabilities::EACH.iter().enumerate().map(|(bit, (name, _))| {
        format!("#define PLAIT_NEEDS_{} {}", name.replace('-', "_").to_uppercase(), 1 << bit)
    });
    assert_eq!(bits, expected.collect::<Vec<_>>());
}
