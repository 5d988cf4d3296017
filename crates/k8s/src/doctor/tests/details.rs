//! Parts of single checks: what is a fault only sometimes, and what is none.

use super::cluster::{now, own_pod};
use super::*;
use crate::lease;
use crate::quantity::{cpus, millicores};

#[test]
fn nodes_may_differ_between_roles() {
    let mut cluster = Cluster::good();
    cluster.node(2)["status"]["nodeInfo"]["kernelVersion"] = json!("6.8.0");
    assert_eq!(cluster.check("cluster.nodes").state, State::Ok);
}

#[test]
fn a_missing_and_a_cordoned_node_are_not_ready() {
    let mut cluster = Cluster::good();
    cluster.node(0)["spec"]["unschedulable"] = json!(true);
    cluster.answers.nodes.as_mut().unwrap().pop();
    let check = cluster.check("cluster.conditions");
    assert_eq!(check.value, "w1 takes no pods: it is cordoned; node w3 is not in the cluster");
    assert!(check.remedy.unwrap().starts_with("`kubectl uncordon w1`"));
}

#[test]
fn a_spot_machine_is_a_warning() {
    let mut cluster = Cluster::good();
    cluster.node(1)["metadata"]["labels"]["karpenter.sh/capacity-type"] = json!("spot");
    let check = cluster.check("cluster.instances");
    assert_eq!((check.state, check.severity), (State::Bad, Warning));
    assert_eq!(check.value, "w2 may be taken away: karpenter.sh/capacity-type=spot");
}

#[test]
fn cpus_are_reserved_in_three_ways() {
    let mut cluster = Cluster::good();
    for node in ["w1", "w2", "w3"] {
        cluster.configuration(node)["reservedSystemCPUs"] = json!("");
        cluster.configuration(node)["kubeReserved"] = json!({"cpu": "500m", "memory": "1Gi"});
    }
    assert_eq!(cluster.check("cluster.kubelet").state, State::Ok);
    for node in ["w1", "w2", "w3"] {
        cluster.configuration(node)["kubeReserved"] = json!({"cpu": "0"});
    }
    let check = cluster.check("cluster.kubelet");
    assert_eq!((check.state, check.severity), (State::Bad, Warning));
}

#[test]
fn a_part_of_a_cpu_is_not_an_exclusive_one() {
    let mut cluster = Cluster::good();
    let resources = &mut cluster.pod(0)["spec"]["containers"][0]["resources"];
    *resources = json!({"limits": {"cpu": "1500m"}, "requests": {"cpu": "1500m"}});
    let check = cluster.check("cluster.qos");
    assert_eq!(check.value, "frontend-0: main requests 1500m CPU, not a whole number");
    // So nobody expects a cpuset of it.
    cluster.answers.cpusets.clear();
    assert_eq!(cluster.check("cluster.exclusive_cpus").state, State::Ok);
}

#[test]
fn two_containers_of_a_node_do_not_share_exclusive_cpus() {
    let mut cluster = Cluster::good();
    cluster.pods().push(own_pod("cache-0", "w1", Some(("StatefulSet", "cache"))));
    cluster.answers.cpusets.insert("demo/cache-0/main".to_owned(), Ok("1".to_owned()));
    let check = cluster.check("cluster.exclusive_cpus");
    assert_eq!(check.state, State::Bad);
    assert_eq!(check.value, "demo/cache-0/main and demo/frontend-0/main share CPUs of w1");
}

#[test]
fn without_cpusets_the_kubelets_count_decides() {
    let mut cluster = Cluster::good();
    cluster.answers.cpusets.clear();
    assert_eq!(cluster.check("cluster.exclusive_cpus").state, State::Ok);
    let count = "kubelet_cpu_manager_exclusive_cpu_allocation_count 0\n";
    cluster.kubelet("w2").metrics = Ok(count.to_owned());
    let check = cluster.check("cluster.exclusive_cpus");
    assert_eq!(check.value, "containers on w2 ask for 1 CPUs of their own, and its kubelet gave 0");
    cluster.kubelet("w2").metrics = Ok(String::new());
    assert_eq!(cluster.check("cluster.exclusive_cpus").state, State::Unknown);
}

#[test]
fn throttling_before_the_trial_and_a_missing_quota_are_not_faults() {
    let mut cluster = Cluster::good();
    throttle(cluster.kubelet("w1"), 7);
    let text = cluster.kubelet("w1").cadvisor.clone().unwrap();
    cluster.answers.before.as_mut().unwrap().cadvisor.insert("w1".to_owned(), text.clone());
    assert_eq!(cluster.check("cluster.throttling").state, State::Ok);
    cluster.answers.before = None;
    let check = cluster.check("cluster.throttling");
    assert_eq!(check.value, "demo/frontend-0/main was throttled in 7 of 900 periods");
    let without: String = text
        .lines()
        .filter(|line| !line.contains("_cfs_"))
        .map(|line| format!("{line}\n"))
        .collect();
    cluster.kubelet("w1").cadvisor = Ok(without);
    assert_eq!(cluster.check("cluster.throttling").state, State::Ok);
}

#[test]
fn a_tag_that_moves_is_a_warning() {
    for (image, moves) in [
        ("redis", true),
        ("redis:latest", true),
        ("host:5000/redis", true),
        ("host:5000/redis:7.4", false),
        ("redis@sha256:11", false),
    ] {
        let mut cluster = Cluster::good();
        cluster.pod(0)["spec"]["containers"][0]["image"] = json!(image);
        let check = cluster.check("cluster.images");
        assert_eq!(check.state == State::Bad, moves, "{}", check.sentence());
    }
}

#[test]
fn a_node_with_both_roles_is_an_error_and_tracing_beside_the_system_a_warning() {
    let mut cluster = Cluster::good();
    cluster.wanted.roles.insert(LOAD.to_owned(), vec!["w2".to_owned(), "w3".to_owned()]);
    let check = cluster.check("cluster.placement");
    assert_eq!(check.value, "w2 has the role load and a role of the system");
    assert_eq!(check.severity, Error);

    let mut cluster = Cluster::good();
    cluster.pods().push(own_pod("jaeger-0", "w1", Some(("StatefulSet", "jaeger"))));
    let check = cluster.check("cluster.placement");
    assert_eq!((check.state, check.severity), (State::Bad, Warning));
    cluster.wanted.terms.required = texts(["jaeger_off_sut"]);
    assert!(refuses(&cluster, "cluster.placement"));
}

#[test]
fn foreign_pods_matter_on_exclusive_nodes_only() {
    let mut cluster = Cluster::good();
    cluster.wanted.daemon_sets = texts(["kube-system/kube-proxy"]);
    let check = cluster.check("cluster.foreign_pods");
    assert!(check.value.starts_with("kube-system/kindnet-w1 is on w1"), "{}", check.value);
    cluster.wanted.exclusive = false;
    assert_eq!(cluster.check("cluster.foreign_pods").state, State::Ok);

    // A pod of another run is foreign in our namespace too, and one that has ended disturbs nobody.
    let mut cluster = Cluster::good();
    let mut other = own_pod("frontend-0", "w2", Some(("StatefulSet", "frontend")));
    other["metadata"]["labels"]["benchwright.dev/run"] = json!("another");
    cluster.pods().push(other);
    assert_eq!(cluster.check("cluster.foreign_pods").value, "frontend-0 is on w2");
    cluster.pods().last_mut().unwrap()["status"]["phase"] = json!("Succeeded");
    assert_eq!(cluster.check("cluster.foreign_pods").state, State::Ok);
}

#[test]
fn a_static_pod_can_be_listed() {
    let mut cluster = Cluster::good();
    cluster.wanted.daemon_sets.insert("infra/proxy".to_owned());
    cluster.pods().push(pod("infra", "proxy-w1", "w1", Some(("Node", "w1"))));
    assert_eq!(cluster.check("cluster.foreign_pods").state, State::Ok);
}

#[test]
fn a_vpa_that_only_recommends_and_one_elsewhere_are_not_faults() {
    let mut cluster = Cluster::good();
    let vpa = |namespace: &str, mode: &str| {
        json!({
            "metadata": {"namespace": namespace, "name": "frontend"},
            "spec": {
                "targetRef": {"kind": "StatefulSet", "name": "frontend"},
                "updatePolicy": {"updateMode": mode},
            },
        })
    };
    cluster.answers.vertical_autoscalers = Ok(vec![vpa("demo", "Off"), vpa("shop", "Auto")]);
    assert_eq!(cluster.check("cluster.autoscalers").state, State::Ok);
    cluster.answers.vertical_autoscalers = Ok(vec![vpa("demo", "Auto")]);
    let check = cluster.check("cluster.autoscalers");
    assert_eq!(check.value, "the vpa frontend scales frontend");
    assert_eq!(check.remedy.as_deref(), Some("`kubectl delete vpa -n demo frontend`"));
}

#[test]
fn a_descheduler_is_a_warning() {
    let mut cluster = Cluster::good();
    let owner = Some(("ReplicaSet", "descheduler-5f"));
    cluster.pods().push(pod("kube-system", "descheduler-5f-abcde", "w9", owner));
    let check = cluster.check("cluster.autoscalers");
    assert_eq!((check.state, check.severity), (State::Bad, Warning));
}

#[test]
fn a_cron_job_is_a_fault_if_it_is_due() {
    let job = |schedule: &str| {
        vec![json!({
            "metadata": {"namespace": "backup", "name": "dump"},
            "spec": {"schedule": schedule, "suspend": false},
        })]
    };
    let mut cluster = Cluster::good();
    cluster.answers.cron_jobs = Ok(job("5 3 * * *"));
    let check = cluster.check("cluster.autoscalers");
    let text = "the CronJob backup/dump (5 3 * * *) is due while we measure";
    assert_eq!((check.value.as_str(), check.severity), (text, Error));
    cluster.wanted.exclusive = false;
    assert_eq!(cluster.check("cluster.autoscalers").severity, Warning);

    cluster.answers.cron_jobs.as_mut().unwrap()[0]["spec"]["timeZone"] = json!("Asia/Tokyo");
    let check = cluster.check("cluster.autoscalers");
    assert_eq!(check.value, "the CronJob backup/dump (5 3 * * *) may be due while we measure");
    cluster.answers.cron_jobs.as_mut().unwrap()[0]["spec"]["suspend"] = json!(true);
    assert_eq!(cluster.check("cluster.autoscalers").state, State::Ok);
    cluster.answers.cron_jobs = Ok(job("5 4 * * *"));
    assert_eq!(cluster.check("cluster.autoscalers").state, State::Ok);
}

#[test]
fn schedules_are_those_of_cron() {
    // It is Monday, 2026-11-23, 03:00.
    let day = Nanos::from_secs(24 * 3600);
    for (schedule, within, due) in [
        ("* * * * *", Nanos::ZERO, Some(true)),
        ("*/15 * * * *", Nanos::from_secs(60), Some(true)),
        ("10 3 * * *", Nanos::from_secs(540), Some(true)),
        ("10 3 * * *", Nanos::from_secs(300), Some(false)),
        ("0 2 * * *", day, Some(true)),
        ("0 4 * * 1-5", day, Some(true)),
        ("0 4 * * mon,wed", day, Some(true)),
        ("0 4 * * 0,7", day, Some(false)),
        ("0 4 24 11 *", day, Some(false)),
        ("0 2 24 nov *", day, Some(true)),
        // Both fields of days: one of them suffices.
        ("0 4 1 * 1", day, Some(true)),
        ("0 4 1 1 1", day, Some(false)),
        ("@hourly", Nanos::from_secs(3600), Some(true)),
        ("@yearly", day, Some(false)),
        ("5/20 4 * * *", day, Some(true)),
        ("61 * * * *", day, None),
        ("*/0 * * * *", day, None),
        ("5-1 * * * *", day, None),
        ("@every 1h", day, None),
        ("", day, None),
    ] {
        assert_eq!(cron::is_due(schedule, now(), within), due, "{schedule} within {within}");
    }
    assert!(cron::is_due("0 0 1 1 *", u64::MAX, Nanos(u64::MAX)).is_some());
}

#[test]
fn a_restart_before_the_trial_is_not_one_in_it() {
    let mut cluster = Cluster::good();
    let restarted = |finished: &str| {
        let ended = json!({"exitCode": 1, "reason": "Error", "finishedAt": finished});
        json!({"terminated": ended})
    };
    cluster.status(0)["restartCount"] = json!(1);
    cluster.status(0)["lastState"] = restarted("2026-11-23T02:58:59Z");
    assert_eq!(cluster.check("cluster.restarts").state, State::Ok);
    cluster.status(0)["lastState"] = restarted("2026-11-23T02:59:00Z");
    assert_eq!(cluster.check("cluster.restarts").state, State::Bad);
}

#[test]
fn events_tell_of_evictions_and_pulls_in_the_trial() {
    let event = |reason: &str, message: &str, time: &str| {
        json!({
            "metadata": {"namespace": "demo", "name": "frontend-0.17"},
            "involvedObject": {"kind": "Pod", "name": "frontend-0"},
            "reason": reason,
            "message": message,
            "lastTimestamp": time,
        })
    };
    let early = "2026-11-23T02:50:00Z";
    let late = "2026-11-23T02:59:30Z";
    let present = "Container image \"local/benchwright:1\" already present on machine";
    let mut cluster = Cluster::good();
    cluster.answers.events = Ok(vec![
        event("Evicted", "The node was low on resource: memory.", early),
        event("Pulled", present, late),
        event("Started", "Started container main", late),
    ]);
    assert_eq!(cluster.check("cluster.restarts").state, State::Ok);
    cluster.answers.events = Ok(vec![
        event("Evicted", "The node was low on resource: memory.", late),
        event("Pulled", "Successfully pulled image \"local/benchwright:1\" in 2s", late),
    ]);
    let check = cluster.check("cluster.restarts");
    assert_eq!(
        check.value,
        "frontend-0: Evicted: The node was low on resource: memory.; \
         frontend-0: Successfully pulled image \"local/benchwright:1\" in 2s"
    );
}

#[test]
fn an_evicted_pod_is_found_by_its_condition() {
    let mut cluster = Cluster::good();
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": lease::time_of(now() - 5),
    });
    cluster.pod(1)["status"]["conditions"].as_array_mut().unwrap().push(condition);
    let check = cluster.check("cluster.restarts");
    assert_eq!(check.value, "frontend-1 was taken away: EvictionByEvictionAPI");
}

#[test]
fn the_mode_of_kube_proxy_is_read_from_either_place() {
    let mut cluster = Cluster::good();
    cluster.answers.proxy = Ok(Proxy::Mode("ipvs\n".to_owned()));
    let mode = |cluster: &Cluster| {
        cluster.doctor().fingerprint.values["service path kube-proxy mode"].clone()
    };
    assert_eq!(mode(&cluster), "ipvs");
    let data = json!({"data": {"config": "    mode: \"\"\n"}});
    cluster.answers.proxy = Ok(Proxy::ConfigMap(data));
    assert_eq!(mode(&cluster), "iptables, the default");
}

#[test]
fn endpoints_that_were_replaced_are_found() {
    let mut cluster = Cluster::good();
    cluster.endpoint(0)["addresses"][0] = json!("198.19.1.99");
    let check = cluster.check("cluster.endpoints");
    assert_eq!(check.value, "the endpoints of frontend are others than before the trial");
    // The next trial has other addresses in any case, and the same environment.
    assert_eq!(
        differences(&Cluster::good().doctor().fingerprint, &cluster.doctor().fingerprint),
        Vec::<String>::new()
    );
}

#[test]
fn altered_limits_are_found_and_requests_that_kubernetes_adds_are_not() {
    let mut cluster = Cluster::good();
    let template = &mut cluster.stateful_set()["spec"]["template"];
    let resources = &mut template["spec"]["containers"][0]["resources"];
    *resources = json!({"limits": {"cpu": "1", "memory": "64Mi"}});
    assert_eq!(cluster.check("cluster.sidecars").state, State::Ok);
    cluster.pod(0)["spec"]["containers"][0]["resources"]["limits"]["memory"] = json!("32Mi");
    let check = cluster.check("cluster.sidecars");
    assert_eq!((check.state, check.severity), (State::Bad, Warning));
    assert!(check.value.starts_with("frontend-0: main has the resources"), "{}", check.value);
}

#[test]
fn a_generator_with_a_sidecar_is_found_without_a_template() {
    let mut cluster = Cluster::good();
    let proxy = json!({"name": "linkerd-proxy"});
    cluster.pod(2)["spec"]["containers"].as_array_mut().unwrap().push(proxy);
    let check = cluster.check("cluster.sidecars");
    assert_eq!(check.value, "load-1-0-x2x8z has the container linkerd-proxy too");
}

#[test]
fn a_spread_is_wanted_only_if_it_is_asked_for() {
    let mut cluster = Cluster::good();
    cluster.pod(1)["spec"]["nodeName"] = json!("w1");
    cluster.wanted.spread = false;
    assert_eq!(cluster.check("cluster.spread").state, State::Ok);
}

#[test]
fn a_workload_is_spread_over_the_nodes_of_its_own_role() {
    let mut cluster = Cluster::good();
    let nodes = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect::<Vec<_>>();
    cluster.wanted.roles.insert("sut".to_owned(), nodes(&["w1", "w2"]));
    cluster.wanted.roles.insert("store".to_owned(), nodes(&["w4"]));
    for name in ["store-0", "store-1"] {
        cluster.pods().push(own_pod(name, "w4", Some(("StatefulSet", "store"))));
    }
    assert_eq!(cluster.check("cluster.spread").state, State::Ok);
}

#[test]
fn a_change_that_no_controller_has_seen_is_a_rollout() {
    let mut cluster = Cluster::good();
    cluster.stateful_set()["metadata"]["generation"] = json!(2);
    cluster.pod(1)["metadata"]["deletionTimestamp"] = json!("2026-11-23T03:00:20Z");
    let check = cluster.check("cluster.rollouts");
    assert_eq!(
        check.value,
        "the statefulset frontend was changed, and its controller has not seen it yet; \
         the pod frontend-1 is about to end"
    );
    cluster.stateful_set()["status"] = json!({});
    cluster.pods().remove(1);
    assert_eq!(cluster.check("cluster.rollouts").state, State::Unknown);
}

#[test]
fn a_rate_window_longer_than_the_measurement_is_a_warning() {
    let mut cluster = Cluster::good();
    cluster.answers.prometheus.as_mut().unwrap().measure = Nanos::from_secs(30);
    let check = cluster.check("cluster.prometheus");
    assert_eq!(check.value, "the rate window of 60 s is longer than the measurement of 30 s");
    cluster.answers.prometheus = None;
    assert_eq!(cluster.check("cluster.prometheus").state, State::Ok);
}

#[test]
fn pods_of_a_deployment_are_placed_by_their_order_on_the_nodes() {
    let mut cluster = Cluster::good();
    for (pod, node) in [("web-7d4b9-zzzzz", "w1"), ("web-7d4b9-aaaaa", "w2")] {
        let mut pod = own_pod(pod, node, Some(("ReplicaSet", "web-7d4b9")));
        pod["metadata"]["labels"]["pod-template-hash"] = json!("7d4b9");
        cluster.pods().push(pod);
    }
    let before = cluster.doctor().fingerprint;
    let placement = before.placement.clone().unwrap();
    assert_eq!(placement["web[0]"].node.as_deref(), Some("w1"));
    assert_eq!(placement["web[1]"].template.as_deref(), Some("7d4b9"));
    // A restart gives them other names.
    let name = &mut cluster.pods().last_mut().unwrap()["metadata"]["name"];
    *name = json!("web-7d4b9-bbbbb");
    assert_eq!(differences(&before, &cluster.doctor().fingerprint), Vec::<String>::new());
    cluster.pods().last_mut().unwrap()["spec"]["nodeName"] = json!("w1");
    assert_eq!(
        differences(&before, &cluster.doctor().fingerprint),
        ["pod web[1] was on w2 before and on w1 after"]
    );
}

#[test]
fn pods_of_several_namespaces_are_called_by_theirs() {
    let mut cluster = Cluster::good();
    cluster.wanted.namespaces.insert("demo-2".to_owned());
    let placement = cluster.doctor().fingerprint.placement.unwrap();
    assert_eq!(placement.keys().collect::<Vec<_>>(), ["demo/frontend-0", "demo/frontend-1"]);
}

#[test]
fn the_right_that_is_missing_is_named_with_its_test() {
    let mut cluster = Cluster::good();
    cluster.answers.cron_jobs = forbidden("list cronjobs.batch -A");
    let check = cluster.check("cluster.autoscalers");
    let remedy = check.remedy.unwrap();
    assert_eq!(remedy, "grant it, and test it by `kubectl auth can-i list cronjobs.batch -A`");
}

#[test]
fn errors_of_calls_are_reasons() {
    let refused = |status: u16| api::Error::Refused {
        status,
        reason: "Forbidden".to_owned(),
        message: "no".to_owned(),
    };
    let forbidden = Missing::Forbidden("list nodes".to_owned());
    assert_eq!(Missing::of(&refused(403), "list nodes"), forbidden);
    assert_eq!(Missing::of(&refused(404), "list nodes"), Missing::Absent);
    let failed = Missing::of(&api::Error::Interrupted, "list nodes");
    assert_eq!(failed, Missing::Failed("interrupted".to_owned()));
}

#[test]
fn quantities_are_those_of_kubernetes() {
    let cpu = |text: &str| millicores(&json!(text));
    assert_eq!(cpu("500m"), Some(500));
    assert_eq!(cpu("2"), Some(2000));
    assert_eq!(cpu("0.5"), Some(500));
    assert_eq!(millicores(&json!(1)), Some(1000));
    for text in ["", "m", "-1", "nan", "inf", "1Gi", "1e300"] {
        assert_eq!(cpu(text), None, "{text}");
    }
    assert_eq!(cpus("0-2,5\n").unwrap().into_iter().collect::<Vec<_>>(), [0, 1, 2, 5]);
    for text in ["", "a", "3-1", "0-4000000000", "-"] {
        assert_eq!(cpus(text), None, "{text}");
    }
}
