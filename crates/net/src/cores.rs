//! Which CPUs a thread may run on.

use std::io;

/// The CPUs that the kernel allows this thread, in ascending order.
pub fn allowed() -> Vec<u32> {
    // SAFETY: an all-zero set is a valid empty set, and its size is passed along.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    // SAFETY: `cpu` is below the size of the set.
    (0..libc::CPU_SETSIZE as u32)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu as usize, &set) })
        .collect()
}

/// Keeps this thread on one CPU.
pub fn pin(cpu: u32) -> io::Result<()> {
    assert!(cpu < libc::CPU_SETSIZE as u32, "CPU {cpu} is beyond what the kernel can name");
    // SAFETY: an all-zero set is a valid empty set; `cpu` is below its size, which is passed along.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How soon a thread gets a CPU that others want too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Urgency {
    /// Before all ordinary threads.
    RealTime,
    /// Before ordinary threads that have run for a moment, where the kernel knows how.
    Short,
}

/// Asks that this thread be run as soon as it wakes, so that what delays it is the machine and not
/// its neighbours. Real time takes privileges; a short slice (Linux 6.12) takes none.
pub fn urgent() -> Urgency {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` is valid for the call.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } == 0 {
        return Urgency::RealTime;
    }
    let size = size_of::<SchedulingAttributes>() as u32;
    let attributes =
        SchedulingAttributes { size, runtime_ns: 100_000, ..SchedulingAttributes::default() };
    // SAFETY: `attributes` is valid for the call and names its own size. An older kernel ignores
    // the slice, which leaves the thread as it was.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    Urgency::Short
}

/// `struct sched_attr` of sched_setattr(2), in its first version.
#[repr(C)]
#[derive(Default)]
struct SchedulingAttributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}
