//! Options for paths and for the scheduler.

use super::Host;
use super::options::{Common, congestion};
use crate::auto;
use crate::error::Error;
use crate::files::{self, Connect, Local, RecordSettings, Term};
use crate::identity::Fingerprint;
use crate::pilot::Pilot;
use crate::recording::RECORDING;
use crate::settings::{self, Settings};
use clap::Args;
use plait_sched::{Builtin, Value, units};
use plait_transport::congestion::Algorithm;
use std::path::PathBuf;

/// The value of `--scheduler` for [`auto`].
const AUTO: &str = "auto";

/// Options for paths: their local ends, terms and scheduler.
#[derive(Args, Clone, Debug)]
pub(super) struct PathOptions {
    /// A path from this local address. With %INTERFACE its packets leave by this interface, whatever the routes say.
    #[arg(long, value_name = "ADDR[%INTERFACE]")]
    local: Vec<Local>,
    /// A path from this interface. Default without --local: every interface that is up, or the loopback interface if the peer is this machine.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// The cost of a path, for schedulers that use it: cheapest-first. PATH is an interface or an address.
    #[arg(long, value_name = "PATH=NUMBER")]
    cost: Vec<String>,
    /// The most data that a path may carry, copies included, for example wwan0=500MB.
    #[arg(long, value_name = "PATH=SIZE")]
    budget: Vec<String>,
    /// A path for use only while no other path works.
    #[arg(long, value_name = "PATH")]
    backup: Vec<String>,
    #[command(flatten)]
    pub(super) decision: DecisionOptions,
}

/// Options for the scheduler, congestion control, and a recording.
#[derive(Args, Clone, Debug)]
pub(super) struct DecisionOptions {
    /// The scheduler: NAME, NAME:parameter=value:…, or auto, which asks the simulator during the transfer. In plait also FILE.py:CLASS:… and LIBRARY.so:CLASS:…. Default: lowest-rtt; ecf for send --interop.
    #[arg(long, value_name = "NAME")]
    scheduler: Option<String>,
    /// Every packet on every path: the scheduler redundant.
    #[arg(long, conflicts_with = "scheduler")]
    redundant: bool,
    /// Congestion control of each path.
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = congestion)]
    pub(super) congestion: Algorithm,
    /// Record packets and decisions of this end in this folder, for plait explain, report and replay. A proxy's recording ends with the connection to the far end; with --serve it has only the first client.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
}

impl DecisionOptions {
    /// Returns the scheduler's name with its parameters.
    pub(super) fn name(&self) -> &str {
        let named = self.scheduler.as_deref().unwrap_or(settings::scheduler(false));
        if self.redundant { "redundant" } else { named }
    }

    /// Sets the default scheduler, for the case that the user names none.
    pub(super) fn prefer(&mut self, name: &str) {
        self.scheduler.get_or_insert_with(|| name.to_owned());
    }

    /// Whether the simulator chooses the scheduler.
    pub(super) fn is_auto(&self) -> bool {
        self.name() == AUTO
    }

    /// Whether the scheduler is in a file, which the host loads.
    pub(super) fn is_own(&self) -> bool {
        let (file, _) = self.name().split_once(':').unwrap_or((self.name(), ""));
        file.ends_with(".py") || file.ends_with(".so")
    }

    /// Returns the built-in scheduler; with `auto`, the first one.
    pub(super) fn scheduler(&self) -> Result<Builtin, Error> {
        if self.is_auto() { Ok(auto::first()) } else { scheduler(self.name()) }
    }

    /// Returns the pilot that may change the scheduler.
    pub(super) fn pilot(&self, settings: Settings) -> Option<Box<dyn Pilot<Builtin>>> {
        self.is_auto().then(|| files::pilot(settings))
    }

    /// Returns the settings of the recording, after making its folder.
    pub(super) fn record(&self) -> Result<Option<RecordSettings>, Error> {
        files::record::check(self.record.is_some(), self.is_auto())?;
        let Some(folder) = &self.record else { return Ok(None) };
        let refused = |error| Error::of_file(&format!("--record {}", folder.display()), &error);
        std::fs::create_dir_all(folder).map_err(refused)?;
        Ok(Some(RecordSettings { path: folder.join(RECORDING), scheduler: self.name().to_owned() }))
    }

    /// Tells the host about the end of the recording, after any outcome. Returns the command's
    /// error, or else the host's. The host is not called if the recording never began; the
    /// command's error says why.
    pub(super) fn recorded<T>(&self, host: &dyn Host, outcome: Result<T, Error>) -> Result<T, Error> {
        let Some(folder) = &self.record else { return outcome };
        let file = folder.join(RECORDING);
        if outcome.is_err() && std::fs::metadata(&file).map_or(0, |found| found.len()) == 0 {
            // `plait report` cannot use an empty file either.
            let _ = std::fs::remove_file(file);
            return outcome;
        }
        let kept = host.recorded(folder, self.name());
        outcome.and_then(|done| kept.map(|()| done))
    }
}

impl PathOptions {
    /// Returns the settings of a connection to a peer.
    pub(super) fn connect(
        &self,
        to: String,
        fingerprint: Fingerprint,
        common: &Common,
    ) -> Result<Connect, Error> {
        Ok(Connect {
            to,
            fingerprint,
            secret: common.secret()?,
            locals: self.local.clone(),
            interfaces: self.interface.clone(),
            terms: self.terms()?,
            record: self.decision.record()?,
            settings: common.settings(self.decision.congestion),
        })
    }

    fn terms(&self) -> Result<Vec<(String, Term)>, Error> {
        let read = |option: &str, text: &str, of: &dyn Fn(&str) -> Option<Term>, expected: &str| {
            let pair = text.rsplit_once('=').and_then(|(name, value)| Some((name.to_owned(), of(value)?)));
            pair.ok_or_else(|| Error::Setting(format!("{option} {text}: expected {expected}")))
        };
        let cost = |value: &str| value.parse().ok().map(Term::Cost);
        let budget = |value: &str| units::parse_bytes(value).ok().map(Term::Budget);
        let costs = self.cost.iter().map(|text| read("--cost", text, &cost, "PATH=NUMBER"));
        let size = "PATH=SIZE, such as wwan0=500MB";
        let budgets = self.budget.iter().map(|text| read("--budget", text, &budget, size));
        let backups = self.backup.iter().map(|name| Ok((name.clone(), Term::Backup)));
        costs.chain(budgets).chain(backups).collect()
    }
}

/// Parses a built-in scheduler in the form of `plait run`: `NAME:parameter=value:parameter=value`.
fn scheduler(text: &str) -> Result<Builtin, Error> {
    let refused = |reason: String| Error::Setting(format!("scheduler \"{text}\": {reason}"));
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let mut given = Vec::new();
    for item in rest.split(':').filter(|_| !rest.is_empty()) {
        let pair = item.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) =
            pair.ok_or_else(|| refused(format!("expected NAME:parameter=value, got \"{item}\"")))?;
        given.push((key, plain(value)));
    }
    Builtin::new(name, &given).map_err(|error| Error::Setting(error.to_string()))
}

/// Parses a value by its form: Boolean, integer, number or text.
fn plain(text: &str) -> Value<'_> {
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => match (text.parse(), text.parse()) {
            (Ok(number), _) => Value::Integer(number),
            (_, Ok(number)) => Value::Number(number),
            _ => Value::Text(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that cannot use a recording.
    struct Fails;

    impl Host for Fails {
        fn name(&self) -> &str {
            "plait"
        }

        fn scheduler(&self, text: &str, _paths: &[String]) -> Result<Box<dyn plait_sched::Scheduler>, Error> {
            Err(Error::Setting(text.to_owned()))
        }

        fn goes_on(&self) -> bool {
            true
        }

        fn recorded(&self, _folder: &std::path::Path, _text: &str) -> Result<(), Error> {
            Err(Error::Setting("the host is told".to_owned()))
        }
    }

    #[test]
    fn a_recording_that_never_began_is_no_second_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = Some(folder.path().to_owned());
        let (scheduler, redundant, congestion) = (None, false, Algorithm::Cubic);
        let options = DecisionOptions { scheduler, redundant, congestion, record };
        let ended = |outcome: Result<(), &str>| {
            let outcome = outcome.map_err(|text| Error::Setting(text.to_owned()));
            options.recorded(&Fails, outcome).expect_err("one of both fails").to_string()
        };
        let file = folder.path().join(RECORDING);
        assert_eq!(ended(Err("nobody answers")), "nobody answers");
        std::fs::write(&file, "").expect("there is room");
        assert_eq!(ended(Err("nobody answers")), "nobody answers");
        assert!(!file.exists());
        assert_eq!(ended(Ok(())), "the host is told");
        std::fs::write(&file, "rows").expect("there is room");
        assert_eq!(ended(Err("all paths are gone")), "all paths are gone");
        assert!(file.exists());
    }

    #[test]
    fn schedulers_are_named_with_their_parameters() {
        let made = |text| scheduler(text).map(|scheduler| scheduler.to_string());
        assert_eq!(made("lowest-rtt+rp").expect("it is one"), "lowest-rtt+rp");
        assert_eq!(made("round-robin:segments=10").expect("it is one"), "round-robin");
        assert_eq!(made("redundant:mode=when-idle").expect("it is one"), "redundant");
        let wrong = |text| made(text).expect_err("it is none").to_string();
        assert!(wrong("round-robin:segments").contains("expected NAME:parameter=value, got \"segments\""));
        assert!(wrong("round-robin:segments=many").contains("segments"));
        assert!(wrong("fastest").contains("unknown scheduler \"fastest\""));
    }
}
