//! What the ends say around the data. On every path the sender says [`Hello`] on a QUIC stream, and the receiver answers [`Reply`] or closes the path; at the end
//! the receiver says its [`Verdict`], over all paths, as the stream that it sends. A Hello that offers [nothing](Offer::QUESTION) is answered, and no transfer
//! begins; one that offers [streams](Offer::STREAMS) opens a path for these. Numbers are in the network's order.
//!
//! ```text
//! Hello    length 2 · secret 32 · session 16 · continues 1 bit, path 7 bits · paths 1 · segment 2 · size 8 · SHA-256 32 · name (the rest, UTF-8)
//! Reply    window 8 · offset 8
//! Verdict  0 kept, 1 differs, 2 not kept: 1 · SHA-256 of what arrived 32
//! ```

use crate::error::Error;
use crate::identity::Secret;
use crate::settings::{LEAST_SEGMENT, MAX_LINKS, WINDOWS};

/// Bytes of a name at most, as file systems have it.
pub const MAX_NAME: usize = 255;

/// Bytes of a Hello but for its name.
const FIXED: usize = 2 + 32 + 16 + 1 + 1 + 2 + 8 + 32;

/// Bytes of a Hello at most.
pub const MAX_HELLO: usize = FIXED + MAX_NAME;

/// Bytes of a reply.
pub const REPLY_BYTES: usize = 16;

/// The bit beside a path's number: the session continues.
const CONTINUES: u8 = 0x80;

/// Bytes of a verdict.
pub const VERDICT_BYTES: usize = 33;

/// A file that is offered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Its name, without a folder.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its content.
    pub digest: [u8; 32],
}

impl Offer {
    /// No file: the question whether one would be taken.
    pub const QUESTION: Self = Self { name: String::new(), size: 0, digest: [0; 32] };

    /// No file: streams, both ways, as many as there are. No content has this SHA-256.
    pub const STREAMS: Self = Self { name: String::new(), size: 0, digest: [0xff; 32] };

    /// Whether it is of these.
    #[must_use]
    pub fn is_streams(&self) -> bool {
        *self == Self::STREAMS
    }

    /// Whether it is one.
    #[must_use]
    pub fn is_question(&self) -> bool {
        *self == Self::QUESTION
    }
}

/// What opens a path.
#[derive(Clone, Debug)]
pub struct Hello {
    /// What the sender knows.
    pub secret: Secret,
    /// Which paths belong together: random.
    pub session: [u8; 16],
    /// The path's number.
    pub path: u8,
    /// Whether another path of the session was answered already. An end without that session was started anew.
    pub continues: bool,
    /// How many there are so far: more may come later.
    pub paths: u8,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// What is sent.
    pub offer: Offer,
}

impl Hello {
    /// Whether another path of the same session may say this.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.offer == other.offer && self.segment == other.segment && self.secret.agrees(&other.secret)
    }

    /// As bytes.
    ///
    /// # Panics
    /// If the name is longer than [`MAX_NAME`].
    pub fn encode(&self) -> Vec<u8> {
        let name = self.offer.name.as_bytes();
        assert!(name.len() <= MAX_NAME, "names are checked before they are offered");
        let length = (FIXED + name.len()) as u16;
        let mut bytes = Vec::with_capacity(length.into());
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.secret.0);
        bytes.extend(self.session);
        bytes.extend([self.path | if self.continues { CONTINUES } else { 0 }, self.paths]);
        bytes.extend(self.segment.to_be_bytes());
        bytes.extend(self.offer.size.to_be_bytes());
        bytes.extend(self.offer.digest);
        bytes.extend(name);
        bytes
    }

    /// From the beginning of a stream: `None` as long as it is not all there.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none, whatever may follow.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Error> {
        const MALFORMED: Error = Error::Malformed("greeting");
        let mut reader = Reader { bytes };
        let Some(length) = reader.take().map(u16::from_be_bytes).map(usize::from) else { return Ok(None) };
        if !(FIXED..=MAX_HELLO).contains(&length) || bytes.len() > length {
            return Err(MALFORMED);
        }
        if bytes.len() < length {
            return Ok(None);
        }
        let secret = Secret(reader.take().ok_or(MALFORMED)?);
        let session = reader.take().ok_or(MALFORMED)?;
        let [said, paths] = reader.take().ok_or(MALFORMED)?;
        let (path, continues) = (said & !CONTINUES, said & CONTINUES != 0);
        let segment = u16::from_be_bytes(reader.take().ok_or(MALFORMED)?);
        let size = u64::from_be_bytes(reader.take().ok_or(MALFORMED)?);
        let digest = reader.take().ok_or(MALFORMED)?;
        let name = String::from_utf8(reader.bytes.to_vec()).map_err(|_| MALFORMED)?;
        let numbered = path < paths && usize::from(paths) <= MAX_LINKS;
        // QUIC's offsets have 62 bits.
        let offer = Offer { name, size, digest };
        let named = is_plain(&offer.name) || offer.is_question() || offer.is_streams();
        if !numbered || segment < LEAST_SEGMENT || size >= 1 << 60 || !named {
            return Err(MALFORMED);
        }
        Ok(Some(Self { secret, session, path, continues, paths, segment, offer }))
    }
}

/// Whether a name names a file in the folder in which it is kept: no folder, no file of [`PART`], nothing that a terminal
/// obeys, nothing that shows another name.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    trouble(name).is_none()
}

/// Why a name cannot be a file's; `None` if it can.
#[must_use]
pub fn trouble(name: &str) -> Option<String> {
    let code = |character: char| format!("the character U+{:04X}", u32::from(character));
    match name {
        "" | "." | ".." => Some("it is no file's".to_owned()),
        _ if name.len() > MAX_NAME => Some(format!("it has {} bytes, more than {MAX_NAME}", name.len())),
        _ if name.starts_with(PART) => Some(format!("it begins with {PART}, as parts of files do")),
        _ => name.chars().find(|one| *one == '/' || one.is_control() || is_invisible(*one)).map(code),
    }
}

/// Begins the names of files that are not whole yet.
pub const PART: &str = ".plait-";

/// Characters that change the direction of writing or break lines (Unicode Standard Annex 9; UTS 39 §3.1 refuses them
/// in identifiers): `exe.txt` may be the end of `txt.exe`.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The answer: the receiver's window, and where the file goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// How many bytes may be on their way, and wait for what is missing.
    pub window: u64,
    /// How many bytes of the file the receiver has: what is sent begins behind them.
    pub offset: u64,
}

impl Reply {
    /// As bytes.
    pub fn encode(self) -> [u8; REPLY_BYTES] {
        let mut bytes = [0; REPLY_BYTES];
        bytes[..8].copy_from_slice(&self.window.to_be_bytes());
        bytes[8..].copy_from_slice(&self.offset.to_be_bytes());
        bytes
    }

    /// From the beginning of a stream: `None` as long as it is not all there.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the window is not within [`WINDOWS`], or the offset is beyond the `size` that was offered.
    pub fn decode(bytes: &[u8], size: u64) -> Result<Option<Self>, Error> {
        let mut reader = Reader { bytes };
        let (Some(window), Some(offset)) = (reader.take(), reader.take()) else { return Ok(None) };
        let [window, offset] = [window, offset].map(u64::from_be_bytes);
        if !WINDOWS.contains(&window) || offset > size || bytes.len() > REPLY_BYTES {
            return Err(Error::Malformed("answer"));
        }
        Ok(Some(Self { window, offset }))
    }
}

/// What became of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is there, and is what was offered.
    Kept,
    /// What arrived has another SHA-256.
    Differs,
    /// It could not be written.
    NotKept,
}

impl Verdict {
    /// As bytes, with the SHA-256 of what arrived.
    pub fn encode(self, digest: &[u8; 32]) -> [u8; VERDICT_BYTES] {
        let mut bytes = [0; VERDICT_BYTES];
        bytes[0] = self as u8;
        bytes[1..].copy_from_slice(digest);
        bytes
    }

    /// What is said of the file that has this SHA-256.
    ///
    /// # Errors
    /// [`Error::Malformed`] if it is none.
    pub fn decode(bytes: &[u8], offered: &[u8; 32]) -> Result<Self, Error> {
        let Some((&said, digest)) = bytes.split_first().filter(|_| bytes.len() == VERDICT_BYTES) else {
            return Err(Error::Malformed("verdict"));
        };
        match said {
            0 if digest == offered => Ok(Self::Kept),
            0 | 1 => Ok(Self::Differs),
            2 => Ok(Self::NotKept),
            _ => Err(Error::Malformed("verdict")),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let offer = Offer { name: "a b.bin".to_owned(), size: 1 << 40, digest: [7; 32] };
        let (secret, session) = (Secret([1; 32]), [2; 16]);
        Hello { secret, session, path: 1, continues: true, paths: 2, segment: 1_111, offer }
    }

    #[test]
    fn what_was_written_is_read_and_what_is_cut_is_waited_for() {
        let bytes = hello().encode();
        let read = Hello::decode(&bytes).expect("it is one").expect("it is whole");
        assert_eq!(read.encode(), bytes);
        for length in 0..bytes.len() {
            assert!(Hello::decode(&bytes[..length]).expect("it may become one").is_none(), "{length}");
        }
        assert!(Hello::decode(&[&bytes[..], &[0]].concat()).is_err(), "nothing follows");
        for window in [*WINDOWS.start(), *WINDOWS.end()] {
            let reply = Reply { window, offset: 7 };
            assert_eq!(Reply::decode(&reply.encode(), 7).expect("it is one"), Some(reply));
            assert!(Reply::decode(&reply.encode(), 6).is_err(), "beyond the end");
            assert_eq!(Reply::decode(&reply.encode()[..15], 7).expect("it may become one"), None);
        }
        assert!(Reply::decode(&[0xff; REPLY_BYTES], u64::MAX).is_err());
    }

    #[test]
    fn a_question_offers_nothing() {
        let asks = Hello { offer: Offer::QUESTION, ..hello() };
        let read = Hello::decode(&asks.encode()).expect("it is one").expect("it is whole");
        assert!(read.offer.is_question() && !hello().offer.is_question());
        let streams = Hello { offer: Offer::STREAMS, ..hello() };
        let read = Hello::decode(&streams.encode()).expect("it is one").expect("it is whole");
        assert!(read.offer.is_streams() && !read.offer.is_question());
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let wrong: [fn(&mut Hello); 8] = [
            |hello| hello.offer.name = String::new(),
            |hello| hello.path = 2,
            |hello| (hello.path, hello.paths) = (0, 200),
            |hello| hello.segment = 3,
            |hello| hello.offer.size = 1 << 61,
            |hello| hello.offer.name = "../etc/passwd".to_owned(),
            |hello| hello.offer.name = ".bashrc".to_owned(),
            |hello| hello.offer.name = "a\u{1b}[2J".to_owned(),
        ];
        for (at, change) in wrong.into_iter().enumerate() {
            let mut hello = hello();
            change(&mut hello);
            assert!(Hello::decode(&hello.encode()).is_err(), "{at}");
        }
    }

    #[test]
    fn a_file_is_kept_only_with_the_sha256_that_was_offered() {
        let verdict = |said: Verdict, digest: [u8; 32]| Verdict::decode(&said.encode(&digest), &[7; 32]).ok();
        assert_eq!(verdict(Verdict::Kept, [7; 32]), Some(Verdict::Kept));
        assert_eq!(verdict(Verdict::Kept, [8; 32]), Some(Verdict::Differs));
        assert_eq!(verdict(Verdict::NotKept, [7; 32]), Some(Verdict::NotKept));
        assert!(Verdict::decode(&[3; VERDICT_BYTES], &[3; 32]).is_err());
        assert!(Verdict::decode(&[], &[3; 32]).is_err());
    }
}
