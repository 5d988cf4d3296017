//! Chromium without a window, driven as a person does: by clicks and keys, over WebDriver.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::instance::{now, sleep};
use crate::tools::{free_port, skip, wait_until_it_listens};

/// The longest time for a page to look as it should.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name by which WebDriver returns an element (W3C WebDriver, 11).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with an empty profile, which reaches nothing but this machine.
pub(crate) struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts it. If a program is not installed, notes that the test was skipped.
    pub(crate) fn start(test: &str) -> Option<Browser> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        for program in ["chromium", "chromedriver"] {
            if !std::env::split_paths(&path).any(|folder| folder.join(program).is_file()) {
                skip(test, program);
                return None;
            }
        }
        let port = free_port();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "chromedriver", &format!("--port={port}")]);
        let driver = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until_it_listens(port);
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Browser {
            driver,
            address: ([127, 0, 0, 1], port).into(),
            session: String::new(),
            _profile: profile,
        };
        let profile = format!("--user-data-dir={}", browser._profile.path().display());
        let made = browser.ask("POST", "", &json!({"capabilities": {"alwaysMatch": {
            "timeouts": {"implicit": 10_000},
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": [
                "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--window-size=1000,800", profile,
            ]},
        }}}));
        browser.session = format!("/{}", made["sessionId"].as_str().unwrap());
        Some(browser)
    }

    pub(crate) fn open(&self, address: &str) {
        self.ask("POST", "/url", &json!({"url": address}));
    }

    /// Types into the field of this name.
    pub(crate) fn fill(&self, name: &str, text: &str) {
        let field = self.element(&format!("[name=\"{name}\"]"));
        self.ask("POST", &format!("/element/{field}/clear"), &json!({}));
        self.ask("POST", &format!("/element/{field}/value"), &json!({"text": text}));
    }

    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.ask("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Returns the value of an expression in the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        let script = json!({"script": format!("return {expression}"), "args": []});
        self.ask("POST", "/execute/sync", &script)
    }

    /// Waits until an expression in the page is true.
    pub(crate) fn wait_for(&self, expression: &str) {
        let began = now();
        while self.value(expression) != true {
            let text = || self.value("location.href + '\\n' + document.body.innerText");
            assert!(began.elapsed() < PATIENCE, "not {expression}: {}", text());
            sleep(Duration::from_millis(20));
        }
    }

    /// Uses a theme, and a width of the window in pixels.
    pub(crate) fn look(&self, theme: &str, width: u32) {
        let scheme = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.command("Emulation.setEmulatedMedia", &json!({"features": scheme}));
        let size = json!({"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Keeps a picture of the page beside the scratch files of the tests, for people.
    pub(crate) fn picture(&self, name: &str) {
        let picture = self.command("Page.captureScreenshot", &json!({"format": "png"}));
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png.base64"));
        std::fs::write(&file, picture["data"].as_str().unwrap()).unwrap();
        let decoded = Command::new("base64").arg("-d").arg(&file).output().unwrap().stdout;
        let picture: PathBuf = file.with_extension("");
        std::fs::write(picture, decoded).unwrap();
        std::fs::remove_file(file).unwrap();
    }

    /// Returns what the pages complained about on the console since the last call.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let entries = self.ask("POST", "/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| entry["message"].as_str().unwrap().to_owned()).collect()
    }

    fn element(&self, selector: &str) -> String {
        let by = json!({"using": "css selector", "value": selector});
        let found = self.ask("POST", "/element", &by);
        found[ELEMENT].as_str().unwrap_or_else(|| panic!("no {selector}")).to_owned()
    }

    /// Calls a method of the browser's own protocol.
    fn command(&self, method: &str, parameters: &Value) -> Value {
        self.ask("POST", "/goog/cdp/execute", &json!({"cmd": method, "params": parameters}))
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "{method} /session{}{path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.session,
            self.address,
            body.len()
        )
        .unwrap();
        let (status, body) = response(stream).unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{method} {path}: {body}");
        body["value"].clone()
    }
}

/// Reads a response, after which the driver leaves the connection open.
fn response(stream: TcpStream) -> std::io::Result<(String, Value)> {
    let mut lines = BufReader::new(stream);
    let (mut status, mut length) = (String::new(), 0);
    lines.read_line(&mut status)?;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some(("Content-Length", number)) => length = number.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body)?;
    Ok((status, serde_json::from_slice(&body)?))
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser with the session.
        if let Ok(mut stream) = TcpStream::connect(self.address) {
            let (session, host) = (&self.session, self.address);
            let _ = write!(
                stream,
                "DELETE /session{session} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let _ = response(stream);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
