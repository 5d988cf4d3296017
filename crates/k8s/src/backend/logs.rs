//! The output of the pods of the system, with references in place of secrets.

use results::regular;

use super::{Connected, Kubernetes, MOST_LINES};
use crate::pods;

impl Kubernetes {
    /// Keeps what the pods printed.
    pub(super) fn write_logs(&self) {
        let Some(folder) = &self.logs else { return };
        let Ok(pods) = self.all_pods() else { return };
        // A log that cannot be kept is no reason to end a run; nor is it kept where a link in its place leads.
        if regular::make_folder(folder).is_err() {
            return;
        }
        let Connected { api, run, .. } = self.connected();
        for (service, pod) in &pods {
            let name = pods::name(pod);
            let namespace = service.chart.as_ref().map(|chart| self.namespace_of(chart));
            let namespace = namespace.unwrap_or(&run.namespace);
            let file = match namespace == run.namespace {
                true => format!("{name}.log"),
                false => format!("{namespace}.{name}.log"),
            };
            if let Ok(lines) = api.last_lines(namespace, name, MOST_LINES) {
                let text = run.secrets.hide(&lines.join("\n"));
                let _ = regular::replace(&folder.join(file), (text + "\n").as_bytes());
            }
        }
    }
}
