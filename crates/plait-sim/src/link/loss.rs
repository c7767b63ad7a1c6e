//! Losses on the wire, drawn once per accepted packet, in order, from the link's own stream.

use crate::random::{PARTS_PER_BILLION, RandomStream};

/// The losses of a link. Probabilities are in parts per billion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Loss {
    /// No losses.
    #[default]
    None,
    /// Every packet with the same probability, independently.
    Bernoulli {
        /// The probability of a loss.
        share: u32,
    },
    /// Bursts: a Markov chain of two states (Gilbert 1960, Elliott 1963). A packet is lost with the
    /// probability of the current state; then the state may change. The chain starts in the good
    /// state.
    GilbertElliott {
        /// Good → bad, per packet (p).
        to_bad: u32,
        /// Bad → good, per packet (r). The mean burst is 1/r packets long.
        to_good: u32,
        /// The probability of a loss in the good state (1 − k).
        good_loss: u32,
        /// The probability of a loss in the bad state (1 − h).
        bad_loss: u32,
    },
}

impl Loss {
    /// The long-run share of lost packets.
    pub fn mean(self) -> f64 {
        let share = |parts: u32| f64::from(parts) / f64::from(PARTS_PER_BILLION);
        match self {
            Self::None => 0.0,
            Self::Bernoulli { share: parts } => share(parts),
            Self::GilbertElliott { to_bad: 0, good_loss, .. } => share(good_loss),
            Self::GilbertElliott { to_bad, to_good, good_loss, bad_loss } => {
                let (p, r) = (share(to_bad), share(to_good));
                (r * share(good_loss) + p * share(bad_loss)) / (p + r)
            }
        }
    }
}

/// The losses of one link, packet by packet.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    loss: Loss,
    stream: RandomStream,
    bad: bool,
}

impl Losses {
    pub(crate) fn new(loss: Loss, seed: u64, link: &str) -> Self {
        Self { loss, stream: RandomStream::new(seed, &format!("{link}/loss")), bad: false }
    }

    /// Replaces the model. A link with changing losses draws a number in every state, also in one
    /// without losses: later losses then do not depend on earlier ones.
    pub(super) fn become_those_of(&mut self, loss: Loss) {
        self.loss = if loss == Loss::None { Loss::Bernoulli { share: 0 } } else { loss };
    }

    /// Whether the next packet is lost.
    pub(crate) fn next(&mut self) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Bernoulli { share } => self.stream.chance(share),
            Loss::GilbertElliott { to_bad, to_good, good_loss, bad_loss } => {
                let lost = self.stream.chance(if self.bad { bad_loss } else { good_loss });
                if self.stream.chance(if self.bad { to_good } else { to_bad }) {
                    self.bad = !self.bad;
                }
                lost
            }
        }
    }
}
