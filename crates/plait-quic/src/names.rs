//! Checks and display of file names.

/// Most bytes of a name, as in file systems.
pub const MAX_NAME: usize = 255;

/// Prefix of the names of incomplete files.
pub const PART: &str = ".plait-";

/// Returns the reason why a file in a folder cannot have this name; `None` if it can. Names consist
/// of bytes, of which most are UTF-8.
#[must_use]
pub fn invalid_name(name: &[u8]) -> Option<String> {
    let code = |character: char| format!("the character U+{:04X}", u32::from(character));
    match name {
        b"" | b"." | b".." => Some("it is no file's".to_owned()),
        _ if name.len() > MAX_NAME => Some(format!("it has {} bytes, more than {MAX_NAME}", name.len())),
        _ if name.starts_with(PART.as_bytes()) => {
            Some(format!("it begins with {PART}, as parts of files do"))
        }
        _ => name
            .utf8_chunks()
            .flat_map(|chunk| chunk.valid().chars())
            .find(|one| *one == '/' || !is_shown(*one))
            .map(code),
    }
}

/// Escapes all characters that a terminal obeys or that disguise the text.
#[must_use]
pub fn shown(text: &str) -> String {
    let escaped = |one: char| if is_shown(one) { one.to_string() } else { one.escape_unicode().to_string() };
    text.chars().map(escaped).collect()
}

/// Escapes characters of a file name or path that a terminal obeys or that disguise the text.
#[must_use]
pub fn shown_name(name: &[u8]) -> String {
    shown(&String::from_utf8_lossy(name))
}

/// True if the character is neither a control character nor one that changes the text direction or
/// breaks lines (Unicode Standard Annex 9; UTS 39 §3.1 refuses them in identifiers). With such
/// characters `exe.txt` may be the end of `txt.exe`.
#[must_use]
pub fn is_shown(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_file_system_can_hold_are_taken() {
        for name in [
            "2024-05-01T12:00:00.log",
            "what?.txt",
            "q\"q",
            "a*b",
            "x<y>",
            "a|b",
            "a\\b",
            ".bashrc",
            "-rf",
            "CON",
            "…",
            "e ",
        ] {
            assert_eq!(invalid_name(name.as_bytes()), None, "{name}");
        }
        assert_eq!(invalid_name(b"caf\xe9.txt"), None, "Latin-1");
        assert_eq!(invalid_name(&[b'a'; 255]), None);
    }

    #[test]
    fn others_are_refused_with_a_reason() {
        let wrong: [(&[u8], &str); 10] = [
            (b"", "no file's"),
            (b"..", "no file's"),
            (&[b'a'; 256], "256 bytes"),
            (b".plait-x", "begins with"),
            (b"a/b", "U+002F"),
            (b"a\x1b[2J", "U+001B"),
            (b"\xff\x07", "U+0007"),
            (b"a\0", "U+0000"),
            ("a\u{9b}31m".as_bytes(), "U+009B"),
            ("e\u{202e}txt".as_bytes(), "U+202E"),
        ];
        for (name, why) in wrong {
            assert!(invalid_name(name).is_some_and(|found| found.contains(why)), "{why}");
        }
    }

    #[test]
    fn what_is_shown_commands_no_terminal() {
        assert_eq!(shown("caf\u{e9} \u{1b}[2J\u{202e}\n"), "caf\u{e9} \\u{1b}[2J\\u{202e}\\u{a}");
        assert_eq!(shown_name(b"\xff"), "\u{fffd}");
    }
}
