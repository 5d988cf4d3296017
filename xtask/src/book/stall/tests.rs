use super::*;

#[test]
fn of_each_interval_the_slowest_is_taken_by_when_it_was_meant_to_start() {
    let samples = "intended_ns,sent_ns,first_byte_ns,done_ns,outcome\n\
                   1000000000,1,1,1900000000,ok\n\
                   1000000000,1,1,1000300000,ok\n\
                   1085000000,1,1,1085200000,ok\n\
                   1086000000,,,,dropped\n";
    assert_eq!(slowest(samples), [(0.0, 9e8), (0.08, 2e5)]);
    assert_eq!(slowest(""), []);
}
