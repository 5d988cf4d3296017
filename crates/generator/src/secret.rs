//! The secrets of a load: references in its options get their values here, from the environment or
//! from a file, and what is shown gets the references.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use results::secrets::{ENV, unknown_in, without_plain};
use results::{Secrets, failing, regular};

use crate::options::{Load, Start, header_field};
use console::output::Failure;

#[cfg(test)]
mod tests;

/// Stands for standard input in place of a file.
const STDIN: &str = "-";

/// Returns the values of all references in the options and in the mix.
pub(super) fn of(arguments: &Load) -> anyhow::Result<Secrets> {
    let Load { header_file, secrets, start, .. } = arguments;
    let on_stdin = [header_file, secrets].into_iter().flatten().filter(|path| is_stdin(path));
    let readers = on_stdin.count() + usize::from(*start == Start::Stdin);
    ensure!(
        readers <= 1,
        "standard input can be read once, by --header-file, --secrets or --start; use a file"
    );
    if let Some(path) = secrets {
        let name = regular::shown(path);
        return Secrets::read(&read(path, "--secrets")?)
            .map_err(|why| anyhow::anyhow!("--secrets {name}: {why}"));
    }
    let mut secrets = Secrets::default();
    let Load { urls, header, body, check, script_arguments, mix, .. } = arguments;
    let texts = [urls, header, script_arguments].into_iter().flatten();
    let texts = texts.chain(body).chain(check).cloned();
    // A mix that cannot be read is reported where it is used.
    let mix = mix.iter().filter_map(|path| regular::read_text(path, regular::MOST_OF_LINES).ok());
    for text in texts.chain(mix) {
        secrets.find(&text, &|name| std::env::var(name).ok());
    }
    Ok(secrets)
}

/// Fails if a reference in a text has no value.
pub(super) fn check(text: &str, secrets: &Secrets) -> anyhow::Result<()> {
    let Some(name) = secrets.missing(text) else { return Ok(()) };
    match name.strip_prefix(ENV) {
        Some(variable) => bail!(
            "`${{{name}}}`: the variable {variable} is not set; write `export {variable}=…` before \
             this command"
        ),
        None => bail!("`${{{name}}}` has no value; write ${{env.NAME}}"),
    }
}

/// Fails if a text of a header field or a URL has `${NAME}` in it, which only seems to be a reference and would be sent
/// as it is. A body may have its own.
pub(super) fn check_names(text: &str) -> anyhow::Result<()> {
    let Some(name) = unknown_in(text) else { return Ok(()) };
    let is_variable = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let variable = if is_variable { name } else { "NAME" };
    bail!(
        "`${{{name}}}` is not a reference; write ${{env.{variable}}} for the value of a variable of the environment"
    )
}

/// Returns a text with its secrets.
pub(super) fn revealed(text: &str, secrets: &Secrets) -> anyhow::Result<String> {
    check(text, secrets)?;
    Ok(secrets.reveal(text))
}

/// Returns the fields of a header file, whose values are secrets from now on.
pub(super) fn fields(path: &Path, secrets: &mut Secrets) -> anyhow::Result<Vec<(String, String)>> {
    let text = read(path, "--header-file")?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let field = |(number, line): (usize, &str)| {
        let field = header_field(line).ok().with_context(|| {
            let name = regular::shown(path);
            format!("--header-file {name}:{number}: it is not a header field; write `Name: value`")
        })?;
        secrets.keep(&field.1);
        Ok(field)
    };
    lines.map(field).collect()
}

/// Returns a failure whose message shows no secret.
pub(super) fn hidden(failure: Failure, secrets: &Secrets) -> Failure {
    let Failure { exit, error } = failure;
    let message = secrets.redact(&format!("{error:#}"));
    Failure { exit, error: anyhow::Error::msg(message) }
}

/// Takes the secrets out of the words of a document, as its URLs are without them already, and describes its failures
/// in these words. All that is printed or written of a load is made from the document after this.
pub(super) fn hide(document: &mut results::Load, secrets: &Secrets) {
    let results::Load { findings, warnings, validity, targets, .. } = document;
    let paths = targets.iter_mut().filter_map(|target| target.path.as_mut());
    for words in findings.iter_mut().chain(warnings).chain(&mut validity.reasons).chain(paths) {
        *words = secrets.redact(words);
    }
    let parts = document.targets.iter_mut().map(|target| &mut target.part);
    let of_parts = parts.chain([&mut document.total]).map(|part| &mut part.reasons);
    let segments = document.segments.iter_mut().map(|segment| &mut segment.group);
    let of_groups = document.labels.values_mut().chain(segments).map(|group| &mut group.reasons);
    for reasons in of_parts.chain(of_groups) {
        for (why, count) in std::mem::take(reasons) {
            // Two that differ only by their secrets are one.
            *reasons.entry(secrets.redact(&why)).or_default() += count;
        }
    }
    let parts = document.targets.iter_mut().map(|target| &mut target.part);
    for part in parts.chain([&mut document.total]) {
        let Some(sessions) = &mut part.sessions else { continue };
        for mut broken in std::mem::take(&mut sessions.broken) {
            broken.reason = broken.reason.map(|reason| secrets.redact(&reason));
            sessions.add_broken(broken);
        }
    }
    document.failures = failing::of(document);
}

/// Returns the labels of requests without secrets: those of a trace may be paths with queries. Figures are kept by the
/// name of the label, so one that another label has already gets its place as a number.
pub(super) fn labels(mut names: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    for (place, name) in (1..).zip(&mut names) {
        let mut shown = without_plain(name);
        if !known.insert(shown.clone()) {
            shown = format!("{shown} {place}");
        }
        *name = shown;
    }
    names
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

fn read(path: &Path, flag: &str) -> anyhow::Result<String> {
    let read = match is_stdin(path) {
        true => regular::read_bounded(io::stdin().lock(), regular::MOST_OF_SHORT)
            .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other)),
        false => regular::read_text(path, regular::MOST_OF_SHORT),
    };
    read.with_context(|| format!("{flag} {}", regular::shown(path)))
}
