//! The state of a script thread outside its globals: its address, and whether it has stopped.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Table};
use net::Address;

use crate::network::{address_of, name_of};

/// The state shared by the thread's own instance and the main one, which never run at the same
/// time.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    place: Mutex<Chosen>,
    has_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Chosen {
    address: Option<Address>,
    /// True if the script chose the address.
    is_chosen: bool,
}

impl Thread {
    pub(crate) fn address(&self) -> Option<Address> {
        self.place().address.clone()
    }

    pub(crate) fn chosen_address(&self) -> Option<Address> {
        let place = self.place();
        place.address.clone().filter(|_| place.is_chosen)
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped.load(Relaxed)
    }

    /// Begins the load, also for a thread that was stopped before, as in wrk.
    pub(crate) fn begin(&self) {
        self.has_stopped.store(false, Relaxed);
    }

    /// The table from which the prelude makes a thread object.
    pub(crate) fn link(self: &Arc<Thread>, lua: &Lua) -> mlua::Result<Table> {
        let link = lua.create_table()?;
        let this = self.clone();
        let address = move |_: &Lua, ()| Ok(this.address().as_ref().map(name_of));
        link.set("address", lua.create_function(address)?)?;
        let this = self.clone();
        let propose = move |_: &Lua, name: String| {
            this.place().address = Some(address_of(&name));
            Ok(())
        };
        link.set("propose", lua.create_function(propose)?)?;
        let this = self.clone();
        let assign = move |_: &Lua, name: String| {
            *this.place() = Chosen { address: Some(address_of(&name)), is_chosen: true };
            Ok(())
        };
        link.set("assign", lua.create_function(assign)?)?;
        let this = self.clone();
        let stop = move |_: &Lua, ()| {
            this.has_stopped.store(true, Relaxed);
            Ok(())
        };
        link.set("stop", lua.create_function(stop)?)?;
        Ok(link)
    }

    fn place(&self) -> MutexGuard<'_, Chosen> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
