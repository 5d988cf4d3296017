use measure::{Nanos, Offset};
use serde_json::json;

use super::*;

#[test]
fn pods_may_use_reserved_cpus_unless_the_reservation_is_strict() {
    let node = json!({"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3500m"}}});
    assert_eq!(usable_cpus(&node, &Value::Null), 4.0);
    let mut configuration = json!({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"});
    assert_eq!(usable_cpus(&node, &configuration), 4.0);
    configuration["cpuManagerPolicyOptions"] = json!({"strict-cpu-reservation": "true"});
    assert_eq!(usable_cpus(&node, &configuration), 3.5);
}

#[test]
fn a_node_is_described_with_its_kubelet_and_its_clock() {
    let node = json!({
        "metadata": {"name": "w1"},
        "status": {
            "capacity": {"cpu": "2", "memory": "1Mi"},
            "nodeInfo": {
                "kubeletVersion": "v1.34.0",
                "kernelVersion": "6.1.0",
                "containerRuntimeVersion": "containerd://1.6",
            },
        },
    });
    let clock = Some(Offset { ahead_ns: 5, error: Nanos(7) });
    let known = Known { node, configuration: Some(json!({"podsPerCore": 0})), clock, cpus: 2.0 };
    let described = known.described();
    assert_eq!((described.cpus, described.memory_bytes), (2, Some(1 << 20)));
    assert_eq!(described.kubelet.as_deref(), Some("v1.34.0"));
    assert_eq!(described.kubelet_configuration, Some(json!({"podsPerCore": 0})));
    assert_eq!(described.container_runtime.as_deref(), Some("containerd://1.6"));
    assert_eq!(described.clock_error_ns, Some(7));
}
