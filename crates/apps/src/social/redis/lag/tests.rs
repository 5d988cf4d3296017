use super::*;

const TOLD: &str = "# Replication\r\nrole:master\r\nconnected_slaves:2\r\n\
    slave0:ip=127.0.0.1,port=7001,state=online,offset=4200,lag=0\r\n\
    slave1:ip=127.0.0.1,port=7002,state=online,offset=1200,lag=7\r\n\
    slave2:ip=127.0.0.1\r\nslave_expires_tracked_keys:0\r\nmaster_repl_offset:4242\r\n";

#[test]
fn each_replica_has_its_silence_and_the_bytes_that_it_lacks() {
    let replica = |port, seconds, bytes| (format!("127.0.0.1:{port}"), Lag { seconds, bytes });
    assert_eq!(replicas(TOLD), BTreeMap::from([replica(7001, 0, 42), replica(7002, 7, 3042)]));
}

#[test]
fn a_primary_without_replicas_has_no_lag() {
    assert_eq!(replicas("role:master\r\nmaster_repl_offset:0\r\n"), BTreeMap::new());
    assert_eq!(replicas(""), BTreeMap::new());
}

#[test]
fn a_replica_that_is_silent_or_not_listed_is_in_an_unusual_state() {
    let listed = replicas(TOLD);
    let unusual = |port| listed[&format!("127.0.0.1:{port}")].unusual();
    assert_eq!(unusual(7001), None);
    assert_eq!(unusual(7002).unwrap(), "lags: silent for 7 s, at least 3042 bytes behind");
    assert_eq!(left("127.0.0.1:7001", &listed), None);
    assert_eq!(left("127.0.0.1:7003", &listed).unwrap(), "does not follow its primary");
    assert_eq!(left("redis-replicas:6379", &listed), None);
}

#[test]
fn lags_are_gauges_with_the_address_of_the_replica() {
    let lags = Lags(Mutex::new(replicas(TOLD)));
    let mut out = String::new();
    lags.write(&mut out);
    assert!(out.contains("\nsocial_redis_replica_lag_seconds{replica=\"127.0.0.1:7002\"} 7\n"));
    assert!(out.contains("\nsocial_redis_replica_behind_bytes{replica=\"127.0.0.1:7001\"} 42\n"));
}
