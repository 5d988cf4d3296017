//! `benchwright report FILE…`: one page of files.

use std::path::{Path, PathBuf};

use results::{Foreign, Load, regular};

use super::Says;
use console::output::{self, Failure};

/// Writes the page and returns its place.
pub(crate) fn report(
    paths: &[PathBuf],
    says: &Says,
    out: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let place = place(paths, out)?;
    let wrong = |error: std::io::Error| {
        Failure::question(format!("{}: {}", place.display(), regular::plain(&error)))
    };
    output::check_place("--out", &place)
        .map_err(|error| Failure::question(format!("{error:#}")))?;
    let files = super::read(paths, says)?;
    let page = match whole(paths, &files)? {
        Some(load) => ::report::load::render(&load),
        None => ::report::foreign::render(&files),
    };
    output::replace(&place, page.as_bytes()).map_err(wrong)?;
    Ok(place)
}

/// The page stands beside the first file unless the user names a place.
fn place(paths: &[PathBuf], out: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(out) = out {
        return Ok(out.to_owned());
    }
    match paths.first().filter(|path| path.is_file()) {
        Some(first) => {
            let mut name = first.clone().into_os_string();
            name.push(".html");
            Ok(name.into())
        }
        None => {
            let name = paths.first().map_or(String::new(), |path| path.display().to_string());
            let text = format!("{name} is not a regular file: name the page by --out FILE.html");
            Err(Failure::question(text))
        }
    }
}

/// Returns the document of a single load of ours: it has more than its figures.
fn whole(paths: &[PathBuf], files: &[Foreign]) -> Result<Option<Load>, Failure> {
    let ([path], [file]) = (paths, files) else { return Ok(None) };
    if file.format != "load" || !path.is_file() {
        return Ok(None);
    }
    let wrong = |why: String| Failure::question(format!("{}: {why}", path.display()));
    let bytes =
        regular::read_input(path, regular::MOST).map_err(|error| wrong(error.to_string()))?;
    Load::read(&bytes).map(Some).map_err(wrong)
}
