//! A small cluster on which every check is good: the system on w1 and w2, the load on w3.

use results::doctor::Check;
use serde_json::json;

use super::super::*;
use crate::lease;

pub(super) const NOW: &str = "2026-11-23T03:00:00Z";
pub(super) const DIGEST: &str =
    "sha256:1111111111111111111111111111111111111111111111111111111111111111";

#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) answers: Answers,
    pub(super) wanted: Demands,
}

pub(super) fn now() -> u64 {
    lease::seconds_of(NOW).unwrap()
}

pub(super) fn texts<const N: usize>(texts: [&str; N]) -> BTreeSet<String> {
    texts.map(str::to_owned).into_iter().collect()
}

pub(super) fn forbidden<T>(right: &str) -> Answer<T> {
    Err(Missing::Forbidden(right.to_owned()))
}

pub(super) fn node(name: &str) -> Value {
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/instance-type": "m7i.large",
            },
        },
        "spec": {"podCIDR": "198.19.1.0/24"},
        "status": {
            "capacity": {"cpu": "2", "memory": "8143104Ki", "pods": "110"},
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "DiskPressure", "status": "False"},
                {"type": "PIDPressure", "status": "False"},
                {"type": "Ready", "status": "True", "reason": "KubeletReady"},
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": format!("boot of {name}"),
                "containerRuntimeVersion": "containerd://1.6.20",
                "kernelVersion": "6.12.1",
                "kubeletVersion": "v1.34.1",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
            },
        },
    })
}

/// A pod with one container that asks for a whole CPU.
pub(super) fn pod(namespace: &str, name: &str, node: &str, owner: Option<(&str, &str)>) -> Value {
    let resources = json!({"cpu": "1", "memory": "64Mi"});
    let owners: Vec<Value> = owner
        .into_iter()
        .map(|(kind, name)| json!({"kind": kind, "name": name, "controller": true}))
        .collect();
    json!({
        "metadata": {"namespace": namespace, "name": name, "labels": {}, "ownerReferences": owners},
        "spec": {
            "nodeName": node,
            "containers": [{
                "name": "main",
                "image": "local/benchwright:1",
                "resources": {"limits": resources, "requests": resources},
            }],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Guaranteed",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{
                "name": "main",
                "imageID": format!("local/benchwright@{DIGEST}"),
                "ready": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-23T02:58:00Z"}},
            }],
        },
    })
}

/// A pod of ours, with the labels of the run.
pub(super) fn own_pod(name: &str, node: &str, owner: Option<(&str, &str)>) -> Value {
    let mut pod = pod("demo", name, node, owner);
    pod["metadata"]["labels"] = labels();
    pod
}

fn labels() -> Value {
    json!({"app.kubernetes.io/managed-by": "benchwright", "benchwright.dev/run": "0123456789"})
}

fn kubelet(node: &str, pods: &[&str]) -> Kubelet {
    let label = |pod: &str| format!("container=\"main\",namespace=\"demo\",pod=\"{pod}\"");
    let figures = |pod: &&str| {
        let label = label(pod);
        format!(
            "container_cpu_usage_seconds_total{{{label},cpu=\"total\"}} 12.5 1795402800000\n\
             container_cpu_cfs_periods_total{{{label}}} 900 1795402800000\n\
             container_cpu_cfs_throttled_periods_total{{{label}}} 0 1795402800000\n"
        )
    };
    let used = |pod: &&str| json!({"podRef": {"namespace": "demo", "name": pod}});
    Kubelet {
        configz: Ok(json!({"kubeletconfig": {
            "cpuManagerPolicy": "static",
            "cpuManagerReconcilePeriod": "10s",
            "topologyManagerPolicy": "none",
            "topologyManagerScope": "container",
            "memoryManagerPolicy": "None",
            "cpuCFSQuota": true,
            "cpuCFSQuotaPeriod": "100ms",
            "reservedSystemCPUs": "0",
        }})),
        summary: Ok(json!({
            "node": {"nodeName": node, "cpu": {"usageNanoCores": 1_250_000_000_u64}},
            "pods": pods.iter().map(used).collect::<Vec<Value>>(),
        })),
        cadvisor: Ok(pods.iter().map(figures).collect()),
        metrics: Ok(format!(
            "# TYPE kubelet_cpu_manager_exclusive_cpu_allocation_count gauge\n\
             kubelet_cpu_manager_exclusive_cpu_allocation_count {}\n",
            pods.len()
        )),
    }
}

fn frontend() -> Value {
    let made = own_pod("frontend-0", "", None);
    json!({
        "metadata": {"namespace": "demo", "name": "frontend", "generation": 1},
        "spec": {
            "replicas": 2,
            "template": {
                "metadata": {"labels": labels()},
                "spec": {"containers": made["spec"]["containers"]},
            },
        },
        "status": {
            "observedGeneration": 1,
            "replicas": 2,
            "readyReplicas": 2,
            "currentReplicas": 2,
            "updatedReplicas": 2,
            "availableReplicas": 2,
        },
    })
}

fn services() -> Vec<Value> {
    vec![
        json!({
            "metadata": {"namespace": "demo", "name": "frontend"},
            "spec": {"type": "ClusterIP", "clusterIP": "None"},
        }),
        json!({
            "metadata": {"namespace": "demo", "name": "door"},
            "spec": {
                "type": "NodePort",
                "clusterIP": "198.18.16.7",
                "externalTrafficPolicy": "Local",
            },
        }),
    ]
}

fn slice() -> Value {
    let endpoint = |index: u32| {
        json!({
            "addresses": [format!("198.19.{}.5", index + 1)],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "targetRef": {"kind": "Pod", "namespace": "demo", "name": format!("frontend-{index}")},
        })
    };
    json!({
        "metadata": {
            "namespace": "demo",
            "name": "frontend-x7k2p",
            "labels": {"kubernetes.io/service-name": "frontend"},
        },
        "addressType": "IPv4",
        "endpoints": [endpoint(0), endpoint(1)],
    })
}

fn pods() -> Vec<Value> {
    let mut pods = vec![
        own_pod("frontend-0", "w1", Some(("StatefulSet", "frontend"))),
        own_pod("frontend-1", "w2", Some(("StatefulSet", "frontend"))),
        own_pod("load-1-0-x2x8z", "w3", Some(("Job", "load-1"))),
    ];
    for (daemon, node) in
        ["w1", "w2", "w3"].into_iter().flat_map(|node| [("kube-proxy", node), ("kindnet", node)])
    {
        let name = format!("{daemon}-{node}");
        pods.push(pod("kube-system", &name, node, Some(("DaemonSet", daemon))));
    }
    pods
}

impl Cluster {
    pub(super) fn good() -> Cluster {
        let kubelets: BTreeMap<String, Kubelet> =
            [("w1", "frontend-0"), ("w2", "frontend-1"), ("w3", "load-1-0-x2x8z")]
                .map(|(node, pod)| (node.to_owned(), kubelet(node, &[pod])))
                .into();
        let cadvisor = |(node, kubelet): (&String, &Kubelet)| {
            (node.clone(), kubelet.cadvisor.clone().unwrap())
        };
        let before = Before {
            cadvisor: kubelets.iter().map(cadvisor).collect(),
            endpoint_slices: vec![slice()],
        };
        let of_pod = |pod: &str| (format!("demo/{pod}/main"), Ok("1".to_owned()));
        let host = |node: &str| {
            (node.to_owned(), Doctor::new(Vec::new(), Fingerprint::new(BTreeMap::new(), None)))
        };
        let proxy = json!({"data": {
            "config.conf": "kind: KubeProxyConfiguration\ndetectLocalMode: \"\"\nmode: nftables\n",
            "kubeconfig.conf": "kind: Config\n",
        }});
        let yearly = json!({
            "metadata": {"namespace": "backup", "name": "yearly"},
            "spec": {"schedule": "0 0 1 1 *", "suspend": false},
        });
        let answers = Answers {
            now_unix_s: now(),
            nodes: Ok(vec![node("w1"), node("w2"), node("w3")]),
            kubelets,
            pods: Ok(pods()),
            pods_elsewhere: Ok(()),
            cpusets: ["frontend-0", "frontend-1", "load-1-0-x2x8z"].map(of_pod).into(),
            deployments: Ok(Vec::new()),
            stateful_sets: Ok(vec![frontend()]),
            daemon_sets: Ok(Vec::new()),
            services: Ok(services()),
            endpoint_slices: Ok(vec![slice()]),
            events: Ok(Vec::new()),
            horizontal_autoscalers: Ok(Vec::new()),
            vertical_autoscalers: Err(Missing::Absent),
            scaled_objects: Err(Missing::Absent),
            cron_jobs: Ok(vec![yearly]),
            proxy: Ok(Proxy::ConfigMap(proxy)),
            prometheus: Some(Prometheus {
                rate_window: Nanos::from_secs(60),
                scrape_interval: Ok(Nanos::from_secs(15)),
                measure: Nanos::from_secs(120),
            }),
            hosts: Ok(["w1", "w2", "w3"].map(host).into()),
            latencies: [4, 5, 7, 30].map(Nanos::from_millis).to_vec(),
            before: Some(before),
        };
        let role = |role: &str, nodes: &[&str]| {
            (role.to_owned(), nodes.iter().map(|node| (*node).to_owned()).collect::<Vec<_>>())
        };
        let wanted = Demands {
            roles: [role("sut", &["w1", "w2"]), role(LOAD, &["w3"])].into(),
            run: "0123456789".to_owned(),
            namespaces: texts(["demo"]),
            exclusive: true,
            spread: true,
            endpoints: [("demo/frontend".to_owned(), 2)].into(),
            daemon_sets: texts(["kube-system/*"]),
            since_unix_s: Some(now() - 60),
            horizon: Nanos::from_secs(600),
            terms: Terms::default(),
        };
        Cluster { answers, wanted }
    }

    /// A good cluster before anything of ours is deployed.
    pub(super) fn empty() -> Cluster {
        let mut cluster = Cluster::good();
        cluster.pods().retain(|pod| pod["metadata"]["namespace"] == "kube-system");
        for list in [
            &mut cluster.answers.stateful_sets,
            &mut cluster.answers.services,
            &mut cluster.answers.endpoint_slices,
        ] {
            *list = Ok(Vec::new());
        }
        cluster.answers.before = None;
        cluster.wanted.since_unix_s = None;
        cluster
    }

    pub(super) fn doctor(&self) -> Doctor {
        diagnose(&self.answers, &self.wanted)
    }

    pub(super) fn check(&self, id: &str) -> Check {
        self.doctor().checks.into_iter().find(|check| check.id == id).unwrap()
    }

    pub(super) fn node(&mut self, index: usize) -> &mut Value {
        &mut self.answers.nodes.as_mut().unwrap()[index]
    }

    pub(super) fn kubelet(&mut self, node: &str) -> &mut Kubelet {
        self.answers.kubelets.get_mut(node).unwrap()
    }

    pub(super) fn configuration(&mut self, node: &str) -> &mut Value {
        &mut self.kubelet(node).configz.as_mut().unwrap()["kubeletconfig"]
    }

    pub(super) fn pods(&mut self) -> &mut Vec<Value> {
        self.answers.pods.as_mut().unwrap()
    }

    /// The pods are frontend-0, frontend-1, the generator's, and those of DaemonSets.
    pub(super) fn pod(&mut self, index: usize) -> &mut Value {
        &mut self.pods()[index]
    }

    pub(super) fn status(&mut self, index: usize) -> &mut Value {
        &mut self.pod(index)["status"]["containerStatuses"][0]
    }

    pub(super) fn stateful_set(&mut self) -> &mut Value {
        &mut self.answers.stateful_sets.as_mut().unwrap()[0]
    }

    pub(super) fn endpoint(&mut self, index: usize) -> &mut Value {
        &mut self.answers.endpoint_slices.as_mut().unwrap()[0]["endpoints"][index]
    }
}
