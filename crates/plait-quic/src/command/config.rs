//! The configuration file of a command: TOML whose keys are the names of the command's options, and
//! tables of clients.
//!
//! The values become arguments, so the same code reads and checks them. Options on the command line
//! replace them.

use super::options::Program;
use crate::clients::{Client, Limits};
use crate::error::Error;
use crate::identity::{self, Secret};
use crate::proxy::Allowed;
use crate::settings::MAX_PATHS;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, CommandFactory};
use plait_sched::units;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The key of the tables of clients.
const CLIENT: &str = "client";

/// The content of a configuration file.
#[derive(Clone, Debug, Default)]
pub(super) struct Config {
    /// The file; empty if there is none.
    file: PathBuf,
    /// Options that the file sets, for example `--mtu`.
    options: BTreeSet<String>,
    /// The clients, and the allowed targets of clients with their own list.
    pub(super) clients: Vec<Client>,
    pub(super) allowed: BTreeMap<String, Vec<Allowed>>,
    /// Names of clients with short secrets.
    pub(super) weak: Vec<String>,
}

/// Adds the options in the file of `--config` to the arguments.
///
/// # Errors
/// Returns [`Error::Setting`] with the file, the key, its value and the choices.
pub(super) fn read(mut arguments: Vec<OsString>) -> Result<(Vec<OsString>, Config), Error> {
    // Wrong arguments are ignored here and reported by the final parser.
    let Ok(matches) = Program::command().ignore_errors(true).try_get_matches_from(&arguments) else {
        return Ok((arguments, Config::default()));
    };
    let Some((command, given)) = matches.subcommand() else { return Ok((arguments, Config::default())) };
    let file: Option<&PathBuf> = given.try_get_one("config").ok().flatten();
    let Some(file) = file.cloned() else { return Ok((arguments, Config::default())) };
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    let mut table = table(&file)?;
    let mut program = Program::command();
    program.build();
    let known: Vec<&Arg> = program
        .find_subcommand(command)
        .map(|found| {
            found.get_arguments().filter(|one| !["help", "config"].contains(&one.get_id().as_str())).collect()
        })
        .unwrap_or_default();
    let asked = given.try_get_one("serve").ok().flatten() == Some(&true);
    let serves = command == "recv" || asked || table.get("serve") == Some(&Value::Boolean(true));
    let mut config = Config { file, ..Config::default() };
    match table.remove(CLIENT) {
        None => {}
        Some(Value::Array(clients)) if serves => config.take_clients(clients, command)?,
        Some(Value::Array(_)) => {
            return Err(config.wrong("client", "an end that listens has clients: recv, proxy --serve"));
        }
        Some(_) => return Err(config.wrong("client", "expected tables: [[client]]")),
    }
    let (mut options, mut positionals) = (Vec::new(), Vec::new());
    for (key, value) in &table {
        let Some(argument) = known.iter().find(|one| name(one) == key) else {
            let choices = known.iter().map(name).chain([CLIENT]).collect::<Vec<_>>().join(", ");
            return Err(config.wrong(key, &format!("unknown key: choose {choices}")));
        };
        if is_given(argument.get_id().as_str()) {
            continue;
        }
        let texts = texts(argument, value).map_err(|expected| {
            // The error must not show a secret.
            let shown = if key == "secret" { key.clone() } else { format!("{key} = {value}") };
            config.wrong(&shown, &format!("expected {expected}"))
        })?;
        if argument.is_positional() {
            positionals.extend(texts.into_iter().flatten().map(OsString::from));
            continue;
        }
        config.options.insert(format!("--{key}"));
        options.extend(texts.into_iter().map(|text| match text {
            None => OsString::from(format!("--{key}")),
            Some(text) => OsString::from(format!("--{key}={text}")),
        }));
    }
    let ends = arguments.iter().position(|one| one == "--");
    arguments.splice(ends.unwrap_or(arguments.len())..ends.unwrap_or(arguments.len()), options);
    if !positionals.is_empty() && ends.is_none() {
        arguments.push("--".into());
    }
    arguments.extend(positionals);
    Ok((arguments, config))
}

/// Reads the file. A file with secrets must be readable only by its owner.
fn table(file: &Path) -> Result<Table, Error> {
    let refused = |reason: String| Error::Setting(format!("{}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        refused(format!("line {line}: {}", error.message()))
    })?;
    let clients = table.get(CLIENT).and_then(Value::as_array).into_iter().flatten();
    if table.contains_key("secret") || clients.clone().any(|client| client.get("secret").is_some()) {
        identity::read_private(file)?;
    }
    Ok(table)
}

/// Returns the key of an argument: its long option, or its name.
fn name<'a>(argument: &&'a Arg) -> &'a str {
    argument.get_long().unwrap_or_else(|| argument.get_id().as_str())
}

/// Converts a value to texts as on the command line. `None` stands for an option without a value.
fn texts(argument: &Arg, value: &Value) -> Result<Vec<Option<String>>, &'static str> {
    let one = |value: &Value| match value {
        Value::String(text) => Ok(Some(text.clone())),
        Value::Integer(number) => Ok(Some(number.to_string())),
        Value::Float(number) => Ok(Some(number.to_string())),
        _ => Err("a text or a number"),
    };
    let optional = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    match value {
        Value::Boolean(true) if optional => Ok(vec![None]),
        Value::Boolean(false) if optional => Ok(Vec::new()),
        _ if !argument.get_action().takes_values() => Err("true or false"),
        Value::Array(values) if matches!(argument.get_action(), ArgAction::Append) => {
            values.iter().map(one).collect()
        }
        value => Ok(vec![one(value)?]),
    }
}

impl Config {
    /// Prefixes an error message with the file's name, if the file sets the argument.
    pub(super) fn named(&self, argument: Option<&str>, words: String) -> String {
        let option = argument.and_then(|argument| argument.split(' ').next()).unwrap_or_default();
        if self.options.contains(option) { format!("{}: {words}", self.file.display()) } else { words }
    }

    fn wrong(&self, key: &str, reason: &str) -> Error {
        Error::Setting(format!("{}: {key}: {reason}", self.file.display()))
    }

    /// Reads the tables of clients.
    fn take_clients(&mut self, tables: Vec<Value>, command: &str) -> Result<(), Error> {
        for table in tables {
            let Value::Table(table) = table else {
                return Err(self.wrong("client", "expected tables: [[client]]"));
            };
            let name = match table.get("name") {
                Some(Value::String(name)) if !name.is_empty() && !name.chars().any(char::is_control) => {
                    name.clone()
                }
                _ => return Err(self.wrong("client", "each needs a name, a text without control characters")),
            };
            let client = self.client(&name, &table, command)?;
            self.clients.push(client);
        }
        // Checks that names and secrets are unique.
        crate::clients::Clients::new(self.clients.clone())
            .map_err(|error| self.wrong("client", &error.to_string()))?;
        Ok(())
    }

    fn client(&mut self, name: &str, table: &Table, command: &str) -> Result<Client, Error> {
        let choices: &[&str] = match command {
            "recv" => &["name", "secret", "secret-file", "transfers", "paths", "bytes"],
            _ => &["name", "secret", "secret-file", "allow", "near-ends", "paths", "streams", "rate"],
        };
        let (mut limits, mut secret) = (Limits::default(), None);
        for (key, value) in table {
            let setting = format!("client {name}: {key} = {value}");
            let wrong = |expected: &str| self.wrong(&setting, &format!("expected {expected}"));
            let count = |most: usize| {
                let number = value.as_integer().and_then(|number| usize::try_from(number).ok());
                let text = format!("a number from 1 to {most}");
                number.filter(|number| (1..=most).contains(number)).ok_or_else(|| wrong(&text))
            };
            let text = || value.as_str().ok_or_else(|| wrong("a text"));
            match key.as_str() {
                _ if !choices.contains(&key.as_str()) => {
                    let reason = format!("unknown key: choose {}", choices.join(", "));
                    return Err(self.wrong(&format!("client {name}: {key}"), &reason));
                }
                "name" => {}
                "secret" | "secret-file" if secret.is_some() => {
                    return Err(self.wrong(&format!("client {name}"), "choose secret or secret-file"));
                }
                "secret" => {
                    let text = value.as_str().filter(|text| !text.is_empty());
                    let hidden = || self.wrong(&format!("client {name}: secret"), "expected a text");
                    secret = Some(text.ok_or_else(hidden)?.to_owned());
                }
                "secret-file" => secret = Some(identity::secret_in(Path::new(text()?))?),
                "transfers" | "near-ends" => limits.at_once = count(64)?,
                "paths" => limits.paths = count(MAX_PATHS)?,
                "streams" => limits.streams = Some(count(crate::streams::MAX_STREAMS)?),
                "rate" => {
                    let rate = units::parse_rate(text()?)
                        .map_err(|error| self.wrong(&setting, &error.to_string()))?;
                    limits.rate = Some(rate);
                }
                "bytes" => {
                    let bytes = units::parse_bytes(text()?)
                        .map_err(|error| self.wrong(&setting, &error.to_string()))?;
                    limits.bytes = Some(bytes);
                }
                _ => {
                    let targets = value.as_array().ok_or_else(|| wrong("a list of HOST:PORT"))?;
                    let read = |target: &Value| {
                        let text = target.as_str().ok_or_else(|| wrong("a list of HOST:PORT"))?;
                        text.parse::<Allowed>().map_err(|error| self.wrong(&setting, &error.to_string()))
                    };
                    let targets = targets.iter().map(read).collect::<Result<_, _>>()?;
                    self.allowed.insert(name.to_owned(), targets);
                }
            }
        }
        let missing = || self.wrong(&format!("client {name}"), "a secret is needed: secret or secret-file");
        let secret = secret.ok_or_else(missing)?;
        identity::refuse_published(&secret, "its secret")
            .map_err(|error| self.wrong(&format!("client {name}"), &error.to_string()))?;
        if identity::is_weak(&secret) {
            self.weak.push(name.to_owned());
        }
        Ok(Client { name: name.to_owned(), secret: Secret::new(&secret), limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Returns the arguments of a command with a file of this content, or the error.
    fn merged(content: &str, mode: u32, arguments: &[&str]) -> Result<(Vec<String>, Config), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("plait.toml");
        std::fs::write(&file, content).expect("there is room");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        let first = ["plait-quic"].iter().chain(arguments).map(OsString::from);
        let all = first.chain(["--config".into(), file.into_os_string()]).collect();
        let (arguments, config) = read(all).map_err(|error| error.to_string())?;
        let text = |one: &OsString| one.to_string_lossy().into_owned();
        Ok((arguments[arguments.len().min(4)..].iter().map(text).collect(), config))
    }

    fn refusal(content: &str, command: &str) -> String {
        merged(content, 0o600, &[command]).expect_err("it is refused")
    }

    #[test]
    fn keys_are_options_and_the_command_line_comes_first() {
        let content = "to = \"host:1\"\nmtu = 1400\nforward = [\"127.0.0.1:1=a:2\", \"127.0.0.1:2=b:3\"]\nsocks = true\njson = false\nquiet = true\n";
        let (arguments, _) = merged(content, 0o644, &["proxy"]).expect("it is right");
        let expected = [
            "--forward=127.0.0.1:1=a:2",
            "--forward=127.0.0.1:2=b:3",
            "--mtu=1400",
            "--quiet",
            "--socks",
            "--",
            "host:1",
        ];
        assert_eq!(arguments, expected);
        let (arguments, _) =
            merged(content, 0o644, &["proxy", "other:2", "--mtu", "1300", "--forward", "[::1]:3=c:4"])
                .expect("it is right");
        assert_eq!(arguments[arguments.len() - 2..], ["--quiet", "--socks"]);
        assert!(!arguments.iter().any(|one| one.contains("1400") || one.contains("host:1")), "{arguments:?}");
    }

    #[test]
    fn what_is_wrong_names_file_key_value_and_choices() {
        for (content, command, words) in [
            ("mtuu = 3", "recv", "plait.toml: mtuu: unknown key: choose "),
            ("mtu = [1]", "recv", "mtu = [1]: expected a text or a number"),
            ("json = 1", "recv", "json = 1: expected true or false"),
            ("mtu = 1\nmtu = 2", "recv", "line 2: "),
            ("[[client]]\nname = \"a\"\nsecret = \"s\"", "send", "an end that listens"),
            ("client = 1", "recv", "client: expected tables"),
            ("[[client]]\nsecret = \"s\"", "recv", "needs a name"),
            ("[[client]]\nname = \"a\"", "recv", "client a: a secret is needed"),
            (
                "[[client]]\nname = \"a\"\nsecret = \"replace-this-secret-of-a\"",
                "recv",
                "client a: its secret is that of a published example",
            ),
            (
                "[[client]]\nname = \"a\"\nsecret = \"s\"\npaths = 9",
                "recv",
                "client a: paths = 9: expected a number from 1 to 8",
            ),
            (
                "[[client]]\nname = \"a\"\nsecret = \"s\"\nrate = \"1Mbit\"",
                "recv",
                "client a: rate: unknown key: choose name, ",
            ),
            ("[[client]]\nname = \"a\"\nsecret = \"s\"\nbytes = \"5\"", "recv", "has no unit"),
            (
                "[[client]]\nname = \"a\"\nsecret = \"s\"\n[[client]]\nname = \"b\"\nsecret = \"s\"",
                "recv",
                "this secret",
            ),
        ] {
            let error = refusal(content, command);
            assert!(error.contains(words), "{error}");
            assert!(!error.contains("\"s\""), "a secret is not shown: {error}");
        }
    }

    #[test]
    fn clients_have_secrets_targets_and_limits() {
        let content = "serve = true\n[[client]]\nname = \"lab\"\nsecret = \"s\"\nallow = [\"*:443\"]\nrate = \"20Mbit\"\nstreams = 16\nnear-ends = 1\n";
        let (arguments, config) = merged(content, 0o600, &["proxy"]).expect("it is right");
        assert_eq!(arguments, ["--serve"]);
        assert_eq!(
            config.clients[0].limits,
            Limits { at_once: 1, streams: Some(16), rate: Some(20_000_000), ..Limits::default() }
        );
        assert!(config.clients[0].secret.agrees(&Secret::new("s")) && config.allowed["lab"].len() == 1);
        let error = merged(content, 0o644, &["proxy"]).expect_err("others may read it");
        assert!(error.contains("others may read it (mode 0644)"), "{error}");
        assert!(config.named(Some("--serve"), "why".to_owned()).ends_with("plait.toml: why"));
    }
}
