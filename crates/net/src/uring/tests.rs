//! Tests of what only io_uring has; the rest is in `contract`.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use expect_test::expect;
use measure::Random;
use scopeguard::defer;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::*;
use crate::contract::{Told, connected, next_until, uring};
use crate::{Epoll, Files, Open};

/// Answers each number that a connection sends with five thousand copies of it, and closes some
/// connections midway.
fn repeat_numbers(mut server: Epoll, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        server.wait(clock::now() + Nanos::from_millis(10));
        loop {
            let (id, number) = match server.next_event() {
                None => break,
                Some(Event::Received(id, bytes)) => (id, bytes.to_vec()),
                Some(_) => continue,
            };
            server.send(id, &number.repeat(5_000));
            if number[0] % 7 == 0 {
                server.close(id);
            }
        }
    }
}

/// The state of a connection, as its user knows it.
#[derive(Clone, Copy)]
struct Use {
    number: u32,
    is_open: bool,
}

/// Closes a random one of the first hundred ids, if it is in use.
fn close_any(io: &mut Uring, uses: &mut [Option<Use>], random: &mut Random) -> bool {
    let name = random.below(100) as usize;
    let is_used = uses.get_mut(name).is_some_and(|user| user.take().is_some());
    if is_used {
        io.close(ConnectionId(name as u32));
    }
    is_used
}

#[test]
fn thousands_of_cancelled_receives_report_nothing_and_return_every_buffer() {
    let test = "thousands_of_cancelled_receives_report_nothing_and_return_every_buffer";
    let Some(mut io) = uring(test, Timer::Sleep) else { return };
    let mut server = Epoll::new(Timer::Sleep).unwrap();
    let address = server.listen("127.0.0.1:0".parse().unwrap()).unwrap().address.into();
    let stop = AtomicBool::new(false);
    let mut random = Random::new(1);
    thread::scope(|scope| {
        scope.spawn(|| repeat_numbers(server, &stop));
        defer! { stop.store(true, Ordering::Relaxed) }
        let mut uses: Vec<Option<Use>> = Vec::new();
        let (mut begun, mut received, mut closed) = (0u32, 0u64, 0u32);
        // On a busy machine most are closed before the server has answered: then it takes more.
        while begun < 6_000 || received < 1_000_000 {
            while uses.iter().flatten().count() < 100 {
                let ConnectionId(name) = io.connect(&address);
                begun += 1;
                uses.resize(uses.len().max(name as usize + 1), None);
                let before = uses[name as usize].replace(Use { number: begun, is_open: false });
                assert!(before.is_none(), "an id has one user at a time");
            }
            io.wait(clock::now() + Nanos::from_millis(5));
            while let Some(event) = io.next_event() {
                match event {
                    Event::Connected(id) => {
                        let user = uses[id.0 as usize].as_mut().expect("only this test connects");
                        assert!(!std::mem::replace(&mut user.is_open, true));
                        let number = user.number.to_le_bytes();
                        io.send(id, &number);
                    }
                    Event::Received(id, bytes) => {
                        let user = uses[id.0 as usize].expect("it was not closed");
                        let number = user.number.to_le_bytes();
                        assert!(user.is_open && bytes.iter().all(|byte| number.contains(byte)));
                        received += bytes.len() as u64;
                    }
                    Event::Closed(id, how) => {
                        let user = uses[id.0 as usize].take();
                        assert!(user.is_some_and(|user| user.number.to_le_bytes()[0] % 7 == 0));
                        assert!([Closed::ByPeer, Closed::Reset].contains(&how), "{how:?}");
                    }
                    Event::Accepted(_) => unreachable!("nothing listens"),
                }
                // At any moment, including between two events of one wait.
                closed += u32::from(close_any(&mut io, &mut uses, &mut random));
            }
            // Otherwise nothing would happen once all connections have received everything.
            closed += u32::from(close_any(&mut io, &mut uses, &mut random));
        }
        for (name, user) in (0..).zip(&uses) {
            if user.is_some() {
                io.close(ConnectionId(name));
            }
        }
        assert!(1_000 < closed, "{closed}");
    });
    assert_eq!(next_until(&mut io, clock::now() + Nanos::from_millis(50)), Told::Nothing);
    assert_eq!(io.free.len(), io.slots.len());
    assert!(io.slots.iter().all(|slot| slot.socket.is_none() && slot.unsent.is_empty()));
    // All buffers are available again, whether they had been filled, lent or neither.
    assert_eq!(fill(&mut io), usize::from(buffers::COUNT));
}

/// Returns how many buffers the kernel fills before it has none left. Their events are not taken
/// before the connection is closed.
fn fill(io: &mut Uring) -> usize {
    let (id, mut peer) = connected(io);
    // The writer ends when the connection does.
    let writer = thread::spawn(move || while peer.write_all(&[0; 64 * 1024]).is_ok() {});
    let end = clock::now() + Nanos::from_secs(10);
    let is_empty = |entry: &cqueue::Entry| entry.result() == -libc::ENOBUFS;
    while !io.ready.iter().any(is_empty) && clock::now() < end {
        io.wait(clock::now() + Nanos::from_millis(10));
    }
    let filled = io.ready.iter().filter(|entry| cqueue::buffer_select(entry.flags()).is_some());
    let filled = filled.count();
    io.close(id);
    assert_eq!(next_until(io, clock::now() + Nanos::from_millis(20)), Told::Nothing);
    writer.join().unwrap();
    filled
}

#[test]
fn packing_an_operation_loses_nothing() {
    let (generation, id) = ((1 << 24) - 1, ConnectionId(u32::MAX));
    for kind in Kind::ALL {
        for operation in [
            Operation { kind, generation, id },
            Operation { kind, generation: 0, id: ConnectionId(7) },
        ] {
            assert_eq!(Operation::unpack(operation.pack()), operation);
        }
    }
    assert_eq!(Operation::next_generation(generation), 0);
}

#[test]
fn send_buffers_are_used_again_and_a_large_one_is_freed() {
    let test = "send_buffers_are_used_again_and_a_large_one_is_freed";
    let Some(mut io) = uring(test, Timer::Sleep) else { return };
    let (id, _peer) = connected(&mut io);
    for _ in 0..100 {
        io.send(id, b"hello");
        io.wait(clock::now());
        assert_eq!(io.spare.len(), BATCH);
    }
    io.send(id, &[0; MOST_KEPT + 1]);
    io.wait(clock::now());
    assert!(io.is_flushed(id) && io.spare.len() == BATCH - 1);
}

/// The message of a ring that the kernel refuses with this error.
fn refusal(errno: i32) -> String {
    let answer = SeccompAction::Errno(errno as u32);
    let calls = [(libc::SYS_io_uring_setup, Vec::new())].into_iter().collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, answer, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    // The filter applies to that thread alone.
    let refused = thread::spawn(move || {
        seccompiler::apply_filter(&filter).unwrap();
        granted().unwrap_err()
    });
    refused.join().unwrap()
}

#[test]
fn a_refusal_says_why_and_what_to_do() {
    let refusals = [libc::ENOSYS, libc::EPERM, libc::ENOMEM, libc::EINVAL, libc::EMFILE, libc::EIO];
    let told: Vec<String> = refusals.into_iter().map(refusal).collect();
    expect![[r#"
        this kernel has no io_uring; it takes Linux 6.1 or newer (Function not implemented (os error 38))
        it is forbidden here, by kernel.io_uring_disabled or by a container's seccomp filter (Operation not permitted (os error 1))
        the kernel has no memory for its queues; raise the limit of locked memory (ulimit -l) or of the control group (Cannot allocate memory (os error 12))
        this kernel's io_uring lacks what is needed; it takes Linux 6.1 or newer (Invalid argument (os error 22))
        no open file is left for it; raise ulimit -n (Too many open files (os error 24))
        the kernel does not grant it (Input/output error (os error 5))"#]].assert_eq(&told.join("\n"));
}

#[test]
fn it_reports_when_held_back_bytes_were_handed_over() {
    let test = "it_reports_when_held_back_bytes_were_handed_over";
    let Some(mut io) = uring(test, Timer::Sleep) else { return };
    let (id, _server) = connected(&mut io);
    io.handed_over();
    let sent = io.now();
    io.send(id, b"later");
    assert_eq!(io.handed_over(), None, "it waits for other bytes");
    let waited = io.wait(clock::now());
    let at = io.handed_over().expect("a wait hands over all bytes");
    assert!(sent <= at && at <= waited, "{sent:?} {at:?} {waited:?}");
    assert_eq!(io.handed_over(), None, "it is reported once");
    // Reading the clock late enough hands the bytes over, too.
    io.send(id, b"later");
    clock::sleep_until(clock::now() + Nanos::from_millis(1));
    let now = io.now();
    assert!(io.handed_over().is_some_and(|at| waited <= at && at <= now));
}

#[test]
fn a_file_is_truncated_even_if_the_kernel_cannot_do_it_by_the_ring() {
    let test = "a_file_is_truncated_even_if_the_kernel_cannot_do_it_by_the_ring";
    let Some(mut io) = uring(test, Timer::Sleep) else { return };
    let path = tempfile::tempdir().unwrap();
    let folder = io.folder(path.path()).unwrap();
    let file = io.open(folder, "a", Open::New).unwrap();
    io.files.as_mut().unwrap().truncates = false;
    for (length, token) in [(1_000, 1), (10, 2)] {
        io.begin(file, crate::Operation::Truncate { length }, token);
        io.wait(clock::now() + Nanos::from_secs(10));
        let done = io.next_completion().unwrap();
        assert_eq!((done.token, done.result.unwrap()), (token, 0));
        assert_eq!(io.list(folder).unwrap()[0].length, length);
    }
}
