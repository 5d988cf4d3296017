//! The properties of a command line: files in their order, and then what is assigned, in its order.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use console::files::Named;
use console::output::Failure;
use results::regular;
use ycsb::properties::{Place, Properties};

#[cfg(test)]
mod tests;

/// The files and assignments of a command line. A property that is assigned twice has its last value, whichever
/// options assign it, so their order is kept.
#[derive(Debug)]
pub(super) struct Given {
    files: Vec<PathBuf>,
    assigned: Vec<Assigned>,
    /// The options of the original that have no effect here.
    ignored: Vec<&'static str>,
}

#[derive(Debug)]
struct Assigned {
    /// The argument as it was given.
    argument: String,
    property: String,
    value: String,
}

/// The largest file of properties.
const MOST_BYTES: u64 = 1 << 20;

/// The options that assign one property each.
const OPTIONS: [(&str, &str, &str, &str); 4] = [
    (
        "threads",
        "threadcount",
        "N",
        "The operations that are outstanding, at most [property: threadcount]",
    ),
    (
        "target",
        "target",
        "N",
        "The operations that begin in a second, in an open loop; without it the next operation begins when \
         one ends [property: target]",
    ),
    ("label", "label", "LABEL", "The label of the status lines [property: label]"),
    (
        "db",
        "db",
        "CLASS",
        "The binding by its class of the original, such as site.ycsb.BasicDB [property: db]",
    ),
];
/// Those of the original that only a Java machine needs.
const IGNORED: [&str; 2] = ["cp", "jvm-args"];

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        let option = |(id, _, value, help): (&'static str, &str, &'static str, &'static str)| {
            let option = Arg::new(id).value_name(value).help(help).action(ArgAction::Append);
            let option = option.allow_hyphen_values(true);
            // The original has no long form of this one.
            if id == "label" { option.short('l') } else { option.long(id) }
        };
        let ignored = |id| {
            Arg::new(id).long(id).hide(true).allow_hyphen_values(true).action(ArgAction::Append)
        };
        command
            .arg(
                Arg::new("file")
                    .short('P')
                    .value_name("FILE")
                    .help("Properties, as a Java .properties file; a later file replaces values of an earlier one")
                    .value_parser(clap::value_parser!(PathBuf))
                    .action(ArgAction::Append),
            )
            .arg(
                Arg::new("property")
                    .short('p')
                    .value_name("NAME=VALUE")
                    .help("A property; the command line always replaces values of files")
                    .value_parser(assignment)
                    .action(ArgAction::Append),
            )
            .args(OPTIONS.map(option))
            .arg(
                Arg::new("status")
                    .short('s')
                    .help("Print the status every 10 s on stderr [property: status]")
                    .action(ArgAction::SetTrue),
            )
            .args(IGNORED.map(ignored))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Given::augment_args(command)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, clap::Error> {
        let files = matches.get_many("file").into_iter().flatten().cloned().collect();
        let mut assigned: Vec<(usize, Assigned)> = Vec::new();
        let values = matches.get_many::<(String, String)>("property").into_iter().flatten();
        let indices = matches.indices_of("property").into_iter().flatten();
        for (index, (property, value)) in indices.zip(values.cloned()) {
            let argument = format!("-p {property}={value}");
            assigned.push((index, Assigned { argument, property, value }));
        }
        for (id, property, ..) in OPTIONS {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let indices = matches.indices_of(id).into_iter().flatten();
            let dashes = if id == "label" { "-l".to_owned() } else { format!("-{id}") };
            for (index, value) in indices.zip(values.cloned()) {
                let argument = format!("{dashes} {value}");
                assigned.push((index, Assigned { argument, property: property.to_owned(), value }));
            }
        }
        if matches.get_flag("status") {
            let index = matches.index_of("status").expect("a flag that is set has an index");
            let (argument, property) = ("-s".to_owned(), "status".to_owned());
            assigned.push((index, Assigned { argument, property, value: "true".to_owned() }));
        }
        assigned.sort_by_key(|(index, _)| *index);
        let assigned = assigned.into_iter().map(|(_, assigned)| assigned).collect();
        let ignored = IGNORED.into_iter().filter(|id| matches.contains_id(id)).collect();
        Ok(Given { files, assigned, ignored })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("write a name, `=` and a value, such as recordcount=1000")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Given {
    /// Returns the files that are read.
    pub(super) fn files(&self) -> Vec<Named> {
        self.files.iter().map(|path| Named::read("-P", path)).collect()
    }

    /// Reads the files and sets what is assigned.
    pub(super) fn properties(&self) -> Result<Properties, Failure> {
        let mut properties = Properties::default();
        for file in &self.files {
            let name = regular::shown(file);
            let content = regular::read_input(file, MOST_BYTES).map_err(|why| {
                Failure::question(format!("-P {name}: {why}\n  name a file with properties"))
            })?;
            properties.read(&name, &content).map_err(Failure::question)?;
        }
        for Assigned { argument, property, value } in &self.assigned {
            properties.set(property, value, Place::Argument(argument.as_str().into()));
        }
        Ok(properties)
    }

    /// Returns what has no effect.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.ignored.iter().map(|id| format!("-{id} has no effect here")).collect()
    }
}
