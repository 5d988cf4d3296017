use super::*;

#[test]
fn wrks_text_is_read() {
    let text = "Running 2s test @ http://127.0.0.1:1
  2 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.34ms    2.64ms   1.15s    84.24%
    Req/Sec     2.51k   274.17     2.95k    65.00%
  Latency Distribution
     50%  970.00us
     99%   10.10ms
  10042 requests in 2.00s, 1.59MB read
Requests/sec:   5021.00
Transfer/sec:    813.95KB
";
    let printed = read(text).unwrap();
    assert_eq!(printed.completed_per_s, 5021.0);
    assert_eq!(printed.max, Nanos::from_millis(1150));
    let ten = Nanos::from_secs_f64(0.010_1);
    assert_eq!(printed.percentiles, [(0.5, Nanos(970_000)), (0.99, ten)]);
    assert_eq!(read("unable to connect\n"), None);
}

#[test]
fn times_have_the_units_that_wrk_writes() {
    let read = ["850.00us", "1.02ms", "1.00s", "0.85m", "1.50h", "1.00", "x"].map(time);
    let of = |s: f64| Some(Nanos::from_secs_f64(s));
    let wanted = [of(850e-6), of(1.02e-3), of(1.0), of(51.0), of(5400.0), None, None];
    assert_eq!(read, wanted);
}
