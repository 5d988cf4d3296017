//! An experiment that ran on virtual time, for tests of what is concluded from one.

use std::path::Path;

use crate::backend;
use crate::experiment;
use crate::past::Past;
use crate::progress::Silent;
use crate::{Host, spec};

/// Runs a spec and reads its directory, which is then removed.
pub(crate) fn ran(text: &str) -> Past {
    ran_in(tempfile::tempdir().unwrap().path(), text)
}

/// Runs a spec in a folder and reads its directory.
pub(crate) fn ran_in(folder: &Path, text: &str) -> Past {
    let path = folder.join("run");
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let host = Host::new("/nowhere/benchwright".into(), "0.0.0");
    let backends = backend::for_tests;
    experiment::run(&resolved, Some(path.clone()), &host, &backends, &mut Silent).unwrap();
    Past::read(&path).unwrap()
}
