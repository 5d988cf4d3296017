use super::*;
use crate::target::{self, Finding};

/// Returns a workload of this script.
fn script(path: &Path) -> Result<Workload, Failure> {
    Workload::new(Requested {
        method: "GET",
        headers: Vec::new(),
        body: None,
        script: Some((path, Vec::new())),
        mix: None,
        check: None,
        compatibility: Compatibility::Native,
        seed: 1,
        is_final: true,
        secrets: Secrets::default(),
    })
}

#[test]
fn a_script_that_has_no_end_is_refused_as_every_other_file_is() {
    let refused = script(Path::new("/dev/zero")).err().unwrap();
    assert_eq!(
        refused.error.to_string(),
        "/dev/zero: the script cannot be read: it is a device, not a file; name a file or a pipe"
    );
}

/// Before the system is there, only what its answer may mend is no fault of the script.
#[test]
fn a_check_passes_only_faults_that_an_answer_may_mend() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.lua");
    let finding = Finding { addresses: &["127.0.0.1".to_owned()], ..Finding::default() };
    let urls = ["http://localhost:1/".to_owned()];
    let targets = target::resolve(&urls, &finding, &Secrets::default()).unwrap();
    let checked = |init: &str| {
        fs::write(&path, format!("function init()\n{init}\nend")).unwrap();
        let checked = script(&path).unwrap().check(&targets);
        checked.map_err(|failure| failure.error.to_string())
    };
    let ask = "local ok, status = pcall(wrk.fetch, wrk.format())";
    assert_eq!(checked("local status = wrk.fetch(wrk.format())"), Ok(()));
    assert_eq!(checked(&format!("{ask}\nif not ok then error('no token') end")), Ok(()));
    assert!(checked("error('broken')").unwrap_err().ends_with(":2: broken"));
    let exit = checked(&format!("{ask} os.exit(0)")).unwrap_err();
    assert!(exit.contains(":2: `os.exit` would end the load"), "{exit}");

    let endless = Fault("mine.lua:2: the script did not return within 30 s".to_owned());
    let may_be = [0, 1, 9, 10].map(|asked| may_be_of_network(&endless, asked));
    assert_eq!(may_be, [false, false, false, true]);
}
