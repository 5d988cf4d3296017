use std::path::Path;

use super::contract::Contract;
use super::*;
use crate::spec;

mod cluster;

fn read(backend: &str) -> Resolved {
    let text = format!(
        "name: x\nwhere: {{backend: {backend}}}\nsimulated: {{service_time: 1ms}}\n\
         sut: {{deploy: [process: {{name: server, command: [sh]}}]}}\nworkload: {{get: /}}\n\
         load: {{model: open, rate: 10/s}}\nphases: {{measure: {{time: 1s}}}}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

#[test]
fn every_backend_keeps_the_contract() {
    let contract = Contract {
        server: &["sh", "-c", "echo ready http://127.0.0.1:1; exec sleep 60"],
        program: &["echo", "done"],
        output: "done",
    };
    contract.check(&mut dry_run::DryRun::default(), &read("local"));
    let simulated = read("simulated");
    contract.check(&mut simulated::Simulated::new(&simulated), &simulated);
}
