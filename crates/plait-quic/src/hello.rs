//! The opening of a path. The sender sends [`Hello`] on a QUIC stream, and the receiver answers
//! with [`Reply`] or closes the path. The files are described later, in
//! [records](crate::files::records). A Hello that offers [nothing](Offer::QUESTION) is answered,
//! but begins no transfer. A Hello that offers [streams](Offer::STREAMS) opens a path for streams.
//! Numbers are in network byte order.
//!
//! ```text
//! Hello  length 2 · secret 32 · session 16 · continues 1 bit, path 7 bits · paths 1 · segment 2
//!        · size 8 · identity 32 · name (the rest, UTF-8)
//! Reply  window 8
//! ```

use crate::error::Error;
use crate::identity::Secret;
use crate::names::{MAX_NAME, is_shown};
use crate::reader::Reader;
use crate::settings::{MAX_PATHS, MIN_SEGMENT, WINDOWS};

/// Bytes of a Hello without its name.
const FIXED: usize = 2 + 32 + 16 + 1 + 1 + 2 + 8 + 32;

/// Most bytes of a Hello.
pub const MAX_HELLO: usize = FIXED + MAX_NAME;

/// Bytes of a Reply.
pub const REPLY_BYTES: usize = 8;

/// Bit beside the path number: the session continues.
const CONTINUES: u8 = 0x80;

/// An offer of one file or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Name for display.
    pub name: String,
    /// Bytes in total, as far as known.
    pub size: u64,
    /// SHA-256 of the names, sizes and modification times: equal for equal files. A sender takes
    /// over from a silent sender with the same identity.
    pub identity: [u8; 32],
}

impl Offer {
    /// No file: asks whether the receiver would accept one.
    pub const QUESTION: Self = Self { name: String::new(), size: 0, identity: [0; 32] };

    /// No file: any number of streams, in both directions. No files have this SHA-256.
    pub const STREAMS: Self = Self { name: String::new(), size: 0, identity: [0xff; 32] };

    /// True if this is [`Offer::STREAMS`].
    #[must_use]
    pub fn is_streams(&self) -> bool {
        *self == Self::STREAMS
    }

    /// True if this is [`Offer::QUESTION`].
    #[must_use]
    pub fn is_question(&self) -> bool {
        *self == Self::QUESTION
    }
}

/// First message on a path.
#[derive(Clone, Debug)]
pub struct Hello {
    /// Secret of the client.
    pub secret: Secret,
    /// Random identifier that the paths of a session share.
    pub session: [u8; 16],
    /// Number of the path.
    pub path: u8,
    /// True if another path of the session was answered before. A receiver without that session was
    /// restarted.
    pub continues: bool,
    /// Number of paths so far. More may come later.
    pub paths: u8,
    /// Payload bytes of a full segment.
    pub segment: u16,
    /// The offer.
    pub offer: Offer,
}

impl Hello {
    /// True if `other` may come from another path of the same session.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        self.offer == other.offer && self.segment == other.segment && self.secret.agrees(&other.secret)
    }

    /// Encodes the Hello.
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
        bytes.extend(self.offer.identity);
        bytes.extend(name);
        bytes
    }

    /// Decodes a Hello at the beginning of a stream. Returns `None` while bytes are missing.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the bytes cannot become a Hello.
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Error> {
        const MESSAGE: &str = "greeting";
        const MALFORMED: Error = Error::Malformed(MESSAGE);
        let mut reader = Reader::new(bytes, MESSAGE);
        let Ok(length) = reader.u16().map(usize::from) else { return Ok(None) };
        if !(FIXED..=MAX_HELLO).contains(&length) || bytes.len() > length {
            return Err(MALFORMED);
        }
        if bytes.len() < length {
            return Ok(None);
        }
        let (secret, session) = (Secret(reader.array()?), reader.array()?);
        let (flags, paths) = (reader.u8()?, reader.u8()?);
        let (path, continues) = (flags & !CONTINUES, flags & CONTINUES != 0);
        let (segment, size, identity) = (reader.u16()?, reader.u64()?, reader.array()?);
        let name = String::from_utf8(reader.rest().to_vec()).map_err(|_| MALFORMED)?;
        let numbered = path < paths && usize::from(paths) <= MAX_PATHS;
        // QUIC's offsets have 62 bits.
        let offer = Offer { name, size, identity };
        let named = !offer.name.is_empty() && offer.name.chars().all(is_shown)
            || offer.is_question()
            || offer.is_streams();
        if !numbered || segment < MIN_SEGMENT || size >= 1 << 60 || !named {
            return Err(MALFORMED);
        }
        Ok(Some(Self { secret, session, path, continues, paths, segment, offer }))
    }
}

/// The answer: the receiver's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Most bytes that may be in flight or wait for missing data.
    pub window: u64,
}

impl Reply {
    /// Encodes the Reply.
    pub fn encode(self) -> [u8; REPLY_BYTES] {
        self.window.to_be_bytes()
    }

    /// Decodes a Reply at the beginning of a stream. Returns `None` while bytes are missing.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the window is not within [`WINDOWS`].
    pub fn decode(bytes: &[u8]) -> Result<Option<Self>, Error> {
        const MESSAGE: &str = "answer";
        let Ok(window) = Reader::new(bytes, MESSAGE).u64() else { return Ok(None) };
        if !WINDOWS.contains(&window) || bytes.len() > REPLY_BYTES {
            return Err(Error::Malformed(MESSAGE));
        }
        Ok(Some(Self { window }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let offer = Offer { name: "a b.bin".to_owned(), size: 1 << 40, identity: [7; 32] };
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
            let reply = Reply { window };
            assert_eq!(Reply::decode(&reply.encode()).expect("it is one"), Some(reply));
            assert_eq!(Reply::decode(&reply.encode()[..7]).expect("it may become one"), None);
        }
        assert!(Reply::decode(&[0xff; REPLY_BYTES]).is_err());
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
        let wrong: [fn(&mut Hello); 6] = [
            |hello| hello.offer.name = String::new(),
            |hello| hello.path = 2,
            |hello| (hello.path, hello.paths) = (0, 200),
            |hello| hello.segment = 3,
            |hello| hello.offer.size = 1 << 61,
            |hello| hello.offer.name = "a\u{1b}[2J".to_owned(),
        ];
        for (at, change) in wrong.into_iter().enumerate() {
            let mut hello = hello();
            change(&mut hello);
            assert!(Hello::decode(&hello.encode()).is_err(), "{at}");
        }
    }
}
