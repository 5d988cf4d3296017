use std::collections::BTreeMap;
use std::io::Read;

use super::*;

fn programs() -> Vec<(String, Vec<u8>)> {
    vec![("benchwright".to_owned(), vec![1; 700]), ("benchwright-apps".to_owned(), vec![2; 3])]
}

/// Returns the files of an archive.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(archive);
    let file = |entry: io::Result<tar::Entry<'_, &[u8]>>| {
        let mut entry = entry.unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (entry.path().unwrap().display().to_string(), bytes)
    };
    archive.entries().unwrap().map(file).collect()
}

#[test]
fn every_blob_is_named_by_its_digest_and_found_from_the_index() {
    let image = Image::of(&programs()).unwrap();
    let files = files(&image.archive("local/benchwright:1").unwrap());
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let bytes = &files[&format!("blobs/{}", digest.replace(':', "/"))];
        assert_eq!(self::digest(bytes), digest);
        assert_eq!(descriptor["size"].as_u64(), Some(bytes.len() as u64));
        bytes
    };
    let document = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = document(&files["index.json"]);
    assert_eq!(
        index["manifests"][0]["annotations"]["io.containerd.image.name"],
        "docker.io/local/benchwright:1"
    );
    let manifest = document(blob(&index["manifests"][0]));
    let config = document(blob(&manifest["config"]));
    let layer = blob(&manifest["layers"][0]);
    assert_eq!(config["rootfs"]["diff_ids"][0], self::digest(layer));
    assert_eq!(config["config"]["User"], "65532:65532");

    let mut archive = tar::Archive::new(&layer[..]);
    let listed = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let header = entry.header();
        let path = entry.path().unwrap().display().to_string();
        (path, header.mode().unwrap(), header.mtime().unwrap())
    });
    let listed: Vec<_> = listed.collect();
    let expected = [("tmp/", 0o1777), ("benchwright", 0o755), ("benchwright-apps", 0o755)];
    assert_eq!(listed, expected.map(|(path, mode)| (path.to_owned(), mode, 0)));
}

#[test]
fn the_same_programs_give_the_same_image() {
    assert_eq!(Image::of(&programs()).unwrap(), Image::of(&programs()).unwrap());
}

#[test]
fn a_program_that_needs_a_loader_is_recognised() {
    // The tests themselves use the C library of the distribution.
    let own = fs::read("/proc/self/exe").unwrap();
    assert!(needs_a_loader(&own));
    let mut fixed = own.clone();
    let at = u64::from_le_bytes(own[32..40].try_into().unwrap()) as usize;
    let (length, count) = (own[54] as usize, own[56] as usize);
    for segment in 0..count {
        let kind = at + segment * length;
        if fixed[kind] == 3 {
            fixed[kind] = 0;
        }
    }
    assert!(!needs_a_loader(&fixed));
    assert!(!needs_a_loader(b"text"));
}

#[test]
fn names_get_a_registry_and_wrong_options_are_refused() {
    for (name, whole) in [
        ("benchwright:1", "docker.io/library/benchwright:1"),
        ("local/benchwright:1", "docker.io/local/benchwright:1"),
        ("registry.example/benchwright:1", "registry.example/benchwright:1"),
        ("localhost/benchwright:1", "localhost/benchwright:1"),
    ] {
        assert_eq!(canonical(name), whole);
    }
    let options = Options::read(&["--profile", "tests", "--name", "a/b:1"]).unwrap();
    assert_eq!((options.profile.as_str(), options.name.as_str()), ("tests", "a/b:1"));
    for wrong in [&["--profile"][..], &["--name", "a"], &["--push", "x"]] {
        assert_eq!(Options::read(wrong), None);
    }
}

#[test]
fn the_libraries_of_a_program_are_those_with_a_path() {
    let listed = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f40)\n\t\
                  /lib64/ld-linux-x86-64.so.2 (0x00007f42)\n";
    let found: Vec<_> = libraries(listed).collect();
    assert_eq!(found, ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"]);
}
