//! The end of the process by a script, with `ffi.C.exit`: the code would be the script's, as if there were a result.
#![expect(unsafe_code, reason = "the C library calls a function at the end of the process")]

use std::cell::Cell;
use std::ffi::c_int;
use std::io::Write;
use std::sync::Once;

/// The exit code of a load without a result.
const NO_RESULT: c_int = 3;

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The time in which this thread runs a script.
pub(crate) struct Inside {
    before: bool,
}

impl Inside {
    pub(crate) fn enter() -> Inside {
        Inside { before: IS_INSIDE.replace(true) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.set(self.before);
    }
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// From now on, a process that a script ends has no success.
pub(crate) fn explain() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: takes a function of this program, which is there until the end.
        let _ = unsafe { atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    if IS_INSIDE.get() {
        let text = b"error: the script ended the process, so there is no result\n";
        let _ = std::io::stderr().write_all(text);
        // SAFETY: takes a number.
        unsafe { _exit(NO_RESULT) }
    }
}
