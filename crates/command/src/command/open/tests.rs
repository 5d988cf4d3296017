use super::*;

fn of(environment: &[(&str, &str)]) -> Viewer {
    viewer("file:///r", &|name| {
        environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    })
}

fn words(all: &[&[&str]]) -> Vec<Vec<String>> {
    all.iter().map(|words| words.iter().map(|word| (*word).to_owned()).collect()).collect()
}

#[test]
fn without_a_display_and_a_browser_nothing_is_started() {
    assert_eq!(of(&[]), Viewer::None);
    assert_eq!(of(&[("DISPLAY", ""), ("BROWSER", " ")]), Viewer::None);
}

#[test]
fn a_display_is_for_xdg_open_behind_the_browsers_of_the_user() {
    let commands = words(&[&["xdg-open", "file:///r"]]);
    assert_eq!(of(&[("DISPLAY", ":0")]), Viewer::Of { commands, has_display: true });
    let commands = words(&[&["firefox", "-P", "x", "file:///r"], &["w3m", "file:///r", "-T"]]);
    assert_eq!(
        of(&[("BROWSER", "firefox -P x::w3m %s -T")]),
        Viewer::Of { commands, has_display: false }
    );
    let commands = words(&[&["firefox", "file:///r"], &["xdg-open", "file:///r"]]);
    assert_eq!(
        of(&[("WAYLAND_DISPLAY", "wayland-0"), ("BROWSER", "firefox")]),
        Viewer::Of { commands, has_display: true }
    );
}

#[test]
fn a_path_is_a_url_that_no_browser_takes_for_an_option_or_a_fragment() {
    assert_eq!(url_of(Path::new("/a b/-c#d/é.html")), "file:///a%20b/-c%23d/%C3%A9.html");
}

#[test]
fn a_program_that_fails_or_is_missing_says_so() {
    for has_display in [true, false] {
        assert!(show(&words(&[&["true"]])[0], has_display).is_ok());
        assert!(show(&words(&[&["false"]])[0], has_display).unwrap_err().contains("it failed"));
        let missing = show(&words(&[&["no-such-browser"]])[0], has_display).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
    }
}
