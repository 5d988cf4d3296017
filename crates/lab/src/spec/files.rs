//! The files that a spec names. Their paths are relative to the spec's folder.

use std::path::PathBuf;

use super::source::SpecError;
use super::workload::Given;
use super::{Load, Resolved, Tls};

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
        let Load { trace, tls, .. } = &self.spec.load;
        let of_tls =
            |of: fn(&Tls) -> &Option<String>| tls.as_ref().and_then(|tls| of(tls).as_ref());
        let of_workload = self.spec.workload.set().into_iter().flat_map(|set| {
            let files = set.given.into_iter().filter_map(|given| match given {
                Given::File(path) => Some((set.field, path.to_owned())),
                _ => None,
            });
            files.collect::<Vec<_>>()
        });
        let of_load = [
            ("load.trace", trace.as_ref()),
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

/// Checks that the files exist.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let absent = |file: &File| !file.path.is_file();
    let Some(File { field, written, path }) = resolved.files().into_iter().find(absent) else {
        return Ok(());
    };
    let key = field.rsplit('.').next().unwrap_or(field);
    let what = match key {
        "script" | "mix" | "trace" => key,
        _ => "file",
    };
    Err(resolved.source.error(
        format!("the {what} {} does not exist", path.display()),
        resolved.source.find(key, &written),
        "paths are relative to the spec's folder",
    ))
}
