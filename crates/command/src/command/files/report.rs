//! `benchwright report FILE…`: one page of files.

use std::fs;
use std::io;
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
        Failure::question(format!("{}: {}", regular::shown(&place), regular::plain(&error)))
    };
    // What the user did not name may have been put there by others.
    let is_named = out.is_some();
    match is_named {
        true => output::check_place("--out", &place)
            .map_err(|error| Failure::question(format!("{error:#}")))?,
        false => check_beside(&place).map_err(wrong)?,
    }
    let files = super::read(paths, says)?;
    let page = match whole(paths, &files)? {
        Some(load) => ::report::load::render(&load),
        None => ::report::foreign::render(&files),
    };
    let written = match is_named {
        true => output::replace(&place, page.as_bytes()),
        false => regular::replace(&place, page.as_bytes()),
    };
    written.map_err(wrong)?;
    Ok(place)
}

/// Fails if no page can be written beside a file. A link there is replaced, and never what it leads to.
fn check_beside(place: &Path) -> io::Result<()> {
    match fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) {
        true => Err(io::Error::other("it is a folder; name the page by --out FILE.html")),
        false => regular::check_writable(regular::folder_of(place)),
    }
}

/// Returns the place of the page beside a file; `None` if it is not a file.
pub(crate) fn page_beside(file: &Path) -> Option<PathBuf> {
    let mut name = file.is_file().then(|| file.as_os_str().to_owned())?;
    name.push(".html");
    Some(name.into())
}

/// The page stands beside the first file unless the user names a place.
fn place(paths: &[PathBuf], out: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(out) = out {
        return Ok(out.to_owned());
    }
    match paths.first().and_then(|first| page_beside(first)) {
        Some(page) => Ok(page),
        None => {
            let name = paths.first().map_or(String::new(), |path| regular::shown(path));
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
    let wrong = |why: String| Failure::question(format!("{}: {why}", regular::shown(path)));
    let bytes =
        regular::read_input(path, regular::MOST).map_err(|error| wrong(error.to_string()))?;
    Load::read(&bytes).map(Some).map_err(wrong)
}
