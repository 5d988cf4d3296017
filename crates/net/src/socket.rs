//! Non-blocking stream sockets: the few calls that `std` offers only with blocking.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use crate::io::{Address, Closed, Endpoint};

/// Starts a connection, with the system's congestion control unless another one is named; the
/// socket becomes writable when the attempt has succeeded or failed.
pub(crate) fn connect(to: &Endpoint, congestion: Option<&str>) -> io::Result<OwnedFd> {
    match &to.address {
        Address::Inet(address) => {
            let socket = stream(*address)?;
            if let Some(name) = congestion {
                control_congestion(socket.as_raw_fd(), name)?;
            }
            if let Some(source) = to.source {
                bind_source(socket.as_raw_fd(), source)?;
            }
            begin(socket, to_raw(*address))
        }
        Address::Unix(path) => begin(open(libc::AF_UNIX)?, to_raw_path(path)?),
    }
}

fn begin(
    socket: OwnedFd,
    (name, length): (libc::sockaddr_storage, libc::socklen_t),
) -> io::Result<OwnedFd> {
    // SAFETY: `name` holds an address of `length` bytes.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const name).cast(), length) };
    match result {
        0 => Ok(socket),
        _ => match io::Error::last_os_error() {
            e if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
            e => Err(e),
        },
    }
}

/// Sends what the kernel takes at once; returns the count, or -1 as the call does.
///
/// The C library's `send` and `recv` can be cancelled. Our threads never are, and this support
/// costs four locked instructions a request: hence the bare system calls.
pub(crate) fn send(socket: RawFd, bytes: &[u8]) -> isize {
    let (from, flags) = (bytes.as_ptr(), libc::MSG_NOSIGNAL);
    let no_address = ptr::null::<libc::sockaddr>();
    // SAFETY: the pointer and the length are those of a slice; no address is given.
    let count = unsafe {
        libc::syscall(libc::SYS_sendto, socket, from, bytes.len(), flags, no_address, 0usize)
    };
    count as isize
}

/// Receives what is there; returns the count, or -1 as the call does.
pub(crate) fn receive(socket: RawFd, into: &mut [u8]) -> isize {
    let (to, flags) = (into.as_mut_ptr(), 0);
    let no_address = ptr::null_mut::<libc::c_void>();
    // SAFETY: the pointer and the length are those of a slice; no address is requested.
    let count = unsafe {
        libc::syscall(libc::SYS_recvfrom, socket, to, into.len(), flags, no_address, no_address)
    };
    count as isize
}

/// Listens on an address; port 0 takes a free one. Accepted sockets inherit the congestion control.
pub(crate) fn listen(address: SocketAddr, congestion: Option<&str>) -> io::Result<OwnedFd> {
    let socket = stream(address)?;
    switch_on(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
    if let Some(name) = congestion {
        control_congestion(socket.as_raw_fd(), name)?;
    }
    let (name, length) = to_raw(address);
    // SAFETY: `name` holds an address of `length` bytes; `listen` takes no pointer.
    let failed = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const name).cast(), length) != 0
            || libc::listen(socket.as_raw_fd(), 4096) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(socket) }
}

/// Stops listening at once, though the kernel may still use the socket: connections that wait to be
/// accepted are reset, and further ones are refused.
pub(crate) fn stop_listening(listener: RawFd) {
    // SAFETY: a call without pointers.
    unsafe { libc::shutdown(listener, libc::SHUT_RDWR) };
}

/// Accepts the next waiting connection, if there is one.
pub(crate) fn accept(listener: RawFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the peer's address is not requested.
    let fd = unsafe { libc::accept4(listener, std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    let socket = owned(fd)?;
    switch_on(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    Ok(socket)
}

pub(crate) fn local_address(socket: RawFd) -> io::Result<SocketAddr> {
    // SAFETY: all-zero bytes are a valid storage for an address.
    let mut name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: `name` has room for `length` bytes.
    let result = unsafe { libc::getsockname(socket, (&raw mut name).cast(), &mut length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    from_raw(&name)
}

/// The error that a connection attempt ended with, if it failed.
pub(crate) fn pending_error(socket: RawFd) -> Option<i32> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `error` has room for `length` bytes.
    let result = unsafe {
        let error = (&raw mut error).cast();
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_ERROR, error, &mut length)
    };
    match result {
        0 => Some(error).filter(|&error| error != 0),
        _ => Some(libc::EBADF),
    }
}

/// Chooses TCP's congestion control by its name.
pub(crate) fn control_congestion(socket: RawFd, name: &str) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of a slice.
    let result = unsafe {
        let (option, length) = (libc::TCP_CONGESTION, name.len() as libc::socklen_t);
        libc::setsockopt(socket, libc::IPPROTO_TCP, option, name.as_ptr().cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The name of TCP's congestion control.
pub(crate) fn congestion_control(socket: RawFd) -> io::Result<String> {
    // The kernel's names are shorter (TCP_CA_NAME_MAX).
    let mut name = [0u8; 64];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: `name` has room for `length` bytes.
    let result = unsafe {
        let option = libc::TCP_CONGESTION;
        let into = name.as_mut_ptr().cast();
        libc::getsockopt(socket, libc::IPPROTO_TCP, option, into, &mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    let name = name[..length as usize].split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// The outcome of an attempt to connect that ended with this error.
pub(crate) fn why_not_connected(error: i32) -> Closed {
    match error {
        libc::ECONNREFUSED | libc::ENOENT => Closed::Refused,
        libc::EMFILE | libc::ENFILE | libc::EADDRNOTAVAIL | libc::ENOBUFS | libc::ENOMEM => {
            Closed::Exhausted
        }
        _ => Closed::Unreachable,
    }
}

/// Binds the address only: `connect` chooses the port, since it knows which ports may be shared.
fn bind_source(socket: RawFd, source: IpAddr) -> io::Result<()> {
    switch_on(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)?;
    let (name, length) = to_raw(SocketAddr::new(source, 0));
    // SAFETY: `name` holds an address of `length` bytes.
    let result = unsafe { libc::bind(socket, (&raw const name).cast(), length) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn stream(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 })?;
    switch_on(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    Ok(socket)
}

fn open(family: libc::c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: a call without pointers.
    owned(unsafe { libc::socket(family, kind, 0) })
}

fn switch_on(socket: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    set_option(socket, level, option, 1)
}

pub(crate) fn set_option(
    socket: RawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `value` is valid for its size.
    let result = unsafe {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        libc::setsockopt(socket, level, option, (&raw const value).cast(), length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    match fd {
        0.. => {
            // SAFETY: the kernel has just created this descriptor, and nothing else uses it.
            Ok(unsafe { OwnedFd::from_raw_fd(fd) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn to_raw(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all-zero bytes are a valid storage for an address.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let length = match address {
        SocketAddr::V4(v4) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: the storage is large enough and aligned for every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in>().write(name) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: the storage is large enough and aligned for every kind of address.
            unsafe { (&raw mut storage).cast::<libc::sockaddr_in6>().write(name) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

fn to_raw_path(path: &Path) -> io::Result<(libc::sockaddr_storage, libc::socklen_t)> {
    // SAFETY: all-zero bytes are a valid name of a Unix socket.
    let mut name: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    let bytes = path.as_os_str().as_bytes();
    // One byte stays zero: the end of the path.
    if name.sun_path.len() <= bytes.len() {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    name.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, &byte) in name.sun_path.iter_mut().zip(bytes) {
        *to = byte as libc::c_char;
    }
    // SAFETY: all-zero bytes are a valid storage for an address, which is large enough and aligned
    // for every kind.
    let storage = unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        (&raw mut storage).cast::<libc::sockaddr_un>().write(name);
        storage
    };
    Ok((storage, size_of::<libc::sockaddr_un>() as libc::socklen_t))
}

fn from_raw(storage: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage holds this kind of address.
            let name = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Ok(SocketAddrV4::new(ip, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that the storage holds this kind of address.
            let name = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let port = u16::from_be(name.sin6_port);
            Ok(SocketAddrV6::new(ip, port, name.sin6_flowinfo, name.sin6_scope_id).into())
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}
