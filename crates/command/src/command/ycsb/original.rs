//! The command line of the Java client, whose long options have one dash, as clap reads it.

use std::ffi::OsString;

#[cfg(test)]
mod tests;

/// The options of the original that have a value, and those that have none.
const WITH_VALUE: [&str; 8] = ["P", "p", "cp", "db", "jvm-args", "l", "target", "threads"];
const WITHOUT_VALUE: [&str; 3] = ["load", "s", "t"];

/// Returns the words of a command line, in which `benchwright ycsb` may be followed by options of the original with one
/// dash or two, and by those of its main class: `-load` or `-t` for the phase, and `-db` for the binding.
pub(crate) fn rewritten(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.into_iter().collect();
    if words.get(1).is_none_or(|word| word != "ycsb") {
        return words;
    }
    let (program, given) = words.split_at(2);
    // Other commands, and a request for help, have no options of the original.
    let is_main_class = given
        .first()
        .and_then(|word| word.to_str())
        .is_some_and(|word| option(word).is_some_and(|(name, _)| is_known(name)));
    let verb = given.first().filter(|word| *word == "load" || *word == "run");
    if !is_main_class && verb.is_none() {
        return words;
    }
    let mut phase = verb.cloned();
    let mut rest = Vec::new();
    let mut given = given.iter().skip(usize::from(verb.is_some()));
    while let Some(word) = given.next() {
        let known = word.to_str().and_then(option).filter(|(name, _)| is_known(name));
        match known {
            Some(("load", None)) => phase = Some("load".into()),
            Some(("t", None)) => phase = Some("run".into()),
            Some((name, value)) => {
                let dashes = if name.len() == 1 { "-" } else { "--" };
                rest.push(format!("{dashes}{name}{}", value.unwrap_or_default()).into());
                if WITH_VALUE.contains(&name) && value.is_none() {
                    rest.extend(given.next().cloned());
                }
            }
            None => rest.push(word.clone()),
        }
    }
    let phase = phase.unwrap_or_else(|| "run".into());
    program.iter().cloned().chain([phase]).chain(rest).collect()
}

fn is_known(name: &str) -> bool {
    WITH_VALUE.contains(&name) || WITHOUT_VALUE.contains(&name)
}

/// Splits an option with one dash or two into its name and, from `=` on, its value.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    match name.find('=') {
        Some(end) => Some((&name[..end], Some(&name[end..]))),
        None => Some((name, None)),
    }
}
