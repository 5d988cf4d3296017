use super::*;

const PAGES: [(&str, &str); 6] = [
    ("/", include_str!("index.html")),
    ("/signup.html", include_str!("signup.html")),
    ("/main.html", include_str!("main.html")),
    ("/compose.html", include_str!("compose.html")),
    ("/contact.html", include_str!("contact.html")),
    ("/profile.html", include_str!("profile.html")),
];

/// Returns the values of an attribute in a page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    let parts = page.split(&begin).skip(1);
    parts.map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn every_answer_has_the_strict_policy() {
    for path in PAGES.map(|(path, _)| path).iter().chain(&["/social.css", "/social.js"]) {
        let answer = answer(path).unwrap();
        let field = |name| answer.headers().get(name).unwrap().to_str().unwrap();
        assert!(field(CONTENT_SECURITY_POLICY).starts_with("default-src 'none'; "));
        assert!(!field(CONTENT_SECURITY_POLICY).contains("unsafe"));
        assert_eq!(field(X_CONTENT_TYPE_OPTIONS), "nosniff");
    }
}

#[test]
fn other_paths_have_no_page() {
    for path in ["", "/index.htm", "/../pages.rs", "/pages/index.html", "/api/user/login"] {
        assert!(answer(path).is_none(), "{path}");
    }
}

#[test]
fn pages_have_nothing_of_other_sites_and_lead_only_to_pages_that_exist() {
    for (path, page) in PAGES {
        for target in [values(page, "href"), values(page, "src")].concat() {
            let is_ours = target == "data:," || answer(&format!("/{target}")).is_some();
            assert!(is_ours, "{path}: {target}");
        }
        assert!(values(page, "action").iter().all(|action| action.starts_with("/api/")), "{path}");
        let is_handler = |word: &str| word.starts_with("on") && word.contains('=');
        assert!(!page.contains("<style") && values(page, "style").is_empty(), "{path}");
        assert!(!page.split_whitespace().any(is_handler), "{path}");
    }
}

#[test]
fn every_visible_field_is_in_a_label() {
    for (path, page) in PAGES {
        let visible = |tag: &str| page.matches(tag).count();
        let fields = visible("<input ") + visible("<textarea ") - visible("type=\"hidden\"");
        assert_eq!(fields, visible("<label>"), "{path}");
    }
}
