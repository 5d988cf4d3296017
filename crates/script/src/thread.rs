//! What a script thread is beyond its globals: where its connections lead, and whether it goes on.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{Lua, Table};
use net::Address;

use crate::network::{address_of, name_of};

/// Shared by the thread's own machine and the main one, which are never at work at the same time.
#[derive(Debug, Default)]
pub(crate) struct Thread {
    place: Mutex<Place>,
    has_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct Place {
    address: Option<Address>,
    /// The script said so, not we.
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

    /// A thread that was stopped before it began begins all the same, as in wrk.
    pub(crate) fn begin(&self) {
        self.has_stopped.store(false, Relaxed);
    }

    /// What the prelude makes a thread object of.
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
            *this.place() = Place { address: Some(address_of(&name)), is_chosen: true };
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

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
