use expect_test::expect;
use results::doctor::{Check, Level, Severity, Standing, State, Verdict, differences, verdict};
use serde_json::json;

use super::*;
use cluster::{Cluster, DIGEST, forbidden, pod, texts};

mod cluster;
mod details;

/// A check, a change that makes it bad with its severity and a part of the text, and one that makes
/// it unknown.
struct Case {
    id: &'static str,
    bad: fn(&mut Cluster),
    severity: Severity,
    text: &'static str,
    missing: fn(&mut Cluster),
    unknown: &'static str,
}

const CASES: [Case; 22] = [
    Case {
        id: "cluster.nodes",
        bad: |cluster| cluster.node(1)["status"]["nodeInfo"]["kernelVersion"] = json!("6.8.0"),
        severity: Error,
        text: "role sut: the kernel is 6.12.1 on w1, but 6.8.0 on w2",
        missing: |cluster| cluster.answers.nodes = forbidden("list nodes"),
        unknown: "the account has not the right to list nodes",
    },
    Case {
        id: "cluster.conditions",
        bad: |cluster| cluster.node(0)["status"]["conditions"][0]["status"] = json!("True"),
        severity: Error,
        text: "w1: MemoryPressure is True",
        missing: |cluster| cluster.node(0)["status"]["conditions"] = Value::Null,
        unknown: "node w1 has no condition Ready",
    },
    Case {
        id: "cluster.kubelet",
        bad: |cluster| cluster.configuration("w1")["cpuManagerPolicy"] = json!("none"),
        severity: Error,
        text: "w1: cpuManagerPolicy is none; \
               role sut: cpuManagerPolicy is none on w1, but static on w2",
        missing: |cluster| cluster.kubelet("w1").configz = forbidden("get nodes/proxy"),
        unknown: "the right to get nodes/proxy",
    },
    Case {
        id: "cluster.qos",
        bad: |cluster| cluster.pod(0)["status"]["qosClass"] = json!("Burstable"),
        severity: Error,
        text: "frontend-0 is Burstable",
        missing: |cluster| cluster.answers.pods = forbidden("list pods"),
        unknown: "the right to list pods",
    },
    Case {
        id: "cluster.exclusive_cpus",
        bad: |cluster| {
            cluster.answers.cpusets.insert("demo/frontend-0/main".to_owned(), Ok("0-1".to_owned()));
        },
        severity: Warning,
        text: "demo/frontend-0/main asks for 1 CPUs of its own, and may use CPU 0-1",
        missing: |cluster| {
            cluster.answers.cpusets.remove("demo/frontend-0/main");
            cluster.kubelet("w1").metrics = forbidden("get nodes/proxy");
        },
        unknown: "the number of exclusive CPUs of w1 may not be read",
    },
    Case {
        id: "cluster.throttling",
        bad: |cluster| throttle(cluster.kubelet("w1"), 7),
        severity: Error,
        text: "demo/frontend-0/main was throttled in 7 of 0 periods",
        missing: |cluster| cluster.kubelet("w1").cadvisor = forbidden("get nodes/proxy"),
        unknown: "the throttling on w1 may not be read",
    },
    Case {
        id: "cluster.images",
        bad: |cluster| {
            let id = json!(format!("local/benchwright@{}", DIGEST.replace('1', "2")));
            cluster.status(1)["imageID"] = id;
        },
        severity: Error,
        text: "local/benchwright:1 is sha256:111111111111 on w1, w3, but sha256:222222222222 on w2",
        missing: |cluster| cluster.status(1)["imageID"] = json!(""),
        unknown: "frontend-1 has no digest of the image local/benchwright:1 yet",
    },
    Case {
        id: "cluster.placement",
        bad: |cluster| cluster.pod(2)["spec"]["nodeName"] = json!("w1"),
        severity: Error,
        text: "load-1-0-x2x8z, which loads, is on w1 with the system",
        missing: |cluster| cluster.answers.pods = forbidden("list pods"),
        unknown: "the list of pods may not be read",
    },
    Case {
        id: "cluster.foreign_pods",
        bad: |cluster| {
            let shop = pod("shop", "shop-7d4b9-x2x8z", "w1", Some(("ReplicaSet", "shop-7d4b9")));
            cluster.pods().push(shop);
        },
        severity: Error,
        text: "shop/shop-7d4b9-x2x8z is on w1",
        missing: |cluster| cluster.answers.pods_elsewhere = forbidden("list pods -A"),
        unknown: "the list of pods of other namespaces may not be read",
    },
    Case {
        id: "cluster.autoscalers",
        bad: |cluster| {
            cluster.answers.horizontal_autoscalers = Ok(vec![json!({
                "metadata": {"namespace": "demo", "name": "frontend"},
                "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "frontend"}},
            })]);
        },
        severity: Error,
        text: "the hpa frontend scales frontend",
        missing: |cluster| {
            cluster.answers.horizontal_autoscalers =
                forbidden("list horizontalpodautoscalers.autoscaling");
        },
        unknown: "the list of hpas may not be read",
    },
    Case {
        id: "cluster.restarts",
        bad: |cluster| {
            let status = cluster.status(0);
            status["restartCount"] = json!(1);
            status["lastState"] = json!({"terminated": {
                "exitCode": 137,
                "reason": "OOMKilled",
                "finishedAt": "2026-11-23T02:59:30Z",
            }});
        },
        severity: Error,
        text: "frontend-0: main was started again after it ended with exit code 137 (OOMKilled)",
        missing: |cluster| cluster.answers.events = forbidden("list events"),
        unknown: "the events of our namespaces may not be read",
    },
    Case {
        id: "cluster.service_path",
        bad: |cluster| {
            let services = cluster.answers.services.as_mut().unwrap();
            services[1]["spec"]["externalTrafficPolicy"] = json!("Cluster");
        },
        severity: Warning,
        text: "the service door (NodePort) passes requests on to pods of other nodes",
        missing: |cluster| cluster.answers.proxy = Err(Missing::Absent),
        unknown: "kube-proxy's configuration is not in this cluster",
    },
    Case {
        id: "cluster.endpoints",
        // `ready` stays true in a service that publishes addresses which are not ready.
        bad: |cluster| cluster.endpoint(1)["conditions"]["serving"] = json!(false),
        severity: Error,
        text: "1 of 2 endpoints of frontend are ready; \
               the endpoints of frontend are others than before the trial",
        missing: |cluster| cluster.answers.endpoint_slices = forbidden("list endpointslices"),
        unknown: "the list of EndpointSlices may not be read",
    },
    Case {
        id: "cluster.sidecars",
        bad: |cluster| {
            let proxy = json!({"name": "istio-proxy", "image": "istio/proxyv2:1.27"});
            cluster.pod(0)["spec"]["containers"].as_array_mut().unwrap().push(proxy);
        },
        severity: Warning,
        text: "frontend-0 has the container istio-proxy too",
        missing: |cluster| cluster.answers.stateful_sets = forbidden("list statefulsets.apps"),
        unknown: "the templates of our pods may not be read",
    },
    Case {
        id: "cluster.spread",
        bad: |cluster| cluster.pod(1)["spec"]["nodeName"] = json!("w1"),
        severity: Error,
        text: "frontend has 2 on w1, 0 on w2",
        missing: |cluster| cluster.answers.pods = forbidden("list pods"),
        unknown: "the list of our pods may not be read",
    },
    Case {
        id: "cluster.rollouts",
        bad: |cluster| cluster.stateful_set()["status"]["updatedReplicas"] = json!(1),
        severity: Error,
        text: "1 of 2 pods of the statefulset frontend are updated",
        missing: |cluster| cluster.answers.daemon_sets = forbidden("list daemonsets.apps"),
        unknown: "the list of daemonsets may not be read",
    },
    Case {
        id: "cluster.usage",
        bad: |cluster| cluster.kubelet("w1").summary.as_mut().unwrap()["pods"] = json!([]),
        severity: Info,
        text: "the kubelet of w1 reports no usage of frontend-0",
        missing: |cluster| cluster.kubelet("w1").summary = Err(Missing::NotRead),
        unknown: "the usage on w1 was not read",
    },
    Case {
        id: "cluster.prometheus",
        bad: |cluster| {
            cluster.answers.prometheus.as_mut().unwrap().rate_window = Nanos::from_secs(45);
        },
        severity: Warning,
        text: "the rate window of 45 s has fewer than 4 scrapes of 15 s",
        missing: |cluster| {
            let why = "connection refused".to_owned();
            cluster.answers.prometheus.as_mut().unwrap().scrape_interval =
                Err(Missing::Failed(why));
        },
        unknown: "the scrape interval could not be read: connection refused",
    },
    Case {
        id: "cluster.hosts",
        bad: |cluster| {
            let checks = vec![stolen()];
            let host = Doctor::new(checks, Fingerprint::new(BTreeMap::new(), None));
            cluster.answers.hosts.as_mut().unwrap().insert("w2".to_owned(), host);
        },
        severity: Error,
        text: "w2: local.spin: 12 % of CPU 1 were stolen",
        missing: |cluster| cluster.answers.hosts = Err(Missing::NotRead),
        unknown: "the nodes themselves were not looked at",
    },
    Case {
        id: "cluster.instances",
        bad: |cluster| {
            let labels = &mut cluster.node(0)["metadata"]["labels"];
            labels["node.kubernetes.io/instance-type"] = json!("t3.large");
        },
        severity: Warning,
        text: "w1 is a t3.large, whose CPU is limited by credits or shared",
        missing: |cluster| cluster.node(0)["metadata"]["labels"] = json!({}),
        unknown: "node w1 has no label node.kubernetes.io/instance-type",
    },
    Case {
        id: "cluster.api_latency",
        bad: |cluster| cluster.answers.latencies.push(Nanos::from_secs(3)),
        severity: Warning,
        text: "longest 3.00 s of 5 calls",
        missing: |cluster| cluster.answers.latencies.clear(),
        unknown: "no call was timed",
    },
    Case {
        id: "cluster.stores",
        bad: |cluster| {
            let script = "exec benchwright kv serve --id $((1 + $ORDINAL)) --memory 64MiB";
            let container = &mut cluster.pod(0)["spec"]["containers"][0];
            container["command"] = json!(["sh", "-c", script]);
        },
        severity: Error,
        text: "frontend-0 takes at least 83.9 MB of its limit of 67.1 MB",
        missing: |cluster| cluster.answers.pods = forbidden("list pods"),
        unknown: "the right to list pods",
    },
];

fn throttle(kubelet: &mut Kubelet, periods: u32) {
    let text = kubelet.cadvisor.as_mut().unwrap();
    let name = "container_cpu_cfs_throttled_periods_total";
    let (before, rest) = text.split_once(name).unwrap();
    *text = format!("{before}{name}{}", rest.replacen("} 0 ", &format!("}} {periods} "), 1));
}

fn stolen() -> Check {
    Check {
        id: "local.spin".to_owned(),
        name: "stolen time".to_owned(),
        severity: Error,
        state: State::Bad,
        standing: Standing::Usual,
        value: "12 % of CPU 1 were stolen".to_owned(),
        wanted: "at most 1 %".to_owned(),
        source: "spins".to_owned(),
        remedy: Some("wait until the neighbours are calm".to_owned()),
    }
}

fn refuses(cluster: &Cluster, id: &str) -> bool {
    verdict(Level::Strict, &[cluster.check(id)], &[]).is_refused()
}

fn lines(doctor: &Doctor) -> String {
    let line = |check: &Check| format!("{}: {:?}: {}\n", check.id, check.state, check.value);
    doctor.checks.iter().map(line).collect()
}

#[test]
fn on_a_good_cluster_every_check_is_ok() {
    let doctor = Cluster::good().doctor();
    for check in &doctor.checks {
        assert_eq!(check.state, State::Ok, "{}", check.sentence());
        assert_eq!(check.remedy, None, "{}", check.id);
        let Check { value, wanted, source, .. } = check;
        assert!(![value, wanted, source].iter().any(|text| text.is_empty()), "{}", check.id);
    }
    assert_eq!(verdict(Level::Strict, &doctor.checks, &[]), Verdict::default());
    expect![[r#"
        cluster.nodes: Ok: load: 1 alike, sut: 2 alike
        cluster.conditions: Ok: 3 nodes are ready
        cluster.kubelet: Ok: static on 3 nodes, with CPU reserved for the system
        cluster.qos: Ok: 3 pods are Guaranteed, with whole CPUs
        cluster.exclusive_cpus: Ok: 3 CPUs belong to 3 containers alone
        cluster.throttling: Ok: 3 containers were never throttled
        cluster.images: Ok: 1 images, each with one digest
        cluster.placement: Ok: 3 pods of ours on the nodes of 2 roles
        cluster.foreign_pods: Ok: none on 3 nodes
        cluster.autoscalers: Ok: none
        cluster.restarts: Ok: none
        cluster.service_path: Ok: kube-proxy: nftables, network: kindnet
        cluster.endpoints: Ok: 1 services have all their endpoints
        cluster.sidecars: Ok: 3 pods are as their templates say
        cluster.spread: Ok: 1 workloads are spread
        cluster.rollouts: Ok: 1 workloads are at rest
        cluster.usage: Ok: w1 uses 1.25 CPUs, w2 uses 1.25 CPUs, w3 uses 1.25 CPUs
        cluster.prometheus: Ok: a rate window of 60 s
        cluster.hosts: Ok: 3 nodes were looked at by privileged pods
        cluster.instances: Ok: w1: m7i.large, w2: m7i.large, w3: m7i.large
        cluster.api_latency: Ok: median 7.00 ms, longest 30.0 ms of 4 calls
        cluster.stores: Ok: 0 stores
    "#]]
    .assert_eq(&lines(&doctor));
}

#[test]
fn the_fingerprint_of_a_good_cluster_has_what_decides_a_figure() {
    let fingerprint = Cluster::good().doctor().fingerprint;
    assert_eq!(fingerprint.values["node w1 kernel"], "6.12.1");
    assert_eq!(fingerprint.values["kubelet w2 cpuManagerPolicy"], "static");
    assert_eq!(fingerprint.values["image local/benchwright:1"], DIGEST);
    assert_eq!(fingerprint.values["service path kube-proxy mode"], "nftables");
    assert_eq!(fingerprint.values["service path network"], "kindnet");
    assert_eq!(fingerprint.values["endpoints frontend"], "2 ready");
    let placement = fingerprint.placement.unwrap();
    assert_eq!(placement.keys().collect::<Vec<_>>(), ["frontend-0", "frontend-1"]);
    assert_eq!(placement["frontend-1"].node.as_deref(), Some("w2"));
    assert_eq!(placement["frontend-0"].template, placement["frontend-1"].template);
    let values: String =
        fingerprint.values.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    expect![[r#"
        containers frontend: main
        endpoints frontend: 2 ready
        host w1: f430e673d93ac3f880c8b552c72b8d1e23c514e35f65d778f856f6f67f1263b8
        host w2: f430e673d93ac3f880c8b552c72b8d1e23c514e35f65d778f856f6f67f1263b8
        host w3: f430e673d93ac3f880c8b552c72b8d1e23c514e35f65d778f856f6f67f1263b8
        image local/benchwright:1: sha256:1111111111111111111111111111111111111111111111111111111111111111
        kubelet w1 configuration: 00650b729191
        kubelet w1 cpuCFSQuota: true
        kubelet w1 cpuCFSQuotaPeriod: 100ms
        kubelet w1 cpuManagerPolicy: static
        kubelet w1 memoryManagerPolicy: None
        kubelet w1 reservedSystemCPUs: 0
        kubelet w1 topologyManagerPolicy: none
        kubelet w1 topologyManagerScope: container
        kubelet w2 configuration: 00650b729191
        kubelet w2 cpuCFSQuota: true
        kubelet w2 cpuCFSQuotaPeriod: 100ms
        kubelet w2 cpuManagerPolicy: static
        kubelet w2 memoryManagerPolicy: None
        kubelet w2 reservedSystemCPUs: 0
        kubelet w2 topologyManagerPolicy: none
        kubelet w2 topologyManagerScope: container
        kubelet w3 configuration: 00650b729191
        kubelet w3 cpuCFSQuota: true
        kubelet w3 cpuCFSQuotaPeriod: 100ms
        kubelet w3 cpuManagerPolicy: static
        kubelet w3 memoryManagerPolicy: None
        kubelet w3 reservedSystemCPUs: 0
        kubelet w3 topologyManagerPolicy: none
        kubelet w3 topologyManagerScope: container
        node w1 CPUs: 2
        node w1 architecture: amd64
        node w1 container runtime: containerd://1.6.20
        node w1 instance type: m7i.large
        node w1 kernel: 6.12.1
        node w1 kubelet: v1.34.1
        node w1 system: Debian GNU/Linux 12 (bookworm)
        node w2 CPUs: 2
        node w2 architecture: amd64
        node w2 container runtime: containerd://1.6.20
        node w2 instance type: m7i.large
        node w2 kernel: 6.12.1
        node w2 kubelet: v1.34.1
        node w2 system: Debian GNU/Linux 12 (bookworm)
        node w3 CPUs: 2
        node w3 architecture: amd64
        node w3 container runtime: containerd://1.6.20
        node w3 instance type: m7i.large
        node w3 kernel: 6.12.1
        node w3 kubelet: v1.34.1
        node w3 system: Debian GNU/Linux 12 (bookworm)
        prometheus scrape interval: 15 s
        qos frontend: Guaranteed
        service door: NodePort, externalTrafficPolicy Local
        service frontend: headless
        service path kube-proxy mode: nftables
        service path network: kindnet
        usage w1: kubelet
        usage w2: kubelet
        usage w3: kubelet
    "#]].assert_eq(&values);
}

#[test]
fn there_is_a_case_for_each_check_in_their_order() {
    let of_cases: Vec<&str> = CASES.iter().map(|case| case.id).collect();
    let doctor = Cluster::good().doctor();
    assert_eq!(of_cases, doctor.checks.iter().map(|check| &check.id).collect::<Vec<_>>());
    assert_eq!(of_cases.len(), 22);
}

#[test]
fn each_check_finds_its_fault() {
    for case in CASES {
        let mut cluster = Cluster::good();
        (case.bad)(&mut cluster);
        let check = cluster.check(case.id);
        let found = (check.state, check.severity, check.standing);
        assert_eq!(found, (State::Bad, case.severity, Standing::Usual), "{}", check.sentence());
        assert!(check.value.contains(case.text), "{}", check.sentence());
        assert!(check.remedy.is_some(), "{}", case.id);
        assert_eq!(refuses(&cluster, case.id), case.severity == Error, "{}", case.id);
    }
}

#[test]
fn each_check_without_its_answer_is_unknown_and_refuses_nothing() {
    for case in CASES {
        let mut cluster = Cluster::good();
        (case.missing)(&mut cluster);
        let check = cluster.check(case.id);
        assert_eq!(check.state, State::Unknown, "{}", check.sentence());
        assert!(check.value.contains(case.unknown), "{}", check.sentence());
        assert!(check.remedy.is_some(), "{}", case.id);
        assert_ne!(check.severity, Error, "{}", case.id);
        assert!(!refuses(&cluster, case.id), "{}", case.id);
    }
}

#[test]
fn the_messages_of_all_faults_are_sentences() {
    let sentence = |case: &Case| {
        let mut cluster = Cluster::good();
        (case.bad)(&mut cluster);
        cluster.check(case.id).sentence() + "\n"
    };
    let sentences: String = CASES.iter().map(sentence).collect();
    expect![[r#"
        cluster.nodes: bad: role sut: the kernel is 6.12.1 on w1, but 6.8.0 on w2 (wanted: the same kernel, system, container runtime, kubelet, architecture and number of CPUs on all nodes of a role); give the role nodes that are alike, by its labels
        cluster.conditions: bad: w1: MemoryPressure is True (wanted: Ready, without pressure, and open to pods on every role's node); see the reason in `kubectl describe node w1`
        cluster.kubelet: bad: w1: cpuManagerPolicy is none; role sut: cpuManagerPolicy is none on w1, but static on w2 (wanted: cpuManagerPolicy static, CPU reserved for the system, and the same on all nodes of a role); set `cpuManagerPolicy: static` in the kubelet's configuration, then for each node: `kubectl drain NODE --ignore-daemonsets`, stop the kubelet, remove /var/lib/kubelet/cpu_manager_state, start it, `kubectl uncordon NODE`; give the kubelets of a role the same configuration
        cluster.qos: bad: frontend-0 is Burstable (wanted: QoS class Guaranteed, and whole CPUs); set the same CPU and memory as request and limit of all containers of the pod, with whole CPUs
        cluster.exclusive_cpus: bad: demo/frontend-0/main asks for 1 CPUs of its own, and may use CPU 0-1 (wanted: every container that asks for whole CPUs has as many, and shares none); set `cpuManagerPolicy: static` on the node, and start the pod again: a running container keeps the CPUs that it has
        cluster.throttling: bad: demo/frontend-0/main was throttled in 7 of 0 periods (wanted: no throttled period of a container with CPUs of its own); raise its CPU limit to whole CPUs that suffice, or allow the throttling that the experiment wants
        cluster.images: bad: local/benchwright:1 is sha256:111111111111 on w1, w3, but sha256:222222222222 on w2 (wanted: one digest of each image, and no tag `latest`); name the image by its digest, NAME@sha256:…, or load the same one into every node
        cluster.placement: bad: load-1-0-x2x8z, which loads, is on w1 with the system (wanted: load, system under test and tracing on nodes of their own); give each role nodes of its own: `kubectl label node NODE bench-role=load`, and name the label in `where.roles`
        cluster.foreign_pods: bad: shop/shop-7d4b9-x2x8z is on w1 (wanted: no pods but ours and the listed DaemonSets); move it away by `kubectl drain NODE --ignore-daemonsets`, or name its DaemonSet among those that may stay
        cluster.autoscalers: bad: the hpa frontend scales frontend (wanted: no HPA, VPA or ScaledObject of the system, no descheduler, and no CronJob that is due); `kubectl delete hpa -n demo frontend`
        cluster.restarts: bad: frontend-0: main was started again after it ended with exit code 137 (OOMKilled) (wanted: no restart, eviction, or pull of an image since the begin of the trial); see why in `kubectl logs --previous -n demo frontend-0 -c main`
        cluster.service_path: bad: the service door (NodePort) passes requests on to pods of other nodes (wanted: externalTrafficPolicy Local for requests from outside; the rest is recorded); `kubectl patch service -n demo door -p '{"spec":{"externalTrafficPolicy":"Local"}}'`, or load the ClusterIP
        cluster.endpoints: bad: 1 of 2 endpoints of frontend are ready; the endpoints of frontend are others than before the trial (wanted: as many ready endpoints of each service as the experiment wants, the same all the time); see `kubectl get endpointslices -n demo -l kubernetes.io/service-name=frontend`; see the reason in `kubectl get events -n demo`
        cluster.sidecars: bad: frontend-0 has the container istio-proxy too (wanted: the containers and limits of the template in each pod of ours); switch the injection off in the namespace, such as by `kubectl label namespace NAMESPACE istio-injection=disabled --overwrite`
        cluster.spread: bad: frontend has 2 on w1, 0 on w2 (wanted: at most one pod of a workload more on a node than on another); set topologySpreadConstraints with maxSkew 1 over kubernetes.io/hostname and whenUnsatisfiable DoNotSchedule, and delete the pods once
        cluster.rollouts: bad: 1 of 2 pods of the statefulset frontend are updated (wanted: every workload observed at its generation, with all pods updated and available); wait: `kubectl rollout status statefulset -n demo frontend`
        cluster.usage: bad: the kubelet of w1 reports no usage of frontend-0 (wanted: the usage of each pod of ours); wait half a minute: a kubelet needs it for a new pod
        cluster.prometheus: bad: the rate window of 45 s has fewer than 4 scrapes of 15 s (wanted: a rate window of at least 4 scrapes, and not above the measurement); set a shorter scrape_interval in prometheus.yml, or lengthen the window of the query
        cluster.hosts: bad: w2: local.spin: 12 % of CPU 1 were stolen (wanted: nothing bad on any role's node); wait until the neighbours are calm
        cluster.instances: bad: w1 is a t3.large, whose CPU is limited by credits or shared (wanted: no spot or burstable machine in a role); use an instance type with a constant CPU
        cluster.api_latency: bad: median 7.00 ms, longest 3.00 s of 5 calls (wanted: half of the calls within 200 ms, all within 1 s); run nearer to the API server, such as by a runner in the cluster, or look at its load: `kubectl get --raw /metrics`
        cluster.stores: bad: frontend-0 takes at least 83.9 MB of its limit of 67.1 MB (wanted: key-value stores take at most 90 % of their memory limits); give it less --memory or fewer --buckets, or raise its limit
    "#]].assert_eq(&sentences);
}

#[test]
fn before_anything_is_deployed_nothing_is_bad_and_nothing_refused() {
    let mut cluster = Cluster::empty();
    cluster.wanted.terms.required = texts(["guaranteed_integer_cpu", "cluster.endpoints"]);
    let doctor = cluster.doctor();
    assert!(doctor.checks.iter().all(|check| check.state != State::Bad), "{}", lines(&doctor));
    // It is too early to know them, which is no reason for a warning.
    let early = cluster.check("cluster.qos");
    assert_eq!((early.state, early.severity), (State::Unknown, Info));
    assert_eq!(verdict(Level::Strict, &doctor.checks, &[]), Verdict::default());
}

#[test]
fn a_waived_fault_is_printed_and_refuses_nothing() {
    let mut cluster = Cluster::good();
    cluster.node(2)["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!("");
    assert!(refuses(&cluster, "cluster.placement"));
    for waiver in ["load_on_control_plane", "cluster.placement"] {
        cluster.wanted.terms.allowed = texts([waiver]);
        let check = cluster.check("cluster.placement");
        assert_eq!((check.state, check.standing), (State::Bad, Standing::Waived));
        assert_eq!(check.value, "w3 has the role load and the control plane (waived)");
        assert_eq!(check.word(), "allowed");
        let verdict = verdict(Level::Strict, &[check], &[]);
        assert!(!verdict.is_refused());
        assert!(verdict.warnings[0].starts_with("allowed by the spec: cluster.placement: bad: w3"));
    }
}

#[test]
fn a_waiver_of_one_part_is_not_a_waiver_of_another() {
    let mut cluster = Cluster::good();
    cluster.node(2)["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = json!("");
    cluster.pod(2)["spec"]["nodeName"] = json!("w1");
    cluster.wanted.terms.allowed = texts(["load_on_control_plane"]);
    let check = cluster.check("cluster.placement");
    assert_eq!((check.state, check.standing), (State::Bad, Standing::Usual));
    assert!(check.value.starts_with("load-1-0-x2x8z, which loads"), "{}", check.value);
    assert!(check.value.ends_with("control plane (waived)"), "{}", check.value);
    assert!(refuses(&cluster, "cluster.placement"));
}

#[test]
fn a_requirement_turns_a_warning_and_an_unknown_into_a_refusal() {
    let mut cluster = Cluster::good();
    cluster.wanted.exclusive = false;
    cluster.configuration("w1")["cpuManagerPolicy"] = json!("none");
    assert_eq!(cluster.check("cluster.kubelet").severity, Warning);
    assert!(!refuses(&cluster, "cluster.kubelet"));
    cluster.wanted.terms.required = texts(["kubelet_static_cpu"]);
    let check = cluster.check("cluster.kubelet");
    assert_eq!((check.severity, check.standing), (Error, Standing::Required));
    assert!(refuses(&cluster, "cluster.kubelet"));

    cluster.kubelet("w1").configz = forbidden("get nodes/proxy");
    assert_eq!(cluster.check("cluster.kubelet").state, State::Unknown);
    assert!(refuses(&cluster, "cluster.kubelet"));

    // It is about its own part only.
    let mut cluster = Cluster::good();
    cluster.configuration("w1")["reservedSystemCPUs"] = json!("");
    cluster.wanted.terms.required = texts(["kubelet_static_cpu"]);
    assert!(!refuses(&cluster, "cluster.kubelet"));
    cluster.wanted.terms.required = texts(["system_reserved"]);
    assert!(refuses(&cluster, "cluster.kubelet"));
}

#[test]
fn the_level_decides_what_a_fault_does() {
    let mut cluster = Cluster::good();
    cluster.node(0)["spec"]["unschedulable"] = json!(true);
    let checks = cluster.doctor().checks;
    let changes = ["pod a was on w1 before and on w2 after".to_owned()];
    let strict = verdict(Level::Strict, &checks, &changes);
    assert_eq!((strict.refusals.len(), strict.warnings.len()), (2, 0));
    let warn = verdict(Level::Warn, &checks, &changes);
    assert_eq!((warn.refusals.len(), warn.warnings.len()), (0, 2));
    assert_eq!(verdict(Level::Off, &checks, &changes), Verdict::default());
}

#[test]
fn unknown_checks_are_one_warning_unless_they_are_required() {
    let mut cluster = Cluster::good();
    for node in ["w1", "w2", "w3"] {
        cluster.kubelet(node).configz = forbidden("get nodes/proxy");
        cluster.kubelet(node).cadvisor = forbidden("get nodes/proxy");
    }
    let warn = verdict(Level::Warn, &cluster.doctor().checks, &[]);
    expect![[r#"
        [
            "unknown: cluster.kubelet, cluster.throttling; `benchwright doctor` says why",
        ]"#]]
    .assert_eq(&format!("{:#?}", warn.warnings));
    cluster.wanted.terms.required = texts(["kubelet_static_cpu"]);
    let warn = verdict(Level::Warn, &cluster.doctor().checks, &[]);
    assert_eq!(warn.warnings.len(), 2, "{warn:?}");
}

#[test]
fn the_words_of_the_guides_are_there_once() {
    let words = words();
    for word in [
        "load_on_control_plane",
        "kubelet_static_cpu",
        "system_reserved",
        "guaranteed_integer_cpu",
        "same_image_digests",
        "no_hpa",
        "jaeger_off_sut",
    ] {
        assert_eq!(words.iter().filter(|other| **other == word).count(), 1, "{word}");
    }
    assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
}

#[test]
fn a_moved_pod_and_a_changed_node_are_differences() {
    let before = Cluster::good().doctor().fingerprint;
    let mut cluster = Cluster::good();
    cluster.pod(0)["spec"]["nodeName"] = json!("w2");
    cluster.pods().remove(1);
    for index in 0..3 {
        cluster.node(index)["status"]["nodeInfo"]["kernelVersion"] = json!("6.12.2");
    }
    let after = cluster.doctor().fingerprint;
    assert_ne!(before.hash, after.hash);
    assert_eq!(
        differences(&before, &after),
        [
            "node w1 kernel was 6.12.1 before and is 6.12.2 after",
            "node w2 kernel was 6.12.1 before and is 6.12.2 after",
            "node w3 kernel was 6.12.1 before and is 6.12.2 after",
            "pod frontend-0 was on w1 before and on w2 after",
            "pod frontend-1 was on w2 before and is gone after",
        ]
    );
    let back = differences(&after, &before);
    assert_eq!(back.last().unwrap(), "pod frontend-1 was not there before and is on w2 after");
}

#[test]
fn an_unknown_value_and_another_run_are_not_differences() {
    let before = Cluster::good().doctor().fingerprint;
    let mut cluster = Cluster::good();
    cluster.kubelet("w1").configz = forbidden("get nodes/proxy");
    assert_eq!(differences(&before, &cluster.doctor().fingerprint), Vec::<String>::new());
    cluster.answers.nodes = forbidden("list nodes");
    cluster.answers.pods = forbidden("list pods");
    assert_eq!(differences(&before, &cluster.doctor().fingerprint), Vec::<String>::new());

    // The run's identity is in the labels of each template, and a restart in an annotation.
    let mut cluster = Cluster::good();
    cluster.wanted.run = "9876543210".to_owned();
    for index in 0..3 {
        cluster.pod(index)["metadata"]["labels"]["benchwright.dev/run"] = json!("9876543210");
    }
    let template = &mut cluster.stateful_set()["spec"]["template"];
    template["metadata"]["labels"]["benchwright.dev/run"] = json!("9876543210");
    let again = cluster.doctor().fingerprint;
    assert_eq!((differences(&before, &again), again.hash), (Vec::new(), before.hash.clone()));
    let template = &mut cluster.stateful_set()["spec"]["template"];
    template["spec"]["containers"][0]["command"] = json!(["/other"]);
    let other = differences(&before, &cluster.doctor().fingerprint);
    assert!(other[0].starts_with("pod frontend-0 had the template "), "{other:?}");
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let mut cluster = Cluster::good();
    cluster.wanted.terms.allowed = texts(["no_burstable"]);
    cluster.node(0)["metadata"]["labels"]["node.kubernetes.io/instance-type"] = json!("t3.large");
    let doctor = cluster.doctor();
    let text = serde_json::to_string(&doctor).unwrap();
    assert_eq!(serde_json::from_str::<Doctor>(&text).unwrap(), doctor);
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["schema"], "benchwright.doctor/1");
    assert_eq!(written["checks"][0]["state"], "ok");
    assert_eq!(written["checks"][0].get("standing"), None);
    assert_eq!(written["checks"][19]["standing"], "waived");
    assert_eq!(written["checks"][19]["severity"], "warning");
}

#[test]
fn no_answer_makes_a_check_panic() {
    let odd = [
        Value::Null,
        json!(-1),
        json!("x"),
        json!([]),
        json!([[], {}]),
        json!({"metadata": 7, "spec": [], "status": "x"}),
        json!({"metadata": {"name": "w1", "namespace": "demo", "labels": []}, "spec": null}),
        json!({
            "metadata": {"name": "frontend-0", "namespace": "demo", "ownerReferences": [{}, 3]},
            "spec": {"nodeName": "w1", "containers": [{"name": "main"}, 4], "schedule": "a b"},
            "status": {"phase": "Running", "qosClass": "Guaranteed", "containerStatuses": [{}]},
            "data": {"config.conf": 3},
            "kubeletconfig": {"cpuManagerPolicy": 3, "systemReserved": {"cpu": "nanm"}},
            "node": {"cpu": {"usageNanoCores": "many"}},
            "pods": [{"podRef": 1}],
            "endpoints": [{"addresses": [1, "a"]}, 1],
            "lastTimestamp": "20",
        }),
    ];
    for value in odd {
        let mut cluster = Cluster::good();
        let Answers { nodes, kubelets, pods, cpusets, .. } = &mut cluster.answers;
        for kubelet in kubelets.values_mut() {
            let text = value.to_string();
            *kubelet = Kubelet {
                configz: Ok(value.clone()),
                summary: Ok(value.clone()),
                cadvisor: Ok(format!("container_cpu_usage_seconds_total{text} x\n{text}")),
                metrics: Ok(text),
            };
        }
        for list in cpusets.values_mut() {
            *list = Ok(value.to_string());
        }
        *nodes = Ok(vec![value.clone()]);
        *pods = Ok(vec![value.clone()]);
        for list in [
            &mut cluster.answers.deployments,
            &mut cluster.answers.stateful_sets,
            &mut cluster.answers.daemon_sets,
            &mut cluster.answers.services,
            &mut cluster.answers.endpoint_slices,
            &mut cluster.answers.events,
            &mut cluster.answers.horizontal_autoscalers,
            &mut cluster.answers.vertical_autoscalers,
            &mut cluster.answers.scaled_objects,
            &mut cluster.answers.cron_jobs,
        ] {
            *list = Ok(vec![value.clone()]);
        }
        cluster.answers.proxy = Ok(Proxy::ConfigMap(value.clone()));
        assert_eq!(cluster.doctor().checks.len(), 22, "{value}");
    }
}
