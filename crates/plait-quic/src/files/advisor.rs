//! Simulations of schedulers during a transfer, on a separate thread and one at a time.

use crate::auto::{Answer, Asker, Auto, Question, answer};
use crate::pilot::Pilot;
use crate::settings::Settings;
use plait_sched::Builtin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

/// Runs a simulation on a thread. The thread ends with its answer, or when the advisor is dropped.
#[derive(Debug, Default)]
pub struct Advisor {
    running: Option<Receiver<Option<Answer>>>,
    stop: Arc<AtomicBool>,
}

impl Asker for Advisor {
    fn ask(&mut self, question: Question) {
        let (sender, running) = mpsc::channel();
        let stop = Arc::clone(&self.stop);
        let work = move || {
            let found = answer(question, &mut || stop.load(Ordering::Relaxed));
            // The advisor may be gone already.
            let _ = sender.send(found);
        };
        // If the system starts no thread, the channel closes, and there is no answer.
        let _ = thread::Builder::new().name("plait-auto".to_owned()).spawn(work);
        self.running = Some(running);
    }

    fn answered(&mut self) -> Option<Option<Answer>> {
        let found = match self.running.as_ref()?.try_recv() {
            Ok(found) => found,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => None,
        };
        self.running = None;
        Some(found)
    }
}

impl Drop for Advisor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Returns the pilot of `--scheduler auto`, for a session with these settings.
pub fn pilot(settings: Settings) -> Box<dyn Pilot<Builtin>> {
    Box::new(Auto::new(settings, Advisor::default()))
}
