//! What is asked, of every target.

use std::path::Path;

use anyhow::Context;
use load::Fault;
use load::driver::http1::{Http1, HttpWorkload, Static};
use load::measurement::Plan;
use measure::Random;
use script::{Defaults, Program, Script};

use super::target::Target;
use crate::output::Failure;

/// One form for all: only what makes requests differs.
pub(crate) type Driver = Http1<Box<dyn HttpWorkload + Send>>;

/// What was asked for on a command line.
pub(crate) struct Requested<'a> {
    pub(crate) method: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// A script and its arguments.
    pub(crate) script: Option<(&'a Path, &'a [String])>,
    pub(crate) seed: u64,
}

pub(crate) enum Workload {
    Static(Defaults),
    Script { program: Program, seed: u64, defaults: Defaults },
}

impl Workload {
    pub(crate) fn new(requested: Requested<'_>) -> Result<Workload, Failure> {
        let Requested { method, headers, body, script, seed } = requested;
        let defaults = Defaults { method: method.to_owned(), headers, body };
        let Some((path, arguments)) = script else { return Ok(Workload::Static(defaults)) };
        let program = Program::load(path, arguments.to_vec()).map_err(Failure::question)?;
        Ok(Workload::Script { program, seed, defaults })
    }

    /// The names of the labels that requests have.
    pub(crate) fn labels(&self) -> Vec<String> {
        Vec::new()
    }

    /// The driver of each lane. A script that does not load is a wrong question.
    pub(crate) fn drivers(&self, plan: &Plan, targets: &[Target]) -> Result<Vec<Driver>, Failure> {
        let of_each = plan.lanes_of_each() as usize;
        let lanes = plan.lanes.iter().enumerate();
        let drivers = lanes.map(|(lane, planned)| {
            let workload = self.make(&targets[lane / of_each], lane as u64)?;
            Ok(Http1::new(planned.connections, workload))
        });
        drivers.collect::<Result<_, Fault>>().map_err(Failure::question)
    }

    fn make(&self, target: &Target, lane: u64) -> Result<Box<dyn HttpWorkload + Send>, Fault> {
        match self {
            Workload::Static(Defaults { method, headers, body }) => {
                let mut fields: Vec<(&str, &str)> = Vec::new();
                if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
                    fields.push(("Host", &target.authority));
                }
                fields.extend(headers.iter().map(|(name, value)| (&**name, &**value)));
                let body = body.as_deref().unwrap_or_default();
                Ok(Box::new(Static::new(method, &target.path, &fields, body)))
            }
            Workload::Script { program, seed, defaults } => {
                let seed = Random::part(*seed, lane).next_u64();
                Ok(Box::new(Script::new(program, &target.for_script(), defaults, seed)?))
            }
        }
    }
}

pub(super) fn header(field: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = field
        .split_once(':')
        .with_context(|| format!("`{field}` is no header field; write `Name: value`"))?;
    let bad = |c: char| c.is_control() || c == ' ';
    anyhow::ensure!(
        !name.is_empty() && !name.contains(bad) && !value.contains(['\r', '\n']),
        "`{field}` is no header field; write `Name: value`"
    );
    Ok((name.to_owned(), value.trim().to_owned()))
}
