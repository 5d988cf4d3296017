use std::path::Path;

use expect_test::{Expect, expect};
use results::journal::Purpose;

use super::*;
use crate::backend::dry_run::DryRun;
use crate::course::Trial;
use crate::plan::Plan;
use crate::progress::Silent;
use crate::spec;
use crate::trial;

const SPEC: &str = "
name: users
where: {backend: kubernetes, cluster: {image: \"a:1\"}}
factors: {replicas: {path: sut.replicas, levels: [1, 3]}}
sut:
  deploy:
    - helm: {name: users, chart: users, service: users-balancer, deployment: users-service}
  ready: {get: \"/ready?replicas=${replicas.users}\"}
  initialise:
    steps: [http: {post: /register}]
    expect: [http: {get: /users, body: ann}]
  smoke: [{post: /login, body: token}]
workload: {get: /}
load: {model: open, rate: 100/s}
phases: {cool_down: {levels: 180s}, measure: {time: 5s}}
repeat: {trials: 2}
";

/// Checks the stages of one trial at each level.
fn check(text: &str, expected: Expect) {
    let read = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]);
    let plan = Plan::of(&read.unwrap()).unwrap();
    let (mut backend, mut system) = (DryRun::default(), System::default());
    for strand in 0..plan.strands.len() {
        let trial = Trial {
            number: strand as u32 + 1,
            purpose: Purpose::Trial,
            asked: measure::Rate::per_second(100.0),
            repetition: 1,
            attempt: 1,
            seed: 7,
            place: plan.place(strand),
        };
        let resolved = plan.resolved(strand);
        trial::run(&trial, resolved, &mut system, &mut backend, &mut Silent).unwrap();
    }
    let told: Vec<&str> =
        backend.told().iter().map(|line| line.split(" --rate").next().unwrap()).collect();
    expected.assert_eq(&(told.join("\n") + "\n"));
}

#[test]
fn a_level_with_other_replicas_of_a_deployment_is_scaled_and_checked_again() {
    check(
        SPEC,
        expect![[r#"
            install  users: helm users ./users --set replicaCount=1 · ready within 30 s
            ask      GET http://users/ready?replicas=1 → 200
            ask      POST http://users/register → 200
            ask      GET http://users/users → 200, `ann` in it
            ask      POST http://users/login → 200, `token` in it
            drive    benchwright load http://users/
            scale    users to 3
            ask      GET http://users.1/ready?replicas=3 → 200
            ask      GET http://users.2/ready?replicas=3 → 200
            ask      GET http://users.3/ready?replicas=3 → 200
            ask      GET http://users.1/users → 200, `ann` in it
            ask      POST http://users.1/login → 200, `token` in it
            rest     180 s
            drive    benchwright load http://users.1/ --address users.1,users.2,users.3
        "#]],
    );
}

#[test]
fn without_a_deployment_a_level_is_deployed_anew() {
    check(
        &SPEC.replace(", deployment: users-service", ""),
        expect![[r#"
            install  users: helm users ./users --set replicaCount=1 · ready within 30 s
            ask      GET http://users/ready?replicas=1 → 200
            ask      POST http://users/register → 200
            ask      GET http://users/users → 200, `ann` in it
            ask      POST http://users/login → 200, `token` in it
            drive    benchwright load http://users/
            stop     everything
            install  users: helm users ./users --set replicaCount=3 · ready within 30 s
            ask      GET http://users.1/ready?replicas=3 → 200
            ask      GET http://users.2/ready?replicas=3 → 200
            ask      GET http://users.3/ready?replicas=3 → 200
            ask      POST http://users.1/register → 200
            ask      GET http://users.1/users → 200, `ann` in it
            ask      POST http://users.1/login → 200, `token` in it
            rest     180 s
            drive    benchwright load http://users.1/ --address users.1,users.2,users.3
        "#]],
    );
}

#[test]
fn a_system_whose_other_parts_depend_on_the_replicas_is_deployed_anew() {
    let uses = "set: {balancer: \"${replicas.users}\"}, service: users-balancer";
    let text = SPEC.replace("service: users-balancer", uses);
    check(
        &text,
        expect![[r#"
            install  users: helm users ./users --set-string balancer=1 --set replicaCount=1 · ready within 30 s
            ask      GET http://users/ready?replicas=1 → 200
            ask      POST http://users/register → 200
            ask      GET http://users/users → 200, `ann` in it
            ask      POST http://users/login → 200, `token` in it
            drive    benchwright load http://users/
            stop     everything
            install  users: helm users ./users --set-string balancer=3 --set replicaCount=3 · ready within 30 s
            ask      GET http://users.1/ready?replicas=3 → 200
            ask      GET http://users.2/ready?replicas=3 → 200
            ask      GET http://users.3/ready?replicas=3 → 200
            ask      POST http://users.1/register → 200
            ask      GET http://users.1/users → 200, `ann` in it
            ask      POST http://users.1/login → 200, `token` in it
            rest     180 s
            drive    benchwright load http://users.1/ --address users.1,users.2,users.3
        "#]],
    );
}
