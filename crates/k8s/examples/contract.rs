//! Checks the contract of backends on a real cluster, that of `KUBECONFIG`:
//!
//! ```text
//! cargo run --package k8s --example contract SPEC
//! ```
//!
//! The spec says which cluster, nodes and image; nothing else of it is run.

use std::path::PathBuf;

use k8s::Kubernetes;
use lab::Host;
use lab::backend::contract::Contract;

fn main() -> anyhow::Result<()> {
    let spec = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    let resolved = lab::spec::load(&spec, Some("cluster"), &[])?;
    let version = env!("CARGO_PKG_VERSION");
    let host = Host::new(std::env::current_exe()?, version);
    let contract = Contract {
        server: &["benchwright", "reference"],
        program: &["benchwright", "--version"],
        output: &format!("benchwright {version}"),
    };
    contract.check(&mut Kubernetes::new(host, |_| {}), &resolved);
    Ok(())
}
