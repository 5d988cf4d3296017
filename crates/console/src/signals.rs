//! The signals that ask a program to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use nix::sys::signal::{SigSet, Signal};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
};

#[cfg(test)]
mod tests;

/// The exit code of a program that they end.
pub(crate) const EXIT: i32 = 130;

/// The last four are those by which batch systems, a timer of the parent and `ulimit -t` say that the time is over.
const ENDING: [i32; 8] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU];

/// True until a command handles these signals itself.
static UNHANDLED: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Lets the signals that ask a program to end do so at once, as long as no command handles them itself: with the exit
/// code of the table. Ctrl-C needs nothing, as a shell has this code for a program that it ends. A file beyond the
/// limit of its size is an error, and not the end.
pub fn end_at_once() {
    let register =
        |signal| signal_hook::flag::register_conditional_shutdown(signal, EXIT, UNHANDLED.clone());
    let mut others = ENDING.into_iter().filter(|signal| *signal != SIGINT);
    let registered = others.try_for_each(|signal| register(signal).map(drop));
    let registered = registered.and_then(|()| signal_hook::flag::register(SIGXFSZ, Arc::default()));
    registered.expect("these signals can be handled");
}

/// Has the signals that ask a program to end handled by its other threads, not by this one.
pub fn leave_to_others() {
    let mut signals = SigSet::empty();
    for signal in ENDING {
        signals.add(Signal::try_from(signal).expect("they are signals"));
    }
    // Otherwise this thread handles them: only a wait of another one may then take longer to end.
    let _ = signals.thread_block();
}

/// Returns a flag that these signals set from now on; a second Ctrl-C ends the process at once.
pub fn interrupted() -> Arc<AtomicBool> {
    let flag = INTERRUPTED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let second = signal_hook::flag::register_conditional_shutdown(SIGINT, EXIT, flag.clone());
        let register = |signal| signal_hook::flag::register(signal, flag.clone()).map(drop);
        let registered = second.and_then(|_| ENDING.into_iter().try_for_each(register));
        registered.expect("these signals can be handled");
        UNHANDLED.store(false, Ordering::SeqCst);
        flag
    });
    flag.clone()
}

/// Returns true once a command that handles these signals itself was asked to end.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
