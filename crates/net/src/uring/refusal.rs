//! The explanation why the kernel refuses a ring, for the user.

use std::io;

/// Returns the kernel's refusal as a sentence that ends in the remedy.
pub(super) fn explain(error: &io::Error) -> String {
    let why = match error.raw_os_error() {
        Some(libc::ENOSYS) => "this kernel has no io_uring; it takes Linux 6.1 or newer",
        Some(libc::EPERM | libc::EACCES) => {
            "it is forbidden here, by kernel.io_uring_disabled or by a container's seccomp filter"
        }
        Some(libc::ENOMEM) => {
            "the kernel has no memory for its queues; raise the limit of locked memory (ulimit -l) \
             or of the control group"
        }
        Some(libc::EINVAL | libc::EOPNOTSUPP) => {
            "this kernel's io_uring lacks what is needed; it takes Linux 6.1 or newer"
        }
        Some(libc::EMFILE | libc::ENFILE) => "no open file is left for it; raise ulimit -n",
        _ => "the kernel does not grant it",
    };
    format!("{why} ({error})")
}
