//! A real Prometheus for a test.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{free_port, get, signal, until};

/// A running Prometheus; it ends with the test.
pub(crate) struct Prometheus {
    child: Child,
    pub(crate) url: String,
}

impl Prometheus {
    /// Starts one with its files in a folder, and waits until it is ready. `config` gets its address.
    pub(crate) fn start(folder: &Path, config: impl FnOnce(&str) -> String) -> Prometheus {
        let address = format!("127.0.0.1:{}", free_port());
        let file = folder.join("prometheus.yml");
        std::fs::write(&file, config(&address)).unwrap();
        let mut command = Command::new("prometheus");
        command.arg("--config.file").arg(file);
        command.arg("--storage.tsdb.path").arg(folder.join("tsdb"));
        command.arg("--web.listen-address").arg(&address);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let prometheus = Prometheus { child, url: format!("http://{address}") };
        // It listens before it answers queries.
        until("Prometheus is ready", || {
            std::net::TcpStream::connect(&address).is_ok()
                && get(&prometheus.url, "/-/ready").contains("is Ready")
        });
        prometheus
    }

    /// Returns the answer to a query.
    pub(crate) fn ask(&self, query: &str) -> Value {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let answer = get(&self.url, &format!("/api/v1/query?query={encoded}"));
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{query}: {error}: {answer}"))
    }

    /// Returns the numbers that a query has now. What is not a number is no value: a quotient without
    /// requests, for example.
    pub(crate) fn values(&self, query: &str) -> Vec<f64> {
        let answer = self.ask(query);
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let result = answer["data"]["result"].as_array().unwrap();
        let values = result.iter().map(|series| series["value"][1].as_str().unwrap());
        values.map(|value| value.parse::<f64>().unwrap()).filter(|x| x.is_finite()).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        signal(self.child.id(), "TERM");
        let _ = self.child.wait();
    }
}
