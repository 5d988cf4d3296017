use super::*;

#[test]
fn reads_and_updates_are_counted_whichever_command_makes_them() {
    let statistics = "$99\r\n# Commandstats\r\ncmdstat_ping:calls=2,usec=2\r\n\
                      cmdstat_hmget:calls=9962,usec=15674,usec_per_call=1.57\r\ncmdstat_hset:calls=38,usec=1\r\n";
    assert_eq!(calls(statistics), 10_000);
}

#[test]
fn every_workload_ships() {
    assert!(WORKLOADS.iter().all(|(workload, _)| file(workload).is_file()));
}
