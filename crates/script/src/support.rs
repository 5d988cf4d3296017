//! Shared helpers of the tests: the script set of a given script, with its requests and answers by
//! hand.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use load::Fault;
use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing, Response};
use load::driver::{Label, Outcome, Session};
use measure::pace::Portion;
use net::Address;

use crate::program::LONGEST_CALL;
use crate::{
    Compatibility, Defaults, Network, Nowhere, Program, Script, ScriptSet, Seed, Stage, Stream,
    Target,
};

/// A stage that owns its parts.
pub(crate) struct Setting {
    pub(crate) compatibility: Compatibility,
    pub(crate) targets: Vec<Target>,
    pub(crate) threads: usize,
    pub(crate) part: Portion,
    pub(crate) defaults: Defaults,
    pub(crate) seed: Seed,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) arguments: Vec<String>,
    pub(crate) longest_call: Duration,
}

impl Default for Setting {
    fn default() -> Setting {
        Setting {
            compatibility: Compatibility::Native,
            targets: vec![target()],
            threads: 1,
            part: Portion::WHOLE,
            defaults: Defaults::default(),
            seed: Seed::Final(1),
            network: Arc::new(Nowhere),
            arguments: Vec::new(),
            longest_call: LONGEST_CALL,
        }
    }
}

impl Setting {
    pub(crate) fn of(compatibility: Compatibility) -> Setting {
        Setting { compatibility, ..Setting::default() }
    }

    pub(crate) fn with(self, network: Arc<dyn Network>) -> Setting {
        Setting { network, ..self }
    }

    pub(crate) fn play(self, source: &str) -> Result<(ScriptSet, Vec<Script>), Fault> {
        let path = Path::new("scripts/mine.lua");
        let arguments = self.arguments.clone();
        let program = Program::parse(path, source.into(), arguments).unwrap();
        let program = program.with_longest_call(self.longest_call);
        self.perform(&program)
    }

    pub(crate) fn perform(self, program: &Program) -> Result<(ScriptSet, Vec<Script>), Fault> {
        let stage = Stage {
            compatibility: self.compatibility,
            targets: &self.targets,
            threads: self.threads,
            part: self.part,
            defaults: &self.defaults,
            seed: self.seed,
            network: self.network,
        };
        ScriptSet::assemble(program, &stage)
    }

    /// The only script of a script set.
    pub(crate) fn script(self, source: &str) -> Result<Script, Fault> {
        self.play(source).map(|(_, mut scripts)| scripts.pop().unwrap())
    }
}

pub(crate) fn target() -> Target {
    Target {
        url: "http://localhost:5000".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: Some("5000".to_owned()),
        path: "/index.html?a=b".to_owned(),
    }
}

pub(crate) fn script(source: &str) -> Script {
    Setting::default().script(source).unwrap()
}

pub(crate) fn try_request(
    script: &mut Script,
    connection: u32,
) -> Result<(Vec<u8>, Vec<Expected>), Fault> {
    let (mut wire, mut expected) = (Vec::new(), Vec::new());
    let mut outgoing = Outgoing { wire: &mut wire, expected: &mut expected, label: Label::NONE };
    script.next(
        Origin { number: 0, label: Label::NONE, session: Session::NONE, connection },
        &mut outgoing,
    )?;
    Ok((wire, expected))
}

pub(crate) fn bytes(script: &mut Script) -> Vec<u8> {
    try_request(script, 0).unwrap().0
}

/// The next request, with the line ends of golden texts.
pub(crate) fn text(script: &mut Script) -> String {
    String::from_utf8(bytes(script)).unwrap().replace("\r\n", "\n")
}

/// The path of the next request.
pub(crate) fn path(script: &mut Script) -> String {
    text(script).split(' ').nth(1).unwrap().to_owned()
}

pub(crate) fn answer(
    script: &mut Script,
    connection: u32,
    expected: Expected,
    head: &str,
    body: &str,
) -> Result<Outcome, Fault> {
    let head = format!("{}\r\n\r\n", head.replace('\n', "\r\n"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let answered = script.answered(&Response {
        status,
        head: head.as_bytes(),
        body: body.as_bytes(),
        body_length: body.len() as u64,
        connection,
        tag: expected.tag,
    });
    answered.map(|(outcome, _)| outcome)
}

/// Makes a request, answers it, and returns the request.
pub(crate) fn exchange(script: &mut Script, head: &str, body: &str) -> String {
    let (wire, expected) = try_request(script, 0).unwrap();
    for expected in expected {
        answer(script, 0, expected, head, body).unwrap();
    }
    String::from_utf8(wire).unwrap().replace("\r\n", "\n")
}

pub(crate) fn inet(address: &str) -> Address {
    Address::Inet(address.parse::<SocketAddr>().unwrap())
}

/// A network with given addresses. Some of them accept connections, and these all answer alike.
#[derive(Default)]
pub(crate) struct Pretended {
    pub(crate) addresses: Vec<(&'static str, bool)>,
    pub(crate) answer: &'static str,
    pub(crate) asked: Arc<Mutex<Vec<u8>>>,
}

impl Network for Pretended {
    fn lookup(&self, _host: &str, service: &str) -> io::Result<Vec<Address>> {
        match service {
            "5000" | "http" => Ok(self.addresses.iter().map(|(name, _)| inet(name)).collect()),
            _ => Err(io::Error::other("Servname not supported for ai_socktype")),
        }
    }

    fn open(&self, to: &Address) -> io::Result<Box<dyn Stream>> {
        if self.addresses.iter().any(|(name, accepts)| *accepts && inet(name) == *to) {
            let answer = self.answer.replace('\n', "\r\n").into_bytes();
            return Ok(Box::new(Line {
                answer: io::Cursor::new(answer),
                asked: self.asked.clone(),
            }));
        }
        Err(io::Error::from_raw_os_error(111))
    }
}

struct Line {
    answer: io::Cursor<Vec<u8>>,
    asked: Arc<Mutex<Vec<u8>>>,
}

impl Read for Line {
    /// Reads in small pieces, as from a network.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(7);
        self.answer.read(&mut buffer[..length])
    }
}

impl Write for Line {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.asked.lock().unwrap().write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
