use super::*;

const BUSY: Work =
    Work { asks_at_once: true, one_request_each: false, connections: 64, kernel_timestamps: false };

fn check(wanted: &str, work: Work, granted: Result<(), &str>, expected: &str) {
    let granted = || granted.map_err(str::to_owned);
    let told = match choose(wanted.parse().unwrap(), work, granted) {
        Ok(Network { interface, why }) => format!("{}: {why}", interface.name()),
        Err(error) => format!("refused: {error}"),
    };
    assert_eq!(told, expected);
}

#[test]
fn what_is_asked_for_is_taken_or_refused_with_the_remedy() {
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
        "refused: --kernel-timestamps are told by epoll only\n  leave them out, or use --io epoll",
    );
    assert_eq!(
        "poll".parse::<Wanted>(),
        Err("there is no `poll`; there are auto, epoll and uring".to_owned())
    );
}

#[test]
fn what_has_measured_better_is_chosen_where_it_is_granted() {
    let better = "uring: it has measured better where connections ask at once again";
    check("auto", BUSY, Ok(()), better);
    check("auto", Work { connections: 4, ..BUSY }, Ok(()), better);
    check("auto", BUSY, Err("it is old"), "epoll: io_uring is not granted: it is old");
    for (work, why) in [
        (Work { asks_at_once: false, ..BUSY }, "by the clock, io_uring has measured no better"),
        (
            Work { one_request_each: true, ..BUSY },
            "opening connections, io_uring has measured no better",
        ),
        (
            Work { connections: 3, ..BUSY },
            "with so few connections, io_uring has measured no better",
        ),
        (Work { kernel_timestamps: true, ..BUSY }, "the kernel's stamps are told by epoll only"),
    ] {
        check("auto", work, Ok(()), &format!("epoll: {why}"));
    }
}
