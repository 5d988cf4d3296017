use std::os::fd::AsRawFd;

use super::*;
use crate::{Epoll, Io, Timer};

fn name_of(socket: &impl AsRawFd) -> String {
    socket::congestion_control(socket.as_raw_fd()).unwrap()
}

/// Linux always has reno.
#[test]
fn a_name_that_the_kernel_has_can_be_chosen_and_no_other() {
    assert_eq!(check("reno"), Ok(()));
    let refusal = check("carrier_pigeons").unwrap_err();
    assert!(refusal.starts_with("`carrier_pigeons`: there is none of this name"), "{refusal}");
    assert!(refusal.contains("available here: ") && refusal.contains("reno"), "{refusal}");
    let long = check(&"x".repeat(1_000)).unwrap_err();
    assert!(long.contains("there is none of this name"), "{long}");
}

#[test]
fn connections_use_the_systems_unless_another_one_is_chosen() {
    let system = of_system().unwrap();
    assert_eq!(
        fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").unwrap().trim(),
        system
    );
    for (asked, has) in [(None, system.as_str()), (Some("reno"), "reno")] {
        let asked = asked.map(str::to_owned);
        let socket = socket::listen(NOWHERE, asked.as_deref()).unwrap();
        assert_eq!(name_of(&socket), has);
        let to = socket::local_address(socket.as_raw_fd()).unwrap().into();
        let client = socket::connect(&to, asked.as_deref()).unwrap();
        assert_eq!(name_of(&client), has);
        // An accepted connection inherits it from the listener.
        let served = loop {
            if let Ok(served) = socket::accept(socket.as_raw_fd()) {
                break served;
            }
        };
        assert_eq!(name_of(&served), has);
    }
}

#[test]
fn a_name_that_was_not_checked_connects_nothing() {
    let name = Some("carrier_pigeons".to_owned());
    let mut io = Epoll::new(Timer::Sleep).unwrap().with_congestion_control(name);
    assert!(io.listen(NOWHERE).is_err());
    let (_listener, address) = crate::contract::listen();
    let id = io.connect(&address);
    let told = crate::contract::next(&mut io);
    assert!(matches!(told, crate::contract::Told::Closed(closed, _) if closed == id), "{told:?}");
}
