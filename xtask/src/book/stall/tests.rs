use super::*;

#[test]
fn each_interval_of_intended_starts_has_its_slowest_request() {
    let samples = "intended_ns,sent_ns,first_byte_ns,done_ns,outcome\n\
                   1000000000,1,1,1900000000,ok\n\
                   1000000000,1,1,1000300000,ok\n\
                   1085000000,1,1,1085200000,ok\n\
                   1086000000,,,,dropped\n";
    assert_eq!(slowest(samples), [(0.0, 9e8), (0.08, 2e5)]);
    assert_eq!(slowest(""), []);
}
