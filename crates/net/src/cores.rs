//! The CPUs that a thread may run on, and its priority there.

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

/// Pins this thread to one CPU.
pub fn pin(cpu: u32) -> io::Result<()> {
    keep_to(&[cpu])
}

/// Keeps this thread on these CPUs.
pub fn keep_to(cpus: &[u32]) -> io::Result<()> {
    for cpu in cpus {
        assert!(*cpu < libc::CPU_SETSIZE as u32, "CPU {cpu} is beyond what the kernel can name");
    }
    // SAFETY: an all-zero set is a valid empty set; each CPU is below its size, which is passed along.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu as usize, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The priority of a thread on a CPU that others want, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Urgency {
    /// Before all ordinary threads.
    RealTime,
    /// Before ordinary threads that have run for a moment, if the kernel supports it.
    Short,
}

/// Asks the kernel to run this thread as soon as it wakes, so that only the machine delays it, not
/// other threads. Real time needs privileges; a short slice (Linux 6.12) needs none.
pub fn urgent() -> Urgency {
    // The kernel's own structure and call: musl's has more fields, and its function always fails.
    let priority: libc::c_int = 1;
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: the kernel reads one number, which is valid for the call.
    if unsafe { libc::syscall(call, 0, libc::SCHED_FIFO, &raw const priority) } == 0 {
        return Urgency::RealTime;
    }
    let size = size_of::<SchedulingAttributes>() as u32;
    let attributes =
        SchedulingAttributes { size, runtime_ns: 100_000, ..SchedulingAttributes::default() };
    // SAFETY: `attributes` is valid for the call and contains its own size. An older kernel ignores
    // the slice, and the thread keeps its priority.
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
