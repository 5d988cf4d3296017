//! The files that a spec names. Their paths are relative to the spec's folder.

use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use results::regular;

use super::source::SpecError;
use super::workload::Given;
use super::{Resolved, Tls};

#[cfg(test)]
mod tests;

/// A file that the load needs.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The field that names it: `workload.mix`
    pub field: &'static str,
    /// The path as it is written.
    pub written: String,
    pub path: PathBuf,
}

impl Resolved {
    /// Returns the files that the load needs, whose contents decide what is measured.
    pub fn files(&self) -> Vec<File> {
        let load = &self.spec.load;
        let of_tls =
            |of: fn(&Tls) -> &Option<String>| load.tls.as_ref().and_then(|tls| of(tls).as_ref());
        let of_workload = self.spec.workload.set().into_iter().flat_map(|set| {
            let files = set.given.into_iter().filter_map(|given| match given {
                Given::File(path) => Some((set.field, path.to_owned())),
                _ => None,
            });
            files.collect::<Vec<_>>()
        });
        let of_load = [
            ("load.trace", load.trace()),
            ("load.tls.ca", of_tls(|tls| &tls.ca)),
            ("load.tls.cert", of_tls(|tls| &tls.cert)),
            ("load.tls.key", of_tls(|tls| &tls.key)),
        ];
        let of_load =
            of_load.into_iter().filter_map(|(field, written)| Some((field, written?.clone())));
        let file = |(field, written): (&'static str, String)| {
            let path = self.path(&written);
            File { field, written, path }
        };
        of_workload.chain(of_load).map(file).collect()
    }

    /// Returns a file that the load needs and whose content nobody else may see, as it is written.
    pub fn private_file(&self) -> Option<String> {
        let mut given = self.spec.workload.set().into_iter().flat_map(|set| set.given);
        given.find_map(|given| match given {
            Given::Private(_, path) => Some(path.to_owned()),
            _ => None,
        })
    }

    /// Returns a path of the spec as a path of this process.
    pub fn path(&self, written: &str) -> PathBuf {
        self.folder.join(self.text(written, 1))
    }
}

/// Checks that the files are there.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let refused = |file: File| Some((refusal(&file.path)?, file));
    let Some((why, File { field, written, path })) = resolved.files().into_iter().find_map(refused)
    else {
        return Ok(());
    };
    let key = field.rsplit('.').next().unwrap_or(field);
    let what = match key {
        "script" | "mix" | "trace" => key,
        _ => "file",
    };
    Err(resolved.source.error(
        format!("the {what} {} {why}", path.display()),
        resolved.source.find(key, &written),
        "paths are relative to the spec's folder",
    ))
}

/// Returns why a path is not a file that can be read again, if it is not: the end of a sentence.
fn refusal(path: &Path) -> Option<String> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => None,
        Ok(found) if found.file_type().is_fifo() => Some(format!("is {}", regular::PIPE)),
        Ok(found) if found.is_dir() => Some("is a folder".to_owned()),
        Ok(_) => Some("is not a file".to_owned()),
        Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => {
            Some(format!("cannot be read: {}", super::plain(&error)))
        }
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            Some("is a link that leads nowhere".to_owned())
        }
        Err(_) => Some("does not exist".to_owned()),
    }
}
