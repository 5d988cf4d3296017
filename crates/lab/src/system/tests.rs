use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::backend::simulated::Simulated;
use crate::backend::{Drive, Driven, Executed, Ticking};
use crate::calm::Calm;
use crate::http::Reply;
use crate::progress::Silent;
use crate::spec::{self, Run};

/// A backend with given responses, one after the other; the last one is repeated.
struct Answers {
    clock: Simulated,
    answers: Vec<Result<Reply, String>>,
}

impl Backend for Answers {
    fn now(&mut self) -> Instant {
        self.clock.now()
    }
    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.clock.pause(length)
    }
    fn prepare(&mut self, resolved: &Resolved) -> Result<results::Environment, Stop> {
        self.clock.prepare(resolved)
    }
    fn date(&mut self) -> Option<Nanos> {
        None
    }
    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        let address = |name: &String| Address::of_all(&format!("http://{name}"));
        let of_service = |service: &Service| service.replicas().iter().map(address).collect();
        Ok(wave.iter().map(of_service).collect())
    }
    fn restart(&mut self, services: &[String]) -> Result<(), Stop> {
        self.clock.restart(services)
    }
    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        self.clock.scale(service, replicas)
    }
    fn execute(&mut self, run: &Run) -> Result<Executed, String> {
        self.clock.execute(run)
    }
    fn placement(&mut self) -> Result<std::collections::BTreeMap<String, String>, Stop> {
        self.clock.placement()
    }
    fn ask(&mut self, _url: &str, _exchange: &Exchange) -> Result<Reply, String> {
        match self.answers.len() {
            1 => self.answers[0].clone(),
            _ => self.answers.remove(0),
        }
    }
    fn check(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn await_calm(&mut self, _: Nanos) -> Result<Calm, Stop> {
        unreachable!("no trial is repeated here")
    }
    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        self.clock.drive(drive, tick)
    }
    fn stop(&mut self) {}
}

fn reply(status: u16, body: &str) -> Result<Reply, String> {
    Ok(Reply { status, body: body.to_owned() })
}

/// Checks how deploying ends when the system gives these responses.
fn check(sut: &str, answers: Vec<Result<Reply, String>>, expected: Expect) {
    let text = format!(
        "name: x\nsimulated: {{service_time: 1ms}}\n\
         sut: {{deploy: [process: {{name: shop, command: [shop]}}], {sut}}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: 10/s}}\nphases: {{measure: {{time: 5s}}}}\n"
    );
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let resolved = read.unwrap();
    let mut backend = Answers { clock: Simulated::new(&resolved), answers };
    let mut system = System::default();
    let text = match system.deploy(&resolved, &mut backend, &mut Silent) {
        Ok(()) => format!("{:?} after {}", system.urls, backend.now() - Instant::default()),
        Err(Stop::NoAnswer(error)) => error.to_string(),
        Err(other) => format!("{other:?}"),
    };
    expected.assert_eq(&text);
}

#[test]
fn a_system_is_polled_until_it_is_ready() {
    let refused = Err("connection refused".to_owned());
    let answers = vec![refused.clone(), refused.clone(), reply(503, ""), reply(200, "")];
    check("ready: {get: /healthz}", answers, expect![[r#"["http://shop"] after 150 ms"#]]);
    check(
        "ready: {get: /healthz, within: 2s}",
        vec![refused],
        expect![[r#"
            the system did not become ready in 2 s
              waiting for GET http://shop/healthz: connection refused"#]],
    );
    check(
        "ready: {get: /healthz, within: 2s}",
        vec![reply(503, "")],
        expect![[r#"
            the system did not become ready in 2 s
              waiting for GET http://shop/healthz: status 503"#]],
    );
}

#[test]
fn a_smoke_test_compares_status_and_body() {
    let smoke = "smoke: [{post: /login, body: welcome}]";
    check(smoke, vec![reply(200, "welcome back")], expect![[r#"["http://shop"] after 0"#]]);
    check(
        smoke,
        vec![reply(200, "go away\n")],
        expect![[r#"
        the smoke test failed
          POST http://shop/login: no `welcome` in the answer: go away"#]],
    );
    check(
        smoke,
        vec![reply(500, "store: no disk\n")],
        expect![[r#"
        the smoke test failed
          POST http://shop/login: status 500 instead of 200: store: no disk"#]],
    );
    check(
        smoke,
        vec![Err("connection refused".to_owned())],
        expect![[r#"
        the smoke test failed
          POST http://shop/login: connection refused"#]],
    );
}

#[test]
fn every_replica_of_the_endpoint_is_polled_until_ready_and_the_first_is_smoke_tested() {
    let refused = Err("connection refused".to_owned());
    let answers =
        vec![reply(200, ""), refused, reply(200, ""), reply(200, "welcome"), reply(500, "")];
    let sut = "replicas: 2, ready: {get: /healthz}, smoke: [{post: /login, body: welcome}]";
    check(sut, answers, expect![[r#"["http://shop.1"] after 50.0 ms"#]]);
}
