//! The objects of a run, as they would be made: nothing here talks to a cluster.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::backend::Stop;
use lab::experiment;
use lab::spec::{LOAD, Resolved};
use serde_json::Value;

use crate::helm::Helm;
use crate::load;
use crate::manifest;
use crate::objects::{self, Run};

/// Stands for the identity of the run, which it gets when it begins.
const ID: &str = "RUN";
/// Stands for the nodes of a role, which are known once the cluster is asked.
const NODES: &str = "NODES";

/// Returns all objects of an experiment's first trial as YAML, those of charts as helm renders them.
pub fn objects_of(resolved: &Resolved, interrupted: &Arc<AtomicBool>) -> Result<String, Stop> {
    let cluster = super::backend::cluster_of(resolved);
    let run = Run {
        id: ID.to_owned(),
        namespace: cluster.namespace.clone(),
        image: cluster.image.clone(),
        owner: None,
        // A plan shows references, whether or not there are values.
        secrets: resolved.secrets.without_values(),
    };
    let first = experiment::first(resolved).map_err(Stop::Question)?;
    let mut text = String::new();
    let mut add = |objects: &[Value]| {
        for object in objects {
            let yaml = serde_saphyr::to_string(object).expect("it is plain data");
            write!(text, "---\n{yaml}").expect("a String takes all");
        }
    };
    add(&[objects::namespace(&run), objects::owner(&run, &resolved.to_yaml())]);
    let files = load::without_secrets(load::read_files(resolved).map_err(Stop::Question)?);
    let secret_files = load::secret_files(&files).map(|(_, name, text)| (name, text));
    let secrets = objects::secrets(&run, &resolved.secrets_of_load(), secret_files);
    add(&secrets.into_iter().collect::<Vec<_>>());
    let nodes = |role: &str| vec![format!("{NODES} of role {role}")];
    let mut charts = Vec::new();
    for service in first.services() {
        let nodes = nodes(service.role);
        match (&service.chart, &service.manifest) {
            (Some(chart), _) => charts.push(chart),
            (None, None) => add(&objects::service(&run, service, &nodes)),
            (None, Some(path)) => {
                let objects = manifest::objects(&run, service, path, &nodes, 1);
                add(&objects.map_err(Stop::Question)?);
            }
        }
    }
    let receiver = load::receiver(resolved).map_err(Stop::Question)?;
    add(&receiver.iter().map(|port| objects::receiver(&run, *port)).collect::<Vec<_>>());
    for drive in first.drives() {
        let nodes = nodes(LOAD);
        let generators = load::generators(&run, 1, drive, &files, nodes, &cluster.generator);
        add(&objects::generators(&run, &generators));
    }
    for chart in charts {
        let namespace = chart.namespace.as_deref().unwrap_or(&run.namespace);
        text += &match Helm::new(None, None, Arc::clone(interrupted)).rendered(chart, namespace) {
            Ok(objects) => objects,
            Err(_) if interrupted.load(Ordering::Relaxed) => return Err(Stop::Interrupted),
            // A plan is also read where the run does not happen.
            Err(why) => format!("---\n# {} in {namespace}: {why}\n", chart.release),
        };
    }
    Ok(text)
}
