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

/// Lets this thread run before all ordinary ones, so that what delays it is the machine and not
/// its neighbours. Whether that was granted: it takes privileges.
pub fn real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` is valid for the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}
