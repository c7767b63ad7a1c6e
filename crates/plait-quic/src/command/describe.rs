//! The options of the commands as data, which Python's `plait` shows and completes.

use super::options::Program;
use clap::{ArgAction, CommandFactory};
use serde_json::{Value, json};

/// Returns the help, arguments and options of a command as JSON, in their order.
///
/// Returns `None` for an unknown command.
pub fn describe(command: &str) -> Option<Value> {
    let mut program = Program::command();
    program.build();
    let command = program.find_subcommand(command)?;
    let text =
        |styled: Option<&clap::builder::StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
    let arguments = command.get_arguments().filter(|one| one.get_id() != "help").map(|one| {
        let names: Vec<String> =
            one.get_value_names().into_iter().flatten().map(ToString::to_string).collect();
        let defaults = one.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
        json!({
            "name": one.get_id().as_str(), "option": one.get_long().map(|name| format!("--{name}")),
            "value": names.join(" "), "flag": !one.get_action().takes_values(),
            "repeats": matches!(one.get_action(), ArgAction::Append), "required": one.is_required_set(),
            "default": defaults.collect::<Vec<_>>().join(" "), "help": text(one.get_help()),
        })
    });
    Some(
        json!({"help": text(command.get_long_about().or(command.get_about())), "arguments": arguments.collect::<Vec<_>>()}),
    )
}
