//! The values of a link's keys: queue, loss, copies, jitter, outages, trace.

use std::sync::Arc;

use plait_sched::units::{UnitErrorKind, parse_bytes, parse_duration, parse_packets};
use plait_sched::{Duration, Time, UnitError};

use super::keys::{
    DUPLICATE_TABLE, JITTER_TABLE, LOSS_BERNOULLI, LOSS_GILBERT_ELLIOTT, ONE_BDP, OUTAGE, OUTAGES_PERIODIC,
};
use super::reader::{Item, MAX_BYTES, MAX_DURATION, Reader, Word, reason};
use super::text;
use crate::error::ScenarioError;
use crate::link::{Duplicate, Jitter, JitterDistribution, Loss, Outage, Outages, QueueLimit, Trace};
use crate::random::PARTS_PER_BILLION;

/// A queue's limit before the path is known.
#[derive(Clone, Copy)]
pub(super) enum QueueChoice {
    Limit(QueueLimit),
    BandwidthDelayProduct,
}

/// Largest number of packets in a queue.
const MAX_PACKETS: u64 = 1_000_000_000_000;

/// Largest number of outages in a list.
const MAX_OUTAGES: usize = 100_000;

pub(super) fn trace(item: &Item<'_>) -> Result<Arc<Trace>, ScenarioError> {
    let name = item.name()?;
    Trace::load(&name, &item.source.base.join(&name)).map(Arc::new).map_err(|error| match error {
        ScenarioError::Trace { line: Some(line), rule, .. } => item.wrong(format!("line {line}: {rule}")),
        ScenarioError::Trace { line: None, rule, .. } => item.wrong(rule),
        other => other,
    })
}

pub(super) fn queue(item: &Item<'_>, packet: u32) -> Result<QueueChoice, ScenarioError> {
    let text = item.text()?;
    let limit = match text {
        ONE_BDP => return Ok(QueueChoice::BandwidthDelayProduct),
        "infinite" => return Ok(QueueChoice::Limit(QueueLimit::Infinite)),
        text => {
            // The unit selects the kind of limit. If the number is wrong in its unit, the parser
            // that knows the unit reports it.
            let attempts = [
                parse_packets(text).map(QueueLimit::Packets),
                parse_bytes(text).map(QueueLimit::Bytes),
                parse_duration(text).map(QueueLimit::Wait),
            ];
            let knows_unit = |attempt: &Result<QueueLimit, UnitError>| match attempt {
                Ok(_) => true,
                Err(error) => matches!(
                    error.kind,
                    UnitErrorKind::NotWhole | UnitErrorKind::TooSmall | UnitErrorKind::TooLarge
                ),
            };
            match attempts.into_iter().find(knows_unit) {
                Some(Ok(limit)) => limit,
                Some(Err(error)) => return Err(item.wrong(reason(&error))),
                None => return Err(item.wrong(format!("expected {}", item.kind))),
            }
        }
    };
    let (fits, range) = match limit {
        QueueLimit::Infinite => (true, String::new()),
        QueueLimit::Packets(limit) => {
            ((1..=MAX_PACKETS).contains(&limit), format!("must be from 1p to {}", text::packets(MAX_PACKETS)))
        }
        QueueLimit::Bytes(limit) => (
            (u64::from(packet)..=MAX_BYTES).contains(&limit),
            format!(
                "must be from {}, one packet, to {}",
                text::bytes(u64::from(packet)),
                text::bytes(MAX_BYTES)
            ),
        ),
        QueueLimit::Wait(limit) => (
            !limit.is_zero() && limit <= MAX_DURATION,
            format!("must be from 1ns to {}", text::duration(MAX_DURATION)),
        ),
    };
    if fits { Ok(QueueChoice::Limit(limit)) } else { Err(item.wrong(range)) }
}

/// The models of loss, before their keys are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LossModel {
    Bernoulli,
    GilbertElliott,
}

impl Word for LossModel {
    const WORDS: &'static [(&'static str, Self)] =
        &[("bernoulli", Self::Bernoulli), ("gilbert-elliott", Self::GilbertElliott)];
}

impl Word for JitterDistribution {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("uniform", Self::Uniform),
        ("normal", Self::Normal),
        ("pareto", Self::Pareto),
        ("paretonormal", Self::ParetoNormal),
    ];
}

/// The probability that a packet repeats the outcome of its predecessor. It is less than 100%:
/// otherwise the first outcome would be repeated for ever.
fn correlation(reader: &mut Reader<'_>) -> Result<u32, ScenarioError> {
    let item = reader.need("correlation")?;
    let correlation = item.share()?;
    if correlation == PARTS_PER_BILLION {
        return Err(item.wrong("must be less than 100%, or nothing would ever change"));
    }
    Ok(correlation)
}

/// A share of `whole`, rounded to the nearest.
fn part(share: u32, whole: u32) -> u32 {
    let parts = u64::from(share) * u64::from(whole) + u64::from(PARTS_PER_BILLION / 2);
    (parts / u64::from(PARTS_PER_BILLION)) as u32
}

/// Losses with a probability of `share`, where each packet repeats the outcome of its predecessor
/// with a probability of `correlation`. The state of the chain is the outcome.
fn correlated(share: u32, correlation: u32) -> Loss {
    let anew = PARTS_PER_BILLION - correlation;
    Loss::GilbertElliott {
        to_bad: part(share, anew),
        to_good: part(PARTS_PER_BILLION - share, anew),
        good_loss: 0,
        bad_loss: PARTS_PER_BILLION,
    }
}

/// Reads copies. `None` is no copies, with which a direction can override its path.
pub(super) fn duplicate(item: Item<'_>) -> Result<Option<Duplicate>, ScenarioError> {
    let duplicate = if item.value.is_str() {
        Duplicate { share: item.share()?, correlation: 0 }
    } else {
        let mut reader = item.reader(&DUPLICATE_TABLE)?;
        let share = reader.need("share")?.share()?;
        let duplicate = Duplicate { share, correlation: correlation(&mut reader)? };
        reader.finish();
        duplicate
    };
    Ok(Some(duplicate).filter(|duplicate| duplicate.share > 0))
}

pub(super) fn loss(item: Item<'_>) -> Result<Loss, ScenarioError> {
    let bernoulli = |share| if share == 0 { Loss::None } else { Loss::Bernoulli { share } };
    if item.value.is_str() {
        return item.share().map(bernoulli);
    }
    let model = item.variant(&LOSS_BERNOULLI, "model")?;
    let mut reader = item.reader(match model {
        LossModel::Bernoulli => &LOSS_BERNOULLI,
        LossModel::GilbertElliott => &LOSS_GILBERT_ELLIOTT,
    })?;
    let _: LossModel = reader.need("model")?.word()?;
    let loss = match model {
        LossModel::Bernoulli => {
            let share_item = reader.need("share")?;
            match (share_item.share()?, correlation(&mut reader)?) {
                (share, 0) => bernoulli(share),
                (0, _) => Loss::None,
                (PARTS_PER_BILLION, _) => {
                    return Err(share_item.wrong("is of every packet: leave the correlation out"));
                }
                (share, correlation) => correlated(share, correlation),
            }
        }
        LossModel::GilbertElliott => {
            let to_good_item = reader.need("to_good")?;
            let to_good = to_good_item.share()?;
            if to_good == 0 {
                return Err(to_good_item.wrong("must be more than 0%, or the bad state would last for ever"));
            }
            Loss::GilbertElliott {
                to_bad: reader.need("to_bad")?.share()?,
                to_good,
                good_loss: reader.need("good_loss")?.share()?,
                bad_loss: reader.need("bad_loss")?.share()?,
            }
        }
    };
    reader.finish();
    Ok(loss)
}

/// Reads jitter. `None` is no jitter, with which a direction can override its path.
pub(super) fn jitter(item: Item<'_>) -> Result<Option<Jitter>, ScenarioError> {
    let range = Duration::ZERO..=MAX_DURATION;
    let jitter = if item.value.is_str() {
        Jitter { amount: item.duration(range)?, ..Jitter::default() }
    } else {
        let mut reader = item.reader(&JITTER_TABLE)?;
        let amount = reader.need("amount")?.duration(range)?;
        let jitter = Jitter {
            amount,
            distribution: reader.need("distribution")?.word()?,
            correlation: correlation(&mut reader)?,
            reorder: reader.need("reorder")?.boolean()?,
        };
        reader.finish();
        jitter
    };
    Ok(Some(jitter).filter(|jitter| !jitter.amount.is_zero()))
}

pub(super) fn outages(item: Item<'_>) -> Result<Outages, ScenarioError> {
    if item.value.is_table() {
        return periodic(item.reader(&OUTAGES_PERIODIC)?);
    }
    if item.value.as_array().is_some_and(|list| list.len() > MAX_OUTAGES) {
        return Err(item.wrong(format!("at most {MAX_OUTAGES} outages can be listed")));
    }
    let mut outages: Vec<Outage> = Vec::new();
    for item in item.list("a table such as { from = \"10s\", to = \"12s\" }")? {
        let mut reader = item.reader(&OUTAGE)?;
        let from_item = reader.need("from")?;
        let from = Time::ZERO + from_item.duration(Duration::ZERO..=MAX_DURATION)?;
        let to_item = reader.need("to")?;
        let to = Time::ZERO + to_item.duration(Duration::ZERO..=MAX_DURATION)?;
        if to <= from {
            return Err(to_item.wrong("must be later than from"));
        }
        if outages.last().is_some_and(|previous| from < previous.to) {
            return Err(from_item.wrong("begins before the previous outage ends: list them in order, apart"));
        }
        reader.finish();
        outages.push(Outage { from, to });
    }
    Ok(Outages::List(outages))
}

fn periodic(mut reader: Reader<'_>) -> Result<Outages, ScenarioError> {
    let range = Duration::from_nanos(1)..=MAX_DURATION;
    let every = reader.need("every")?.duration(range.clone())?;
    let length_item = reader.need("length")?;
    let length = length_item.duration(range)?;
    if length >= every {
        return Err(length_item.wrong(format!("must be less than every, {}", text::duration(every))));
    }
    let first = match reader.take("first") {
        Some(item) => item.duration(Duration::ZERO..=MAX_DURATION)?,
        None => every,
    };
    reader.finish();
    Ok(Outages::Periodic { every, length, first: Time::ZERO + first })
}

/// The smallest limit, in packets, of a queue that is sized by its link: the initial window of RFC
/// 6928, the default of most transports. With 2 packets, a slow link carries half of its rate at
/// worst. With 10, every transport fills nine tenths of any link
/// (`tests/it/analytic/slow_links.rs`).
const FEWEST_PACKETS: u64 = 10;

/// Rate times round-trip time, in packets, rounded up, at least [`FEWEST_PACKETS`].
pub(super) fn bandwidth_delay_product(rate: u64, rtt: Duration, packet: u32) -> u64 {
    let bits = u128::from(rate) * u128::from(rtt.as_nanos());
    let packets = bits.div_ceil(u128::from(packet) * 8 * 1_000_000_000);
    u64::try_from(packets).unwrap_or(u64::MAX).clamp(FEWEST_PACKETS, MAX_PACKETS)
}

const _: () =
    assert!(PARTS_PER_BILLION == plait_sched::units::WHOLE_PPB, "shares are probabilities as they are");
