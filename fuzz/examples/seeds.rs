//! Writes every target's seeds into a folder of its name, and prints the targets' names:
//! `cargo run -p plait-fuzz --example seeds -- FOLDER`.

use plait_fuzz::TARGETS;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "corpus".to_owned()));
    for target in TARGETS {
        let folder = folder.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:02}")), seed)?;
        }
        println!("{}", target.name);
    }
    Ok(())
}
