use std::path::Path;

use expect_test::{Expect, expect};
use measure::Rate;
use results::journal::Purpose;

use crate::backend::Backend;
use crate::backend::dry_run::DryRun;
use crate::course::{Position, Trial};
use crate::progress::Silent;
use crate::spec::{self, Resolved};
use crate::system::System;
use crate::trial;

/// A store that is filled, in front of it a web server, in two instances.
const SHOP: &str = "
name: shop
vars: {n: \"1000\"}
sut:
  instances: 2
  deploy:
    - process: {name: store, command: [store, --port, \"${port}\", --dir, \"${folder}\"], port: auto}
    - run: {command: [fill, \"${addresses.store}\", \"${vars.n}\"]}
    - wait: {time: 2s}
    - process: {name: web, command: [web, \"${addresses.store}\"]}
    - http: {post: /warm, send: {json: {n: \"${vars.n}\"}}, status: [200, 201]}
  initialise:
    once_per: ONCE
    steps: [http: {post: /load}]
    expect:
      - http: {get: /count, to: store, body_equals: \"${vars.n}\"}
      - run: {command: [count, \"${addresses.store}\"], output_equals: \"${vars.n}\"}
  smoke: [{get: /smoke}]
  teardown: [http: {post: /bye}]
reset: {between: trials, steps: [http: {post: /reset}, wait: {until: {http: {get: /ready}}}]}
workload: {get: /}
load: {model: open, rate: 100/s}
";

fn read(text: &str) -> Resolved {
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

/// Checks the operations of two trials, without the generator's arguments.
fn check(text: &str, expected: Expect) {
    let resolved = read(text);
    let mut backend = DryRun::default();
    let mut system = System::default();
    for repetition in 1..=2 {
        let (purpose, asked) = (Purpose::Trial, Rate::per_second(100.0));
        let place = Position::default();
        let number = repetition;
        let trial = Trial { number, purpose, asked, repetition, attempt: 1, seed: 7, place };
        trial::run(&trial, &resolved, &mut system, &mut backend, &mut Silent).unwrap();
    }
    system.teardown(&mut backend, &mut Silent);
    backend.stop();
    let told = backend.told().iter().map(|line| match line.starts_with("drive") {
        true => "drive".to_owned(),
        false => line.clone(),
    });
    expected.assert_eq(&(told.collect::<Vec<_>>().join("\n") + "\n"));
}

#[test]
fn actions_are_barriers_and_initialising_comes_before_the_smoke_test() {
    check(
        &SHOP.replace("ONCE", "deploy"),
        expect![[r#"
        start    store-1: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        start    store-2: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store-1 1000
        run      fill store-2 1000
        rest     2 s
        start    web-1: web store-1 --listen 127.0.0.1:0 · ready within 30 s
        start    web-2: web store-2 --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web-1/warm {"n":"1000"} → 200 or 201
        ask      POST http://web-2/warm {"n":"1000"} → 200 or 201
        ask      POST http://web-1/load → 200
        ask      POST http://web-2/load → 200
        ask      GET http://store-1/count → 200, `1000`
        ask      GET http://store-2/count → 200, `1000`
        run      count store-1 → `1000`
        run      count store-2 → `1000`
        ask      GET http://web-1/smoke → 200
        ask      GET http://web-2/smoke → 200
        ask      POST http://web-1/reset → 200
        ask      POST http://web-2/reset → 200
        ask      GET http://web-1/ready → 200
        ask      GET http://web-2/ready → 200
        drive
        ask      POST http://web-1/reset → 200
        ask      POST http://web-2/reset → 200
        ask      GET http://web-1/ready → 200
        ask      GET http://web-2/ready → 200
        drive
        ask      POST http://web-1/bye → 200
        ask      POST http://web-2/bye → 200
        stop     everything
    "#]],
    );
}

#[test]
fn data_of_each_trial_is_loaded_after_its_reset() {
    let text = SHOP.replace("ONCE", "trial").replace("instances: 2", "instances: 1");
    check(
        &text.replace("  smoke: [{get: /smoke}]\n", ""),
        expect![[r#"
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/reset → 200
        ask      GET http://web/ready → 200
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/bye → 200
        stop     everything
    "#]],
    );
}

#[test]
fn a_restarted_system_is_initialised_again_unless_its_data_survives() {
    let restart = SHOP
        .replace("instances: 2", "instances: 1")
        .replace(", steps: [http: {post: /reset}, wait: {until: {http: {get: /ready}}}]", "");
    check(
        &restart.replace("ONCE", "deploy"),
        expect![[r#"
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        ask      GET http://web/smoke → 200
        ask      POST http://web/bye → 200
        stop     everything
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/bye → 200
        stop     everything
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/bye → 200
        stop     everything
    "#]],
    );
    check(
        &restart.replace("ONCE", "experiment"),
        expect![[r#"
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        ask      GET http://web/smoke → 200
        ask      POST http://web/bye → 200
        stop     everything
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/bye → 200
        stop     everything
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        drive
        ask      POST http://web/bye → 200
        stop     everything
    "#]],
    );
}

#[test]
fn restarted_components_keep_their_addresses() {
    let text = SHOP.replace("ONCE", "deploy").replace("instances: 2", "instances: 1");
    let text = text.replace("http: {post: /reset}", "restart: [store, web]");
    check(
        &text,
        expect![[r#"
        start    store: store --port ${port} --dir ${folder} · port auto · ready within 30 s
        run      fill store 1000
        rest     2 s
        start    web: web store --listen 127.0.0.1:0 · ready within 30 s
        ask      POST http://web/warm {"n":"1000"} → 200 or 201
        ask      POST http://web/load → 200
        ask      GET http://store/count → 200, `1000`
        run      count store → `1000`
        ask      GET http://web/smoke → 200
        restart  store
        restart  web
        ask      GET http://web/ready → 200
        drive
        restart  store
        restart  web
        ask      GET http://web/ready → 200
        drive
        ask      POST http://web/bye → 200
        stop     everything
    "#]],
    );
}

#[test]
fn objects_of_a_cluster_are_changed_in_their_turn() {
    let text = "
name: shop
where: {backend: simulated}
vars: {name: home}
sut:
  deploy:
    - helm: {name: redis, chart: redis, namespace: \"shop-${instance}\", service: redis}
    - helm: {name: web, chart: web, namespace: \"shop-${instance}\", service: web}
    - config: {map: \"${vars.name}\", namespace: \"shop-${instance}\", key: redis, value: \"${addresses.redis}\", restart: \"${vars.name}\"}
  initialise:
    steps: [http: {post: /load}, scale: {namespace: \"shop-${instance}\", deployments: {home: 2}}]
reset: {between: never}
workload: {get: /}
load: {model: open, rate: 100/s}
simulated: {service_time: 1ms}
";
    check(
        text,
        expect![[r#"
        install  redis: helm redis ./redis -n shop-1 --set replicaCount=1 · ready within 30 s
        install  web: helm web ./web -n shop-1 --set replicaCount=1 · ready within 30 s
        change   edit -n shop-1 configmap home: redis = redis, then restart home
        ask      POST http://web/load → 200
        change   scale -n shop-1 home to 2
        drive
        drive
        stop     everything
    "#]],
    );
}
