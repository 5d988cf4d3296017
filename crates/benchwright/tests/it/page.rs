//! The report in a browser, without a network.

use std::path::Path;
use std::process::Command;

use crate::support::{Scratch, Server, experiments, machine, run_while, skip, tool};

/// Opens a page in Chromium, offline and with an empty profile.
fn chromium(scratch: &Scratch, more: &[&str], page: &str) -> crate::support::Ran {
    let mut command = Command::new("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        "--window-size=1200,5000",
    ]);
    command.arg(format!("--user-data-dir={}", scratch.path().join("chromium").display()));
    run_while(command.args(more).arg(page), |_| {})
}

/// Opens a page in both themes, and checks that the console is empty and a picture is drawn.
fn opens_without_a_complaint(scratch: &Scratch, file: &str) {
    let page = format!("file://{}/{file}", scratch.path().display());
    for theme in ["light", "dark"] {
        let picture = scratch.path().join(format!("{theme}.png"));
        let screenshot = format!("--screenshot={}", picture.display());
        let ran = chromium(scratch, &[&screenshot], &format!("{page}#theme={theme}"));
        let complaints: Vec<&str> =
            ran.stderr.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert_eq!(complaints, [""; 0]);
        assert!(20_000 < std::fs::metadata(&picture).unwrap().len(), "{theme}: a picture of it");
    }
}

#[test]
fn a_loads_report_opens_offline_and_holds_the_documents_figures() {
    let _machine = machine();
    if !tool("a_loads_report_opens_offline_and_holds_the_documents_figures", "chromium") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    for (file, what) in [
        ("native", &["load", "--rate", "500/s", "--duration", "2s"][..]),
        ("original", &["wrk", "-t1", "-c4", "-d1s"]),
    ] {
        let (page, json) = (format!("{file}.html"), format!("--json={file}.json"));
        let mut command = scratch.benchwright();
        command.args(what).args(["--report", &page, &json, &server.url]);
        let ran = run_while(&mut command, |_| {});
        assert!([0, 3].contains(&ran.code), "{ran:#?}");
        let html = std::fs::read_to_string(scratch.path().join(&page)).unwrap();
        let document = std::fs::read(scratch.path().join(format!("{file}.json"))).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
        let completed = document["rates_per_s"]["completed"].as_f64().unwrap();
        assert!(
            html.contains(&format!("{}/s <span>completed", measure::quantity::grouped(completed)))
        );
        let p99 = document["response_time"]["p99_ns"].as_u64().unwrap();
        assert!(html.contains(&format!("{} <span>p99", measure::Nanos(p99))), "{p99}");
        opens_without_a_complaint(&scratch, &page);
    }
}

#[test]
fn the_report_opens_offline_without_a_complaint_and_without_scripts() {
    let _machine = machine();
    if !tool("the_report_opens_offline_without_a_complaint_and_without_scripts", "chromium") {
        return;
    }
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("simulated.yaml")).args(["--out", "out"]);
    let ran = run_while(&mut command, |_| {});
    assert!(scratch.path().join("out/report.html").exists(), "{ran:#?}");
    let html = std::fs::read_to_string(scratch.path().join("out/report.html")).unwrap();
    for reference in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//"] {
        assert!(!html.contains(reference), "{reference}");
    }

    opens_without_a_complaint(&scratch, "out/report.html");

    // Without its script the page lacks only the tooltips.
    let bare = html.split("<script").next().unwrap().to_owned() + "</body></html>";
    assert!(bare.matches("<svg").count() >= 4 && bare.matches("<table").count() >= 4);
    let maximum = std::fs::read(scratch.path().join("out/answer.json")).unwrap();
    let maximum: serde_json::Value = serde_json::from_slice(&maximum).unwrap();
    for entry in maximum["trials"].as_array().unwrap() {
        let rate = entry["observed"]["completed_per_s"].as_f64().unwrap();
        let shown = measure::quantity::grouped(rate);
        assert!(bare.contains(&shown), "trial {}: {shown}", entry["trial"]);
    }
}

/// Prints what a page cuts off: nothing may make the page itself scroll, the table of trials fits a screen, and its status and
/// p99 fit a phone.
const CUT_OFF: &str = "
    const width = document.documentElement.clientWidth;
    const cut = [`${innerWidth} px`];
    const whole = document.documentElement.scrollWidth;
    if (width < whole) cut.push(`the page is ${whole} px wide`);
    const heading = [...document.querySelectorAll('h2')].find((h2) => h2.textContent === 'Trials');
    const scroll = heading.parentElement.querySelector('.scroll');
    if (1280 <= width && scroll.clientWidth < scroll.scrollWidth) cut.push('the table of trials scrolls');
    const names = [...scroll.querySelectorAll('thead tr:last-child th')].map((th) => th.textContent);
    for (const name of ['status', 'p99']) {
        const cell = scroll.querySelector('tbody tr').cells[names.indexOf(name)];
        const { left, right } = cell.getBoundingClientRect();
        if (left < 0 || width < right) cut.push(`${name} is from ${left} to ${right} px`);
    }
    parent.postMessage(`FOUND ${cut.join('; ')} END`, '*');";

/// The page in a frame of this width: a window of Chromium has at least 500 px.
const FRAME: &str = "<script>addEventListener('message', ({ data }) => { document.body.textContent = data; });</script>
    <iframe width='WIDTH' height='900' style='border: 0' src='checked.html#theme=THEME'></iframe>";

#[test]
fn the_page_fits_a_screen_and_a_phone_in_either_theme() {
    let _machine = machine();
    if !tool("the_page_fits_a_screen_and_a_phone_in_either_theme", "chromium") {
        return;
    }
    let scratch = Scratch::new();
    for spec in ["simulated", "levels"] {
        let mut command = scratch.benchwright();
        command.arg("run").arg(experiments().join(format!("{spec}.yaml"))).args(["--out", spec]);
        let ran = run_while(command.args(["--profile", "ci"]), |_| {});
        let page = scratch.path().join(spec).join("report.html");
        let page = std::fs::read_to_string(page).unwrap_or_else(|_| panic!("{ran:#?}"));
        let script = format!("<script>{CUT_OFF}</script></body>");
        scratch.file("checked.html", page.replace("</body>", &script));
        for (theme, width) in [("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400)] {
            let frame = FRAME.replace("WIDTH", &width.to_string()).replace("THEME", theme);
            let frame = scratch.file("frame.html", frame).display().to_string();
            let options = ["--dump-dom", "--window-size=1400,1000", "--virtual-time-budget=60000"];
            let ran = chromium(&scratch, &options, &format!("file://{frame}"));
            let found = found(&ran.stdout);
            assert_eq!(
                found,
                Some(format!("{width} px").as_str()),
                "{spec}, {theme}: {}",
                ran.stderr
            );
        }
    }
}

/// Returns what a script found in a page.
fn found(dom: &str) -> Option<&str> {
    dom.split("FOUND ").nth(1).and_then(|text| text.split(" END").next())
}

/// The findings of axe-core on a page whose tables are all unfolded: an empty text if nothing is serious.
const CHECK: &str = "
    document.querySelectorAll('details').forEach((details) => { details.open = true; });
    axe.run().then(({ violations }) => {
        const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
        const said = ({ id, help, nodes }) => `${id}: ${help}: ${nodes.length} times, first ${nodes[0].html}`;
        document.body.textContent = `FOUND ${serious.map(said).join('; ')} END`;
    });";

#[test]
fn pages_have_no_serious_finding_of_axe_core_in_either_theme() {
    let _machine = machine();
    let test = "pages_have_no_serious_finding_of_axe_core_in_either_theme";
    let axe = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .with_file_name("node/node_modules/axe-core/axe.min.js");
    let Ok(axe) = std::fs::read_to_string(axe) else {
        return skip(test, "axe-core in the target folder, where `cargo xtask ci` installs it");
    };
    if !tool(test, "chromium") {
        return;
    }
    let scratch = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    for arguments in [
        &["run", "SIMULATED", "--out", "out"][..],
        &[
            "load",
            "--rate",
            "500/s",
            "--duration",
            "1s",
            "--json=load.json",
            "--report",
            "load.html",
            &server.url,
        ],
        &["report", "load.json", "--out", "foreign.html"],
    ] {
        let simulated = experiments().join("simulated.yaml").display().to_string();
        let mut command = scratch.benchwright();
        command.args(arguments.iter().map(|word| word.replace("SIMULATED", &simulated)));
        run_while(&mut command, |_| {});
    }
    for name in ["out/report.html", "load.html", "foreign.html"] {
        let page = std::fs::read_to_string(scratch.path().join(name)).unwrap();
        let script = format!("<script>{axe}</script><script>{CHECK}</script></body>");
        scratch.file("checked.html", page.replace("</body>", &script));
        for theme in ["light", "dark"] {
            let url = format!("file://{}/checked.html#theme={theme}", scratch.path().display());
            let ran = chromium(&scratch, &["--dump-dom", "--virtual-time-budget=60000"], &url);
            assert_eq!(found(&ran.stdout), Some(""), "{name}, {theme}: {}", ran.stderr);
        }
    }
}
