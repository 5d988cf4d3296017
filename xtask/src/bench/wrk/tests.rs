use super::*;

#[test]
fn what_wrk_says_is_read() {
    let said = "Running 2s test @ http://127.0.0.1:35021/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   291.52us  631.37us  12.56ms   98.51%
    Req/Sec   142.20k     7.70k  147.04k    90.00%
  282660 requests in 2.00s, 44.75MB read
Requests/sec: 141241.30
Transfer/sec:     22.36MB
";
    let read = completed_by_wrk(said, Nanos::from_secs(2));
    assert_eq!(read, Some(Completed { per_s: 141_241.3, per_cpu_s: 141_330.0 }));
    assert_eq!(completed_by_wrk("unable to connect", Nanos::SECOND), None);
}
