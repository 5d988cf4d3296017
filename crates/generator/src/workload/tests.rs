use super::*;

#[test]
fn a_script_that_has_no_end_is_refused_as_every_other_file_is() {
    let requested = Requested {
        method: "GET",
        headers: Vec::new(),
        body: None,
        script: Some((Path::new("/dev/zero"), Vec::new())),
        mix: None,
        check: None,
        compatibility: Compatibility::Native,
        seed: 1,
        is_final: true,
        secrets: Secrets::default(),
    };
    let refused = Workload::new(requested).err().unwrap();
    assert_eq!(
        refused.error.to_string(),
        "/dev/zero: the script cannot be read: it is a device, not a file; name a file or a pipe"
    );
}
