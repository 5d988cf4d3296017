//! `benchwright doctor`: whether the place of an experiment is fit to measure.

use k8s::Kubernetes;
use lab::backend::Backend;
use lab::spec::BackendKind;
use results::Doctor;
use results::doctor::Check;

use super::run;
use crate::cli;
use crate::output::{self, Exit, Failure};

pub(crate) fn doctor(arguments: &cli::Doctor) -> Result<Exit, Failure> {
    let resolved = run::resolve(&arguments.spec)?;
    if resolved.spec.where_.backend != BackendKind::Kubernetes {
        return Err(Failure::question(
            "this experiment does not run on a cluster; add for example --profile cluster",
        ));
    }
    let mut cluster = Kubernetes::new(run::host()?, output::error);
    let known = resolved.spec.doctor.check(&cluster.checks(), &resolved);
    known.map_err(|error| Failure::question(error.to_string()))?;
    let doctor = cluster.diagnose(&resolved, None).map_err(|stop| run::failed(stop.into()))?;
    let doctor = doctor.expect("a cluster has checks");
    output::result(&match arguments.json {
        true => output::json(&doctor),
        false => text(&doctor),
    })?;
    Ok(if doctor.checks.iter().any(Check::refuses) { Exit::No } else { Exit::Answered })
}

/// Returns a line for each check, and the remedy of those that are not ok.
fn text(doctor: &Doctor) -> String {
    let mut text = String::new();
    for check in &doctor.checks {
        text += &format!("{:<8} {}: {}\n", check.word(), check.name, check.value);
        if let Some(remedy) = &check.remedy {
            text += &format!("         {remedy}\n");
        }
    }
    text + &format!("fingerprint {}\n", doctor.fingerprint.hash)
}
