//! SHA-256 of the first bytes of files, beside everything else: small ones in line, large ones on a thread.

use crate::source::Source;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc;

/// Bytes that are read at once in line; more by a thread.
const SHORT: u64 = 4 << 20;

/// Bytes that are hashed in line before the caller gets its turn again.
const SHARE: u64 = 16 << 20;

/// A source to read on any thread.
pub(crate) type Content = Box<dyn Source + Send>;

/// Makes hashes one after the other.
#[derive(Default)]
pub(crate) struct Hasher {
    waiting: VecDeque<(u32, u64, Content)>,
    /// The one on a thread.
    under_way: Option<(u32, mpsc::Receiver<io::Result<Sha256>>)>,
}

impl Hasher {
    /// Asks for the hash of the first `bytes`, under a number.
    pub(crate) fn ask(&mut self, number: u32, bytes: u64, content: Content) {
        self.waiting.push_back((number, bytes, content));
    }

    /// The hashes that are done, with their numbers.
    pub(crate) fn poll(&mut self) -> Vec<(u32, io::Result<Sha256>)> {
        let mut done = Vec::new();
        if let Some((number, answers)) = &self.under_way {
            let answer = match answers.try_recv() {
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => Some(Err(io::Error::other("it could not be read"))),
                Ok(answer) => Some(answer),
            };
            if let Some(answer) = answer {
                done.push((*number, answer));
                self.under_way = None;
            }
        }
        let mut share = SHARE;
        while let Some((_, bytes, _)) = self.waiting.front() {
            if *bytes > SHORT && self.under_way.is_some() || share == 0 {
                break;
            }
            let Some((number, bytes, mut content)) = self.waiting.pop_front() else { break };
            if bytes <= SHORT {
                share = share.saturating_sub(bytes);
                done.push((number, hash(&mut content, bytes)));
                continue;
            }
            let (answers, under_way) = mpsc::channel();
            let work = move || drop(answers.send(hash(&mut content, bytes)));
            // A system that has no thread for it drops the channel.
            let _ = std::thread::Builder::new().name("plait-hash".to_owned()).spawn(work);
            self.under_way = Some((number, under_way));
        }
        done
    }

    /// Whether [`Hasher::poll`] has work to do at once.
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.front().is_some_and(|(_, bytes, _)| *bytes <= SHORT || self.under_way.is_none())
    }
}

fn hash(content: &mut Content, bytes: u64) -> io::Result<Sha256> {
    let (mut hash, mut at) = (Sha256::new(), 0);
    let mut buffer = vec![0; usize::try_from(bytes).map_or(1 << 20, |bytes| bytes.min(1 << 20))];
    while at < bytes {
        let count = usize::try_from(bytes - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        content.read_at(at, &mut buffer[..count])?;
        hash.update(&buffer[..count]);
        at += count as u64;
    }
    Ok(hash)
}
