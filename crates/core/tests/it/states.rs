//! Agents in named states, each reached by inputs alone.

use crate::make::{self, Said};
use crate::world::World;
use holon_core::Input;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;

pub(crate) fn booting() -> World {
    World::with(make::new_agent())
}

pub(crate) fn idle() -> World {
    ready(booting())
}

/// Its home is made.
pub(crate) fn ready(mut world: World) -> World {
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Ok(())));
    world
}

/// As it stands inside a commit, when one message was reduced and the next is yet to be looked at.
pub(crate) fn with_queue() -> World {
    let mut world = booting();
    world.send(make::admit(make::channel_event("", Priority::Next)));
    world.send(make::admit(make::prompt(Priority::Normal)));
    let stamp = world.stamp().expect("its home is being made");
    let (_, more) = world.send_once(make::home_prepared(stamp, Ok(())));
    assert!(more, "the prompt is yet to be looked at");
    world
}

pub(crate) fn calling_model() -> World {
    calling_model_for(make::prompt(Priority::Normal))
}

pub(crate) fn calling_model_for(ingress: holon_core::admission::Ingress) -> World {
    let mut world = idle();
    world.send(make::admit(ingress));
    world
}

pub(crate) fn calling_model_with_interjection() -> World {
    let mut world = calling_model();
    world.send(make::admit(make::prompt(Priority::Interject)));
    world
}

pub(crate) fn backing_off() -> World {
    let mut world = calling_model();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(
        ModelFailureKind::RateLimited,
        stamp,
        world.now,
    ));
    world
}

/// The first of three calls runs.
pub(crate) fn running_tool() -> World {
    let mut world = calling_model();
    let said = Said::calls(vec![make::exec(), make::exec(), make::agent_get()]);
    world.send(said.to(&world));
    world
}

pub(crate) fn resting(duration_ms: Option<u64>) -> World {
    let mut world = calling_model();
    world.send(Said::calls(vec![make::sleep(duration_ms)]).to(&world));
    world
}

/// It kept itself busy until its next follow-up has to wait.
pub(crate) fn paced() -> World {
    let mut world = calling_model();
    for _ in 0..=limits::UNPACED_TURNS {
        let said = Said::calls(vec![make::enqueue(Priority::Normal)]);
        world.send(said.to(&world));
        world.send(Said::words("done").to(&world));
    }
    world
}

/// It queued more follow-ups than may follow at once.
pub(crate) fn chatty() -> World {
    let mut world = calling_model();
    world.send(Said::calls(vec![make::enqueue(Priority::Next); 12]).to(&world));
    world
}

/// Stopped in the middle of a turn, with a message left in the queue.
pub(crate) fn stopped() -> World {
    let mut world = calling_model();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(Input::Stop);
    world
}

pub(crate) fn deleting() -> World {
    let mut world = idle();
    world.send(Input::Delete);
    world
}
