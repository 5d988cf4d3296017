use std::path::Path;

use expect_test::{Expect, expect};
use measure::Rate;

use super::*;
use crate::backend::dry_run::DryRun;
use crate::spec;

const TWO_INSTANCES: &str = "
name: shop
vars: {size: small}
sut:
  instances: 2
  deploy:
    - process: {name: store, command: [store, --size, \"${vars.size}\"], cpu_limit: 0.5}
    - process: {name: front, command: [benchwright, reference], environment: {SHOP: \"${instance}\"}}
  ready: {get: /healthz}
  smoke: [{post: \"/login?n=${instance}\", body: welcome}]
reset: {between: trials, steps: [http: {post: /reset}]}
workload: {get: /}
load: {model: open, rate: 100/s}
phases: {settle: 2s, measure: {time: 5s}}
";

/// Checks the stages of two trials in a row, in order.
fn check(text: &str, expected: Expect) {
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let resolved = read.unwrap();
    let mut backend = DryRun::default();
    let mut system = System::default();
    for repetition in 1..=2 {
        let (number, attempt, seed) = (repetition, 1, 7);
        let (asked, purpose) = (Rate::per_second(100.0), Purpose::Trial);
        let place = Position::default();
        let trial = Trial { number, purpose, asked, repetition, attempt, seed, place };
        run(&trial, &resolved, &mut system, &mut backend, &mut crate::progress::Silent).unwrap();
    }
    backend.stop();
    expected.assert_eq(&(backend.told().join("\n") + "\n"));
}

#[test]
fn the_stages_of_a_trial_are_in_order_and_deploying_happens_once() {
    check(
        TWO_INSTANCES,
        expect![[r#"
            start    store-1: store --size small --listen 127.0.0.1:0 · at most 0.5 CPUs · ready within 30 s
            start    front-1: SHOP=1 benchwright reference --listen 127.0.0.1:0 · ready within 30 s
            start    store-2: store --size small --listen 127.0.0.1:0 · at most 0.5 CPUs · ready within 30 s
            start    front-2: SHOP=2 benchwright reference --listen 127.0.0.1:0 · ready within 30 s
            ask      GET http://front-1/healthz → 200
            ask      GET http://front-2/healthz → 200
            ask      POST http://front-1/login?n=1 → 200, `welcome` in it
            ask      POST http://front-2/login?n=2 → 200, `welcome` in it
            ask      POST http://front-1/reset → 200
            ask      POST http://front-2/reset → 200
            rest     2 s
            drive    benchwright load http://front-1/ http://front-2/ --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json --per-target
            ask      POST http://front-1/reset → 200
            ask      POST http://front-2/reset → 200
            rest     2 s
            drive    benchwright load http://front-1/ http://front-2/ --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json --per-target
            stop     everything
        "#]],
    );
}

#[test]
fn components_without_needs_start_together_and_the_others_once_those_are_ready() {
    let text = "
name: shop
sut:
  instances: 2
  replicas: 2
  deploy:
    - process: {name: front, command: [front, --carts, \"${addresses.cart}\"], needs: [mail], memory_limit: 64MiB}
    - process: {name: cart, command: [cart], environment: {STORE: \"${addresses.store}\"}}
    - process: {name: store, command: [store], replicas: 1, ready: {get: /ready}}
    - process: {name: mail, command: [mail], ready: {within: 5s}}
  endpoint: front
  ready: {get: /healthz, within: 10s}
  smoke: [{get: /, body: welcome}]
workload: {get: /}
load: {model: open, rate: 100/s, script_threads: 4}
phases: {measure: {time: 5s}}
";
    check(
        text,
        expect![[r#"
        start    store-1: store --listen 127.0.0.1:0 · ready within 30 s
        start    mail-1 ×2: mail --listen 127.0.0.1:0 · ready within 5 s
        start    store-2: store --listen 127.0.0.1:0 · ready within 30 s
        start    mail-2 ×2: mail --listen 127.0.0.1:0 · ready within 5 s
        ask      GET http://store-1/ready → 200
        ask      GET http://store-2/ready → 200
        start    cart-1 ×2: STORE=store-1 cart --listen 127.0.0.1:0 · ready within 10 s
        start    cart-2 ×2: STORE=store-2 cart --listen 127.0.0.1:0 · ready within 10 s
        start    front-1 ×2: front --carts cart-1.1,cart-1.2 --listen 127.0.0.1:0 · at most 64MiB · ready within 10 s
        start    front-2 ×2: front --carts cart-2.1,cart-2.2 --listen 127.0.0.1:0 · at most 64MiB · ready within 10 s
        ask      GET http://front-1.1/healthz → 200
        ask      GET http://front-1.2/healthz → 200
        ask      GET http://front-2.1/healthz → 200
        ask      GET http://front-2.2/healthz → 200
        ask      GET http://front-1.1/ → 200, `welcome` in it
        ask      GET http://front-2.1/ → 200, `welcome` in it
        drive    benchwright load http://front-1.1/ http://front-2.1/ --address front-1.1,front-1.2 --address front-2.1,front-2.2 --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json --per-target
        drive    benchwright load http://front-1.1/ http://front-2.1/ --address front-1.1,front-1.2 --address front-2.1,front-2.2 --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json --per-target
        stop     everything
    "#]],
    );
}

/// Only a run knows its port.
#[test]
fn a_component_whose_scheme_has_no_usual_port_is_planned() {
    let text = "
name: shop
sut:
  deploy:
    - process: {name: queue, command: [nats, \"${port}\"], port: auto, scheme: nats}
    - process: {name: front, command: [front, \"${urls.queue}\"]}
workload: {get: /}
load: {model: open, rate: 100/s}
phases: {measure: {time: 5s}}
";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let mut backend = DryRun::default();
    System::default().deploy(&resolved, &mut backend, &mut crate::progress::Silent).unwrap();
    let front = backend.told().iter().find(|step| step.contains("front: ")).unwrap();
    assert!(front.contains("front nats://queue:1 "), "{front}");
}

#[test]
fn a_reset_without_steps_restarts_the_components() {
    let text = TWO_INSTANCES
        .replace(", steps: [http: {post: /reset}]", "")
        .replace("instances: 2", "instances: 1");
    check(
        &text,
        expect![[r#"
        start    store: store --size small --listen 127.0.0.1:0 · at most 0.5 CPUs · ready within 30 s
        start    front: SHOP=1 benchwright reference --listen 127.0.0.1:0 · ready within 30 s
        ask      GET http://front/healthz → 200
        ask      POST http://front/login?n=1 → 200, `welcome` in it
        stop     everything
        start    store: store --size small --listen 127.0.0.1:0 · at most 0.5 CPUs · ready within 30 s
        start    front: SHOP=1 benchwright reference --listen 127.0.0.1:0 · ready within 30 s
        ask      GET http://front/healthz → 200
        rest     2 s
        drive    benchwright load http://front/ --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json
        stop     everything
        start    store: store --size small --listen 127.0.0.1:0 · at most 0.5 CPUs · ready within 30 s
        start    front: SHOP=1 benchwright reference --listen 127.0.0.1:0 · ready within 30 s
        ask      GET http://front/healthz → 200
        rest     2 s
        drive    benchwright load http://front/ --rate 100/s --arrivals poisson --connections 32 --warm-up 1s --duration 5s --drain 1s --timeout 10s --seed 7 --progress lines --json
        stop     everything
    "#]],
    );
}
