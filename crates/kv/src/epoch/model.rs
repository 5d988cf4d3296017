//! The epoch in many interleavings: `RUSTFLAGS="--cfg shuttle" cargo test -p kv model`.

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering::Relaxed};
use shuttle::thread;

use super::Epoch;

/// The interleavings that are tried of each test.
const INTERLEAVINGS: usize = 5_000;

#[test]
fn model_of_a_session_while_something_is_replaced_and_freed() {
    shuttle::check_random(
        || {
            let epoch = Arc::new(Epoch::new(1));
            epoch.open(0, 0);
            let (replaced, freed) =
                (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let session = {
                let (epoch, replaced, freed) = (epoch.clone(), replaced.clone(), freed.clone());
                thread::spawn(move || {
                    let inside = epoch.enter(0);
                    for _ in 0..2 {
                        if !replaced.load(Relaxed) {
                            assert!(!freed.load(Relaxed), "freed while a session uses it");
                        }
                        inside.refresh();
                    }
                })
            };
            replaced.store(true, Relaxed);
            epoch.bump(()).unwrap();
            if epoch.take_due().is_some() {
                freed.store(true, Relaxed);
            }
            session.join().unwrap();
            assert!(freed.load(Relaxed) || epoch.take_due().is_some());
        },
        INTERLEAVINGS,
    );
}
