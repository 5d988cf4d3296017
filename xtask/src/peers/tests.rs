use super::*;

#[test]
fn wrks_output_is_read_without_failed_requests() {
    let output = "Running 2s test @ http://127.0.0.1:35021/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   291.52us  631.37us  12.56ms   98.51%
    Req/Sec   142.20k     7.70k  147.04k    90.00%
  282660 requests in 2.00s, 44.75MB read
  Non-2xx or 3xx responses: 60
Requests/sec: 141241.30
Transfer/sec:     22.36MB
";
    assert_eq!((WRK.completed)(output), Some(282_600.0));
    assert_eq!((WRK.completed)(&output.replace("  Non-2xx", "  None")), Some(282_660.0));
    assert_eq!((WRK.completed)("unable to connect"), None);
}

#[test]
fn the_others_output_is_read_as_json() {
    let oha = r#"{"summary": {"total": 4.0}, "statusCodeDistribution": {"200": 12, "503": 3}}"#;
    assert_eq!((OHA.completed)(oha), Some(12.0));
    assert_eq!((K6.completed)(r#"{"completed":13}"#), Some(13.0));
    assert_eq!((VEGETA.completed)(r#"{"requests":15,"status_codes":{"200":14}}"#), Some(14.0));
    let fortio = "Fortio running\n{\n  \"RetCodes\": {\n    \"200\": 15\n  }\n}\n";
    assert_eq!((FORTIO.completed)(fortio), Some(15.0));
    assert_eq!((FORTIO.completed)("{}"), None);
}

#[test]
fn each_version_has_a_folder_of_its_own() {
    assert!(K6.path().ends_with("peers/k6-v1.8.1/bin/k6"), "{}", K6.path().display());
    assert_eq!(WRK.path(), PathBuf::from("wrk"));
}
