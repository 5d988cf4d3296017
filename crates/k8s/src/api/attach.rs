//! The standard input and the standard error of a running container.

use std::sync::mpsc::{self, Receiver};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api as Typed, AttachParams};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Api, Error};
use crate::objects::CONTAINER;

/// A connection to a running container; it ends when this is dropped.
pub struct Attached {
    input: UnboundedSender<String>,
    pub lines: Receiver<String>,
}

impl Attached {
    /// Writes a line to the container's standard input.
    pub fn tell(&self, line: &str) {
        // A connection that has ended is noticed by the end of its lines.
        let _ = self.input.send(format!("{line}\n"));
    }
}

impl Api {
    /// Connects to the container of a pod; fails if it does not run.
    pub fn attach(&self, namespace: &str, pod: &str) -> Result<Attached, Error> {
        let pods: Typed<Pod> = Typed::namespaced(self.client.clone(), namespace);
        let params =
            AttachParams::default().container(CONTAINER).stdin(true).stdout(false).stderr(true);
        let mut process = self.once(pods.attach(pod, &params)).map_err(Error::Unreachable)?;
        let (input, mut written) = unbounded_channel::<String>();
        let (sender, lines) = mpsc::channel();
        let mut stdin = process.stdin().expect("it was asked for");
        let stderr = process.stderr().expect("it was asked for");
        self.runtime.spawn(async move {
            let mut printed = BufReader::new(stderr).lines();
            loop {
                tokio::select! {
                    line = written.recv() => {
                        let Some(line) = line else { break };
                        if stdin.write_all(line.as_bytes()).await.is_err() {
                            break;
                        }
                    }
                    line = printed.next_line() => match line {
                        Ok(Some(line)) => drop(sender.send(line)),
                        Ok(None) | Err(_) => break,
                    },
                }
            }
            drop(process);
        });
        Ok(Attached { input, lines })
    }
}
