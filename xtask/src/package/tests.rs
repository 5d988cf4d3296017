use super::*;

const AMD64: Machine = Machine { debian: "amd64", name: "x86_64" };

#[test]
fn a_package_depends_on_what_its_programs_need() {
    let control = control(AMD64, &Needs::Nothing, 12);
    assert_eq!(
        control,
        format!(
            "Package: benchwright\n\
             Version: {VERSION}\n\
             Architecture: amd64\n\
             Maintainer: The authors of Benchwright <benchwright@localhost>\n\
             Section: net\n\
             Priority: optional\n\
             Installed-Size: 12\n\
             Recommends: ca-certificates\n\
             Description: reproducible measurements of networked services\n \
             An experiment is one file: the system to deploy, the requests to send, how the\n \
             load grows, and when the search ends. One command deploys, loads, judges and\n \
             reports, and reports no number that it cannot vouch for.\n"
        )
    );
    let needs = Needs::Packages(dependencies(Some(36)));
    let control = super::control(AMD64, &needs, 12);
    assert!(control.contains("\nDepends: libc6 (>= 2.36), libgcc-s1\n"), "{control}");
}

#[test]
fn the_version_of_the_c_library_is_the_newest_one_that_is_named() {
    assert_eq!(glibc(b"..GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE"), Some(34));
    assert_eq!(glibc(b"GLIBC_2"), None);
}

#[test]
fn a_library_of_an_unknown_package_is_refused_with_the_remedy() {
    let listed = "\tlibm.so.6 => /lib/libm.so.6 (0x1)\n\t/lib64/ld-linux-x86-64.so.2 (0x2)\n";
    assert_eq!(known(listed), Ok(()));
    let why = known(&format!("{listed}\tlibssl.so.3 => /lib/libssl.so.3 (0x3)\n")).unwrap_err();
    assert!(why.contains("libssl.so.3") && why.contains("package.rs"), "{why}");
}

#[test]
fn a_program_says_for_which_machine_it_is() {
    let program = |number: u8| [&b"\x7fELF"[..], &[0; 14], &[number, 0]].concat();
    assert_eq!(machine(&program(62)), Some(AMD64));
    assert_eq!(machine(&program(183)).unwrap().debian, "arm64");
    assert_eq!(machine(&program(40)), None);
    assert_eq!(machine(b"text"), None);
}

#[test]
fn wrong_words_are_refused() {
    let options = Options::read(&["--programs", "target/release", "--out", "/tmp/x"]).unwrap();
    assert!(options.programs.unwrap().ends_with("target/release"));
    assert_eq!(options.out, Path::new("/tmp/x"));
    assert_eq!(Options::read(&["--program", "x"]), None);
    assert_eq!(run(&["try", "--programs", "x"]), None);
    assert_eq!(run(&["tryy"]), None);
}
