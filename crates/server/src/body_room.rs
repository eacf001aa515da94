//! Bounds the memory of all request bodies that are arriving.
//!
//! Each body has its own limit, but peers that stop in the middle of many large ones would hold all of them at once. So
//! what a body has beyond a usual size takes room that all share. Callers with a token and anonymous ones have separate
//! rooms: deliveries from outside cannot keep an operator's request out.

use crate::refusal::Refusal;
use holon_domain::limits::{BODY_ROOM_BYTES, DELIVERY_ROOM_BYTES, ROOMLESS_BODY_BYTES};
use holon_engine::Error;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The rooms of a host.
#[derive(Debug)]
pub(crate) struct BodyRooms {
    pub(crate) known: BodyRoom,
    pub(crate) anonymous: BodyRoom,
}

impl Default for BodyRooms {
    fn default() -> Self {
        Self {
            known: BodyRoom::of(BODY_ROOM_BYTES),
            anonymous: BodyRoom::of(DELIVERY_ROOM_BYTES),
        }
    }
}

/// Room for the bodies of some callers, in bytes. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct BodyRoom(Arc<Semaphore>);

impl BodyRoom {
    pub(crate) fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Begins a body, which takes no room yet.
    pub(crate) fn begin(self) -> TakenRoom {
        TakenRoom {
            room: self,
            taken: None,
        }
    }
}

/// The room of one body. Dropping it gives the room back.
#[derive(Debug)]
pub(crate) struct TakenRoom {
    room: BodyRoom,
    taken: Option<OwnedSemaphorePermit>,
}

impl TakenRoom {
    /// Takes room until a body of this size has it.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), Refusal> {
        let has = self
            .taken
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = bytes
            .saturating_sub(ROOMLESS_BODY_BYTES)
            .saturating_sub(has);
        if missing == 0 {
            return Ok(());
        }
        let more = u32::try_from(missing).ok();
        let more = more.and_then(|more| Arc::clone(&self.room.0).try_acquire_many_owned(more).ok());
        let Some(more) = more else {
            return Err(Refusal::from(Error::Overloaded));
        };
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_bodies_share_the_room_and_small_ones_need_none() {
        let room = BodyRoom::of(1_000);
        let mut first = room.clone().begin();
        first.grow(ROOMLESS_BODY_BYTES + 400).expect("has room");
        first.grow(ROOMLESS_BODY_BYTES + 900).expect("has room");
        let mut second = room.begin();
        second.grow(ROOMLESS_BODY_BYTES).expect("needs none");
        second
            .grow(ROOMLESS_BODY_BYTES + 100)
            .expect("takes the rest");
        let refused = second.grow(ROOMLESS_BODY_BYTES + 101).expect_err("is full");
        assert_eq!(refused.into_body().code.as_deref(), Some("overloaded"));
        drop(first);
        second.grow(ROOMLESS_BODY_BYTES + 1_000).expect("has room");
    }
}
