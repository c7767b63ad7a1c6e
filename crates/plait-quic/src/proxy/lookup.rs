//! Name resolution on threads, because the system's resolver blocks.

use super::Target;
use crate::files::sockets::FIRST_OTHER;
use mio::{Registry, Token, Waker};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, mpsc};

/// Largest number of concurrent threads. Further lookups are refused.
const THREADS: usize = 64;

type Resolved<K> = (K, Vec<SocketAddr>);

/// Lookups, each identified by a key.
pub(super) struct Lookups<K> {
    sender: mpsc::Sender<Resolved<K>>,
    answers: mpsc::Receiver<Resolved<K>>,
    waker: Arc<Waker>,
    running: usize,
}

impl<K: Send + 'static> Lookups<K> {
    pub(super) fn new(registry: &Registry) -> io::Result<Self> {
        let (sender, answers) = mpsc::channel();
        Ok(Self { sender, answers, waker: Arc::new(Waker::new(registry, Token(FIRST_OTHER))?), running: 0 })
    }

    /// Starts the lookup of a target; [`Lookups::next`] returns its result. Returns false if too
    /// many lookups are running.
    pub(super) fn begin(&mut self, key: K, target: &Target) -> bool {
        if let Ok(address) = target.host.parse::<IpAddr>() {
            let _ = self.sender.send((key, vec![SocketAddr::new(address, target.port)]));
            let _ = self.waker.wake();
            self.running += 1;
            return true;
        }
        if self.running >= THREADS {
            return false;
        }
        let (sender, waker, target) = (self.sender.clone(), self.waker.clone(), target.clone());
        let looked_up = std::thread::Builder::new().spawn(move || {
            let found = (target.host.as_str(), target.port).to_socket_addrs();
            let _ = sender.send((key, found.map(Iterator::collect).unwrap_or_default()));
            let _ = waker.wake();
        });
        self.running += usize::from(looked_up.is_ok());
        looked_up.is_ok()
    }

    /// Returns the next result. Its list of addresses is empty if the lookup failed.
    pub(super) fn next(&mut self) -> Option<Resolved<K>> {
        let answer = self.answers.try_recv().ok()?;
        self.running -= 1;
        Some(answer)
    }
}
