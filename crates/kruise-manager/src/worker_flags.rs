//! `--KIND-workers` for every registered kind that has workers to set.

use std::collections::BTreeMap;

use clap::builder::ValueParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::kinds::{self, Workers};

/// As the original, for every kind.
const DEFAULT: usize = 3;

/// How many objects are reconciled concurrently, by kind.
#[derive(Debug, Clone, Default)]
pub struct WorkerFlags(BTreeMap<&'static str, usize>);

impl WorkerFlags {
    pub fn of(&self, kind: &str) -> usize {
        self.0.get(kind).copied().unwrap_or(DEFAULT)
    }

    /// The name of each kind that has the flag, and what its help calls the objects.
    pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
        kinds::ALL.iter().filter_map(|one| match one.workers {
            Workers::Flag(objects) => Some((one.name, objects)),
            Workers::Fixed(_) => None,
        })
    }

    fn flag(kind: &str) -> String {
        format!("{kind}-workers")
    }
}

impl FromArgMatches for WorkerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let given = Self::kinds()
            .filter_map(|(kind, _)| matches.get_one::<usize>(&Self::flag(kind)).map(|count| (kind, *count)));
        self.0.extend(given);
        Ok(())
    }
}

impl Args for WorkerFlags {
    fn augment_args(command: Command) -> Command {
        Self::kinds().fold(command, |command, (kind, objects)| {
            let flag = Self::flag(kind);
            let help = format!(
                "Maximum number of {objects} reconciled concurrently; one whose writes are blocked does not count"
            );
            let value = ValueParser::from(clap::value_parser!(usize));
            let arg = Arg::new(flag.clone()).long(flag).value_name("COUNT").value_parser(value);
            command.arg(arg.default_value(DEFAULT.to_string()).help(help))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
