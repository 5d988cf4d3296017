//! The view on a terminal: a thread draws what happened so far, at most four times a second, and
//! reads keys.
//!
//! A view is folded from events and a time that is passed in, and drawing it is a function of it: only
//! this file reads the clock and touches the terminal. The view takes the alternate screen, which
//! survives any change of the terminal's size. What lasts is printed as ordinary lines once the
//! screen is left, so that nothing is lost.
//!
//! The thread keeps off the CPUs of the generator and of the system under test, and shows its own use
//! of a CPU.

use std::io::{self, BufWriter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use measure::{Instant, Nanos};
use net::{clock, cores, process};
use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{cursor, execute, terminal};
use signal_hook::consts::SIGINT;

use crate::output::{self, Stream};

pub use self::load::Single;
pub use self::look::Common;

pub mod figures;
mod load;
pub mod look;

#[cfg(test)]
mod tests;

/// The shortest time between two pictures.
const FRAME: Nanos = Nanos::from_millis(250);
/// The interval at which the thread looks whether it has to end.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);
/// The longest wait for the thread at the end.
const MOST_WAIT: Nanos = Nanos::SECOND;

/// The state of a view.
pub trait View: Send + 'static {
    fn common(&mut self) -> &mut Common;
    /// Draws it; the same state and time give the same picture.
    fn draw(&self, frame: &mut Frame<'_>, now: Instant);
    /// Handles a key that not every view has.
    fn key(&mut self, key: char);
}

/// Returns true if stderr is a terminal that can show a view and has this process in its foreground.
pub fn is_usable() -> bool {
    output::is_terminal() && process::is_in_foreground()
}

/// A view that is shown until this is dropped.
pub struct Shown<V: View> {
    view: Arc<Mutex<V>>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl<V: View> Shown<V> {
    /// Takes the terminal and shows the view. Keys that were typed before are handled when this
    /// returns. `interrupted` is the flag that Ctrl-C sets.
    pub fn begin(view: V, interrupted: Arc<AtomicBool>) -> io::Result<Shown<V>> {
        let (view, over) = (Arc::new(Mutex::new(view)), Arc::new(AtomicBool::new(false)));
        take_screen()?;
        let (sender, is_shown) = mpsc::channel();
        let served = Served { view: Arc::clone(&view), over: Arc::clone(&over), interrupted };
        let thread = thread::Builder::new().name("view".to_owned());
        let thread = thread.spawn(move || served.serve(&sender)).inspect_err(|_| leave_screen())?;
        // The thread drops its sender if it ends early: then there is nothing to wait for.
        let _ = is_shown.recv();
        Ok(Shown { view, over, thread })
    }

    /// Locks the view, to fold what happened into it. The thread never waits for the terminal while
    /// it has the lock, so the terminal cannot hold up a run.
    pub fn view(&self) -> MutexGuard<'_, V> {
        lock(&self.view)
    }

    pub fn shared(&self) -> Arc<Mutex<V>> {
        Arc::clone(&self.view)
    }
}

impl<V: View> Drop for Shown<V> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // A terminal that takes no more output must not keep the run from ending. If the thread
        // panicked, its message is on the screen, and the run went on without the view.
        let begun = clock::now();
        let is_late = || MOST_WAIT < clock::now() - begun;
        while !self.thread.is_finished() && !is_late() {
            clock::sleep_until(clock::now() + Nanos::from_millis(5));
        }
        leave_screen();
    }
}

pub fn lock<V>(view: &Mutex<V>) -> MutexGuard<'_, V> {
    view.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The part of a view that its thread has.
struct Served<V> {
    view: Arc<Mutex<V>>,
    over: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl<V: View> Served<V> {
    fn serve(&self, shown: &Sender<()>) {
        let allowed = cores::allowed();
        let mut home = Vec::new();
        // Without a buffer every cell would be a system call.
        let writer: BufWriter<Stream> = BufWriter::with_capacity(1 << 16, Stream::Stderr);
        // A terminal without a size, or that is gone: the run goes on without a view.
        let Ok(mut screen) = ratatui::Terminal::new(CrosstermBackend::new(writer)) else { return };
        let (begun, mut next) = (clock::now(), clock::now());
        loop {
            if self.keys(next).is_err() || !TAKEN.load(Ordering::Relaxed) {
                return;
            }
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            next = clock::now() + FRAME;
            let mut view = lock(&self.view);
            let common = view.common();
            common.is_quitting = self.interrupted.load(Ordering::Relaxed);
            let elapsed = clock::now() - begun;
            // A share of the first moment would say nothing.
            common.cost = (Nanos::SECOND <= elapsed)
                .then(|| clock::thread_cpu().as_secs_f64() / elapsed.as_secs_f64());
            let wanted = place(&allowed, &common.sut, &common.load);
            drop(view);
            if wanted != home {
                // If the kernel refuses, the thread stays where it was: that costs at most 1 %.
                let _ = cores::keep_to(&wanted);
                home = wanted;
            }
            let drawn = screen.draw(|frame| lock(&self.view).draw(frame, clock::now()));
            if drawn.is_err() {
                return;
            }
            let _ = shown.send(());
        }
    }

    /// Handles keys until it is time for the next picture; each key that is there already, even if
    /// that time has come.
    fn keys(&self, until: Instant) -> io::Result<()> {
        loop {
            let left = until.saturating_since(clock::now());
            // The library would wait here, too, but for ever on a terminal that hangs up meanwhile.
            if process::wait_for_key(left.min(LOOK_EVERY))? {
                while event::poll(Duration::ZERO)? {
                    self.handle(&event::read()?);
                }
            } else if left == Nanos::ZERO || self.over.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    fn handle(&self, event: &Event) {
        let Event::Key(key) = event else { return };
        if key.kind == KeyEventKind::Release {
            return;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.interrupt(),
            KeyCode::Char('q') if !self.interrupted.load(Ordering::Relaxed) => self.interrupt(),
            KeyCode::Esc => lock(&self.view).common().shows_help = false,
            KeyCode::Char(key) => {
                let mut view = lock(&self.view);
                if !view.common().key(key) {
                    view.key(key);
                }
            }
            _ => {}
        }
    }

    /// Does what Ctrl-C does without a view: the second one ends the process at once.
    fn interrupt(&self) {
        if self.interrupted.load(Ordering::Relaxed) {
            leave_screen();
        }
        signal_hook::low_level::raise(SIGINT).expect("a process can signal itself");
    }
}

/// Returns the CPUs for the view: those that neither the generator nor the system under test has. The
/// generator takes the last ones of those that it may use, so if its CPUs are not known the view takes
/// the first.
///
/// If both roles together have all CPUs, the view shares those of the generator, as the runner does:
/// there the gates show what it costs, while nothing would show what it takes from the system.
fn place(allowed: &[u32], sut: &[u32], load: &[u32]) -> Vec<u32> {
    let without = |roles: &[&[u32]]| -> Vec<u32> {
        let is_taken = |cpu: &u32| roles.iter().any(|role| role.contains(cpu));
        allowed.iter().copied().filter(|cpu| !is_taken(cpu)).collect()
    };
    let free = without(&[sut, load]);
    let beside_sut = without(&[sut]);
    match (free.is_empty(), load.is_empty(), beside_sut.is_empty()) {
        (false, false, _) => free,
        (false, true, _) => free[..1].to_vec(),
        (true, _, false) => beside_sut,
        (true, _, true) => allowed.to_vec(),
    }
}

/// True while the terminal is in the state that a view needs.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the alternate screen of the terminal.
pub fn take_screen() -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave_screen();
            usual(panic);
        }));
    });
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::Relaxed);
    execute!(Stream::Stderr, EnterAlternateScreen, cursor::Hide).inspect_err(|_| leave_screen())
}

/// Gives the terminal back as it was; harmless if that is done already.
pub fn leave_screen() {
    if TAKEN.swap(false, Ordering::Relaxed) {
        // A terminal that is gone needs nothing back.
        let _ = execute!(Stream::Stderr, LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}
