use super::*;

const BUSY: Work =
    Work { asks_at_once: true, one_request_each: false, connections: 64, kernel_timestamps: false };

fn check(wanted: &str, work: Work, granted: Result<(), &str>, expected: &str) {
    let granted = || granted.map_err(str::to_owned);
    let text = match choose(wanted.parse().unwrap(), work, granted) {
        Ok(Network { interface, why }) => format!("{}: {why}", interface.name()),
        Err(error) => format!("refused: {error}"),
    };
    assert_eq!(text, expected);
}

#[test]
fn the_requested_interface_is_used_or_refused_with_the_remedy() {
    check("epoll", BUSY, Err("it is old"), "epoll: asked for");
    check("uring", BUSY, Ok(()), "uring: asked for");
    check(
        "uring",
        BUSY,
        Err("it is old"),
        "refused: --io uring: io_uring is not granted: it is old\n  use --io epoll, or auto",
    );
    check(
        "uring",
        Work { kernel_timestamps: true, ..BUSY },
        Ok(()),
        "refused: --kernel-timestamps works with epoll only\n  leave it out, or use --io epoll",
    );
    assert_eq!(
        "poll".parse::<Choice>(),
        Err("`poll` is not an interface; write auto, epoll or uring".to_owned())
    );
}

#[test]
fn the_interface_that_measured_better_is_chosen_if_it_is_granted() {
    let better = "uring: it measured better in closed loops without think time";
    check("auto", BUSY, Ok(()), better);
    check("auto", Work { connections: 4, ..BUSY }, Ok(()), better);
    check("auto", BUSY, Err("it is old"), "epoll: io_uring is not granted: it is old");
    for (work, why) in [
        (
            Work { asks_at_once: false, ..BUSY },
            "io_uring measured no better in an open loop or with think time",
        ),
        (
            Work { one_request_each: true, ..BUSY },
            "io_uring measured no better with one request per connection",
        ),
        (Work { connections: 3, ..BUSY }, "io_uring measured no better with so few connections"),
        (Work { kernel_timestamps: true, ..BUSY }, "only epoll reports kernel timestamps"),
    ] {
        check("auto", work, Ok(()), &format!("epoll: {why}"));
    }
}
