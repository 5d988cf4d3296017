//! The pages of the social network in a browser, as two people use them.

use crate::browser::Browser;
use crate::instance::Instance;

const POST: &str = "hi @bob, see https://example.org and <script>document.title = 'broken'</script>\
                    <b>bold</b><img src=x onerror=alert(1)> on one endless line: \
                    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

fn sign_up(browser: &Browser, url: &str, name: &str) {
    browser.open(&format!("{url}/signup.html"));
    for (field, text) in
        [("first_name", name), ("last_name", "Test"), ("username", name), ("password", "secret12")]
    {
        browser.fill(field, text);
    }
    browser.click("button");
    browser.wait_for("location.pathname === '/index.html'");
}

fn log_in(browser: &Browser, name: &str, password: &str) {
    browser.fill("username", name);
    browser.fill("password", password);
    browser.click("button");
}

/// Goes to another page by its link.
fn go(browser: &Browser, page: &str) {
    browser.click(&format!("nav a[href=\"{page}.html\"]"));
    browser.wait_for(&format!("document.body.dataset.page === '{page}'"));
}

#[test]
fn a_person_signs_up_follows_and_posts_and_another_sees_the_post_escaped() {
    const TEST: &str = "a_person_signs_up_follows_and_posts_and_another_sees_the_post_escaped";
    let Some(browser) = Browser::start(TEST) else { return };
    let social = Instance::of("social", &["all-in-one", "--password-cost", "4"]);
    let url = format!("http://{}", social.address);
    sign_up(&browser, &url, "ann");
    sign_up(&browser, &url, "bob");
    assert_eq!(browser.complaints(), [""; 0]);

    log_in(&browser, "bob", "wrong");
    let alert = "document.querySelector('[role=alert]').textContent";
    browser.wait_for(&format!("{alert} === 'User login failure: Incorrect username or password'"));
    // The browser itself notes the refusal.
    assert_eq!(browser.complaints().len(), 1);

    log_in(&browser, "bob", "secret12");
    browser.wait_for("document.body.dataset.page === 'main'");
    browser.wait_for("document.querySelector('#posts').innerText === 'No posts yet.'");
    go(&browser, "contact");
    browser.wait_for("document.querySelector('#followees').innerText === 'Nobody yet.'");
    assert_eq!(browser.value("document.querySelector('[name=user_name]').value"), "bob");
    browser.fill("followee_name", "ann");
    browser.click("button");
    browser.wait_for("/^User \\d+$/.test(document.querySelector('#followees').innerText)");

    go(&browser, "index");
    log_in(&browser, "ann", "secret12");
    browser.wait_for("document.body.dataset.page === 'main'");
    go(&browser, "contact");
    browser.wait_for("/^User \\d+$/.test(document.querySelector('#followers').innerText)");
    go(&browser, "compose");
    browser.fill("text", POST);
    browser.click("button");
    browser.wait_for("document.body.dataset.page === 'profile'");
    browser.wait_for("document.querySelectorAll('article').length === 1");

    go(&browser, "index");
    log_in(&browser, "bob", "secret12");
    browser.wait_for("document.body.dataset.page === 'main'");
    browser.wait_for("document.querySelectorAll('article').length === 1");
    let text = browser.value("document.querySelector('article p').textContent");
    assert_eq!(text, POST);
    let made = "document.querySelectorAll('#posts script, #posts b, #posts img').length";
    assert_eq!(browser.value(made), 0);
    assert_eq!(browser.value("document.title"), "Home – Social network");
    let links = browser.value("[...document.querySelectorAll('article p a')].map((a) => a.href)");
    assert!(links[0].as_str().unwrap().starts_with(&format!("{url}/profile.html?user_id=")));
    assert_eq!((&links[1], links.as_array().unwrap().len()), (&"https://example.org/".into(), 2));
    assert_eq!(browser.complaints(), [""; 0]);

    browser.click("article header a");
    browser.wait_for("document.querySelector('h1').textContent === 'Posts of ann'");
    browser.wait_for("document.querySelectorAll('article').length === 1");
    assert_eq!(browser.complaints(), [""; 0]);
    look_at_all_pages(&browser, &url);
}

/// Checks that no page of bob is wider than its window, and that the themes differ; and keeps
/// pictures for people.
fn look_at_all_pages(browser: &Browser, url: &str) {
    let mut backs = Vec::new();
    for (theme, width) in [("light", 1000), ("dark", 360)] {
        browser.look(theme, width);
        for page in ["index", "signup", "main", "compose", "contact", "profile"] {
            browser.open(&format!("{url}/{page}.html"));
            match page {
                "main" => browser.wait_for("document.querySelectorAll('article').length === 1"),
                "contact" => browser.wait_for("document.querySelector('#followees a') !== null"),
                "profile" => browser.wait_for("document.querySelector('#posts').innerText !== ''"),
                _ => {}
            }
            let widths = browser.value("[document.documentElement.scrollWidth, innerWidth]");
            assert!(widths[0].as_u64() <= widths[1].as_u64(), "{page}: {widths}");
            browser.picture(&format!("social-{page}-{theme}-{width}"));
        }
        backs.push(browser.value("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(backs[0], backs[1]);
}

#[test]
fn without_a_session_pages_lead_to_the_login() {
    let Some(browser) = Browser::start("without_a_session_pages_lead_to_the_login") else {
        return;
    };
    let social = Instance::of("social", &["all-in-one"]);
    for page in ["main", "contact", "profile"] {
        browser.open(&format!("http://{}/{page}.html", social.address));
        browser.wait_for("location.pathname === '/index.html'");
    }
    browser.open(&format!("http://{}/compose.html", social.address));
    browser.fill("text", "hello");
    browser.click("button");
    browser.wait_for("location.pathname === '/index.html'");
}
