//! The built-in schedulers by name. [`algorithms`] lists them.

use core::fmt;

use crate::algorithms;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::options::{OPTIONS, Options, WithOptions};
use crate::params::{OptionInfo, ParameterError, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::text::{ShortText, write_choices};
use crate::time::Time;
use crate::view::{Connection, Path};

/// Makes the enum with its dispatch and the list of descriptions, from one line per scheduler.
macro_rules! builtins {
    ($($module:ident :: $scheduler:ident,)*) => {
        /// Every built-in scheduler, in the order in which they are listed to users.
        pub static SCHEDULERS: &[SchedulerInfo] = &[$(algorithms::$module::$scheduler::INFO,)*];

        /// A built-in scheduler without options. A `match` dispatches the calls, so the compiler
        /// can inline them.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        #[expect(clippy::large_enum_variant, reason = "without an allocator there are no boxes")]
        pub enum Algorithm {
            $(#[doc = concat!("See [`crate::algorithms::", stringify!($module), "`].")]
            $scheduler(algorithms::$module::$scheduler),)*
        }

        impl Algorithm {
            fn build(name: &str, parameters: &Parameters<'_>) -> Option<Self> {
                $(if name == algorithms::$module::$scheduler::INFO.name {
                    return Some(Self::$scheduler(algorithms::$module::$scheduler::from_parameters(parameters)));
                })*
                None
            }

            /// The registered name.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$scheduler(_) => algorithms::$module::$scheduler::INFO.name,)*
                }
            }
        }

        impl Scheduler for Algorithm {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.decide(now, connection, paths),)*
                }
            }

            #[inline(never)]
            fn decide_with_reason(
                &mut self,
                now: Time,
                connection: &Connection,
                paths: &[Path],
                reason: &mut dyn fmt::Write,
            ) -> Decision {
                match self {
                    $(Self::$scheduler(scheduler) => {
                        scheduler.decide_with_reason(now, connection, paths, reason)
                    })*
                }
            }

            #[inline]
            fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.on_event(event, connection, paths),)*
                }
            }

            fn needs(&self) -> Capabilities {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.needs(),)*
                }
            }

            fn interest(&self) -> Interest {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.interest(),)*
                }
            }

            fn waits_without_room(&self) -> bool {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.waits_without_room(),)*
                }
            }

            fn send_memory(&self) -> Option<u64> {
                match self {
                    $(Self::$scheduler(scheduler) => scheduler.send_memory(),)*
                }
            }
        }
    };
}

algorithms::algorithms!(builtins);

/// A built-in scheduler with its options.
#[derive(Clone, Debug)]
pub struct Builtin(WithOptions<Algorithm>);

impl Builtin {
    /// Builds the scheduler called `name`. Parameters that are not `given` keep their defaults.
    /// Suffixes of the name make options true: see [`OPTIONS`].
    ///
    /// ```
    /// use plait_sched::{Builtin, Value};
    /// let scheduler = Builtin::new("round-robin+rp", &[("segments", Value::Integer(10))])?;
    /// assert_eq!((scheduler.name(), scheduler.to_string().as_str()), ("round-robin", "round-robin+rp"));
    ///
    /// let error = Builtin::new("lowest-rrt", &[]).unwrap_err();
    /// assert!(error.to_string().starts_with("unknown scheduler \"lowest-rrt\": choose round-robin, lowest-rtt"));
    /// # Ok::<(), plait_sched::RegistryError>(())
    /// ```
    pub fn new(name: &str, given: &[(&str, Value<'_>)]) -> Result<Self, RegistryError> {
        let unknown = || RegistryError::UnknownScheduler { name: ShortText::new(name) };
        let scheduler = info(name).ok_or_else(unknown)?;
        let suffixes = || name.split('+').skip(1);
        for (i, suffix) in suffixes().enumerate() {
            let option = option(suffix)
                .ok_or_else(|| RegistryError::UnknownSuffix { scheduler, suffix: ShortText::new(suffix) })?;
            let parameter = &option.parameter;
            let mut names = given.iter().map(|(name, _)| *name);
            if suffixes().take(i).any(|earlier| earlier == suffix) || names.any(|name| name == parameter.name)
            {
                return Err(RegistryError::RepeatedParameter { scheduler, parameter });
            }
        }
        let refused = |error| RegistryError::of_parameters(scheduler, error);
        let parameters = Parameters::new(scheduler, OPTIONS, given).map_err(refused)?;
        let algorithm = Algorithm::build(scheduler.name, &parameters).ok_or_else(unknown)?;
        let options = Options::from_parameters(&parameters, |suffix| suffixes().any(|given| given == suffix));
        Ok(Self(WithOptions::new(algorithm, options)))
    }

    /// The registered name without suffixes. `Display` adds them.
    pub const fn name(&self) -> &'static str {
        self.0.scheduler().name()
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name(), self.0.options())
    }
}

impl Scheduler for Builtin {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.0.decide(now, connection, paths)
    }

    #[inline(never)]
    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.0.decide_with_reason(now, connection, paths, reason)
    }

    #[inline]
    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.0.on_event(event, connection, paths);
    }

    fn needs(&self) -> Capabilities {
        self.0.needs()
    }

    fn interest(&self) -> Interest {
        self.0.interest()
    }

    fn waits_without_room(&self) -> bool {
        self.0.waits_without_room()
    }

    fn send_memory(&self) -> Option<u64> {
        self.0.send_memory()
    }
}

/// The description of the scheduler called `name`, with or without suffixes.
pub fn info(name: &str) -> Option<&'static SchedulerInfo> {
    let name = name.split('+').next()?;
    SCHEDULERS.iter().find(|info| info.name == name)
}

/// Names in kernels, QUIC libraries and papers of schedulers that have another name here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("default", "linux-default"),
    ("linux", "linux-default"),
    ("min-rtt", "lowest-rtt"),
    ("minrtt", "lowest-rtt"),
    ("lowrtt", "lowest-rtt"),
    ("lrtt", "lowest-rtt"),
    ("rr", "round-robin"),
    ("roundrobin", "round-robin"),
    ("wrr", "weighted"),
    ("dup", "redundant"),
    ("duplicate", "redundant"),
    ("replicate", "redundant"),
    ("idd", "intelligent-delivery-delay"),
];

/// Returns the scheduler that other systems call `name`, ignoring case: `minRTT` is `lowest-rtt`.
pub fn known_elsewhere(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, name)| *name)
}

/// All parameters of a scheduler: its own and the options.
pub fn parameters(info: &SchedulerInfo) -> impl Iterator<Item = &'static ParameterInfo> + Clone + use<> {
    info.parameters.iter().chain(OPTIONS.iter().map(|option| &option.parameter))
}

/// The option that `suffix`, given without its `+`, makes true.
fn option(suffix: &str) -> Option<&'static OptionInfo> {
    OPTIONS.iter().find(|option| option.suffix == Some(suffix))
}

/// The reason why a scheduler could not be built.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum RegistryError {
    /// There is no scheduler of this name.
    UnknownScheduler {
        /// The name that the user wrote.
        name: ShortText,
    },
    /// No option has this suffix.
    UnknownSuffix {
        /// The scheduler.
        scheduler: &'static SchedulerInfo,
        /// The suffix that the user wrote after a `+`.
        suffix: ShortText,
    },
    /// The scheduler has no parameter of this name.
    UnknownParameter {
        /// The scheduler.
        scheduler: &'static SchedulerInfo,
        /// The name that the user wrote.
        name: ShortText,
    },
    /// A parameter was given twice, or by a suffix and by its name.
    RepeatedParameter {
        /// The scheduler.
        scheduler: &'static SchedulerInfo,
        /// The parameter.
        parameter: &'static ParameterInfo,
    },
    /// A value has the wrong type, is out of range, or is not one of the choices.
    BadValue {
        /// The scheduler.
        scheduler: &'static SchedulerInfo,
        /// The parameter.
        parameter: &'static ParameterInfo,
        /// The value that the user wrote.
        value: ShortText,
        /// True if the type is wrong.
        wrong_type: bool,
    },
}

impl RegistryError {
    const fn of_parameters(scheduler: &'static SchedulerInfo, error: ParameterError) -> Self {
        match error {
            ParameterError::Unknown { name } => Self::UnknownParameter { scheduler, name },
            ParameterError::Repeated { parameter } => Self::RepeatedParameter { scheduler, parameter },
            ParameterError::BadValue { parameter, value, wrong_type } => {
                Self::BadValue { scheduler, parameter, value, wrong_type }
            }
        }
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScheduler { name } => {
                write!(f, "unknown scheduler \"{name}\": choose ")?;
                write_choices(f, SCHEDULERS.iter().map(|info| info.name))?;
                match known_elsewhere(name.as_str()) {
                    Some(meant) => write!(f, " (did you mean {meant}?)"),
                    None => Ok(()),
                }
            }
            Self::UnknownParameter { scheduler, name } => {
                write!(f, "unknown parameter \"{name}\" of scheduler {}: choose ", scheduler.name)?;
                write_choices(f, parameters(scheduler).map(|p| p.name))
            }
            Self::UnknownSuffix { scheduler, suffix } => {
                write!(f, "unknown suffix \"+{suffix}\" of scheduler {}: choose ", scheduler.name)?;
                write_choices(f, OPTIONS.iter().filter_map(|option| option.suffix))
            }
            Self::RepeatedParameter { scheduler, parameter } => {
                write!(f, "parameter {} of scheduler {} is given twice", parameter.name, scheduler.name)
            }
            Self::BadValue { scheduler, parameter, value, .. } => {
                let (scheduler, name, domain) = (scheduler.name, parameter.name, parameter.domain);
                write!(f, "parameter {name} of scheduler {scheduler} is {value}: it must be {domain}")
            }
        }
    }
}

impl core::error::Error for RegistryError {}
