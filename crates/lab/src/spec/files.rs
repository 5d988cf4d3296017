//! The files that a spec names. Their paths are relative to the spec's folder.

use std::path::PathBuf;

use super::source::SpecError;
use super::{Load, Resolved, Tls, Workload};

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
        let Workload { script, mix, data, body_file, .. } = &self.spec.workload;
        let Load { trace, tls, .. } = &self.spec.load;
        let of_tls =
            |of: fn(&Tls) -> &Option<String>| tls.as_ref().and_then(|tls| of(tls).as_ref());
        let named = [
            ("workload.script", script.as_ref()),
            ("workload.mix", mix.as_ref()),
            ("workload.data", data.as_ref()),
            ("workload.body_file", body_file.as_ref()),
            ("load.trace", trace.as_ref()),
            ("load.tls.ca", of_tls(|tls| &tls.ca)),
            ("load.tls.cert", of_tls(|tls| &tls.cert)),
            ("load.tls.key", of_tls(|tls| &tls.key)),
        ];
        let file = |(field, written): (&'static str, Option<&String>)| {
            let written = written?.clone();
            let path = self.path(&written);
            Some(File { field, written, path })
        };
        named.into_iter().filter_map(file).collect()
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
