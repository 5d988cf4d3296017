//! Documents that never change, by hotel: all of them in memory, or in memcached as they are asked
//! for.

use std::collections::HashMap;

use prost::Message;
use tonic::Status;

/// One document for each hotel that has one.
pub enum Documents<T> {
    InMemory(HashMap<String, T>),
}

impl<T: Message + Default + Clone> Documents<T> {
    pub fn in_memory(documents: impl IntoIterator<Item = (String, T)>) -> Self {
        Documents::InMemory(documents.into_iter().collect())
    }

    /// Those of these hotels, in the order asked.
    pub async fn of(&self, hotels: Vec<String>) -> Result<Vec<T>, Status> {
        match self {
            Documents::InMemory(all) => {
                Ok(hotels.iter().filter_map(|hotel| all.get(hotel).cloned()).collect())
            }
        }
    }
}
