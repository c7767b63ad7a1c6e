//! SHA-256 of the first bytes of files, computed during the transfer: small files in line, large
//! files on a thread.

use crate::source::Source;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc;

/// Files up to this size are hashed in line, larger ones on a thread.
const SHORT: u64 = 4 << 20;

/// Bytes that one [`Hasher::poll`] hashes in line before it returns to its caller.
const SHARE: u64 = 16 << 20;

/// A source that any thread may read.
pub(crate) type Content = Box<dyn Source + Send>;

/// Computes hashes one after the other.
#[derive(Default)]
pub(crate) struct Hasher {
    queue: VecDeque<(u32, u64, Content)>,
    /// The hash that a thread computes now.
    running: Option<(u32, mpsc::Receiver<io::Result<Sha256>>)>,
}

impl Hasher {
    /// Requests the hash of the first `bytes`. `number` identifies the request.
    pub(crate) fn request(&mut self, number: u32, bytes: u64, content: Content) {
        self.queue.push_back((number, bytes, content));
    }

    /// Returns the completed hashes with their numbers.
    pub(crate) fn poll(&mut self) -> Vec<(u32, io::Result<Sha256>)> {
        let mut done = Vec::new();
        if let Some((number, answers)) = &self.running {
            let answer = match answers.try_recv() {
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => Some(Err(io::Error::other("it could not be read"))),
                Ok(answer) => Some(answer),
            };
            if let Some(answer) = answer {
                done.push((*number, answer));
                self.running = None;
            }
        }
        let mut share = SHARE;
        while let Some((_, bytes, _)) = self.queue.front() {
            if *bytes > SHORT && self.running.is_some() || share == 0 {
                break;
            }
            let Some((number, bytes, mut content)) = self.queue.pop_front() else { break };
            if bytes <= SHORT {
                share = share.saturating_sub(bytes);
                done.push((number, hash(&mut content, bytes)));
                continue;
            }
            let (answers, running) = mpsc::channel();
            let work = move || drop(answers.send(hash(&mut content, bytes)));
            // If the system starts no thread, the channel closes, and the next poll reports an
            // error.
            let _ = std::thread::Builder::new().name("plait-hash".to_owned()).spawn(work);
            self.running = Some((number, running));
        }
        done
    }

    /// Whether [`Hasher::poll`] has work to do at once.
    pub(crate) fn is_due(&self) -> bool {
        self.queue.front().is_some_and(|(_, bytes, _)| *bytes <= SHORT || self.running.is_none())
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
