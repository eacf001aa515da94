//! Builds agents in named states, each reached by inputs alone.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::world::World;
use holon_core::Input;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::task::TaskStatus;

pub(crate) fn booting() -> World {
    World::with(make::new_agent())
}

pub(crate) fn idle() -> World {
    ready(booting())
}

/// Reports that the home was checked.
pub(crate) fn ready(mut world: World) -> World {
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Ok(())));
    world
}

/// An agent inside a commit, after one message was decided and before the next.
pub(crate) fn with_queue() -> World {
    let mut world = booting();
    world.send(make::admit(make::channel_event("", Priority::Next)));
    world.send(make::admit(make::prompt(Priority::Normal)));
    let stamp = world.stamp().expect("its home is being made");
    let (_, more) = world.send_once(&make::home_prepared(stamp, Ok(())));
    assert!(more, "the prompt is yet to be looked at");
    world
}

pub(crate) fn calling_model() -> World {
    calling_model_for(make::prompt(Priority::Normal))
}

pub(crate) fn calling_model_for(ingress: holon_core::Ingress) -> World {
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

/// A suspended turn with a pause.
pub(crate) fn suspended() -> World {
    failed_for_good(ModelFailureKind::Network)
}

/// A suspended turn that only an operator can continue.
pub(crate) fn suspended_for_operator() -> World {
    failed_for_good(ModelFailureKind::Auth)
}

fn failed_for_good(kind: ModelFailureKind) -> World {
    let mut world = calling_model();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(kind, stamp, world.now));
    world
}

/// A turn whose first of three calls runs.
pub(crate) fn running_tool() -> World {
    let mut world = calling_model();
    let said = ModelAnswer::calls(vec![make::exec(), make::exec(), make::agent_get()]);
    world.send(said.to(&world));
    world
}

/// A turn whose first of three calls runs and is not performed again after a restart.
pub(crate) fn running_patch() -> World {
    let mut world = calling_model();
    let said = ModelAnswer::calls(vec![
        commands::patch(),
        commands::patch(),
        make::agent_get(),
    ]);
    world.send(said.to(&world));
    world
}

/// An agent that was stopped while a patch is still being applied.
pub(crate) fn stopped_with_patch() -> World {
    let mut world = running_patch();
    world.send(Input::Stop);
    world
}

/// An agent that is being removed while a patch is still being applied.
pub(crate) fn deleting_with_patch() -> World {
    let mut world = running_patch();
    world.send(Input::Delete);
    world
}

pub(crate) fn running_batch() -> World {
    let mut world = calling_model();
    world.send(ModelAnswer::calls(vec![commands::batch(&["make", "make test"])]).to(&world));
    world
}

/// An open turn with this many of its commands running as tasks.
pub(crate) fn beside_tasks(count: usize) -> World {
    let mut world = calling_model();
    run_tasks(&mut world, count);
    world
}

/// Lets the open turn start commands that become tasks.
pub(crate) fn run_tasks(world: &mut World, count: usize) {
    for _ in 0..count {
        world.send(ModelAnswer::calls(vec![commands::exec("make all")]).to(world));
        world.send(commands::promotion(world));
    }
}

/// An agent with a running task and nothing else to do.
pub(crate) fn with_task() -> World {
    with_tasks(1)
}

pub(crate) fn with_tasks(count: usize) -> World {
    let mut world = beside_tasks(count);
    world.send(ModelAnswer::words("it builds").to(&world));
    world
}

/// A resting agent that asked its only task to stop.
pub(crate) fn with_task_stopping() -> World {
    let mut world = beside_tasks(1);
    let id = world.tasks[0].id.clone();
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id)]).to(&world));
    world.send(ModelAnswer::words("it stops").to(&world));
    world
}

/// An agent with one task in each active status.
pub(crate) fn with_tasks_in_all_states() -> World {
    let mut world = beside_tasks(3);
    let id = world.tasks[2].id.clone();
    world.send(ModelAnswer::calls(vec![commands::task_stop(&id)]).to(&world));
    world.send(ModelAnswer::words("they run").to(&world));
    // No input leads to this status yet: a command runs when its task begins.
    world.tasks[0].status = TaskStatus::Queued;
    world
}

/// An open turn with a queued task result.
pub(crate) fn calling_model_with_result() -> World {
    let mut world = beside_tasks(1);
    let input = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(input);
    world
}

pub(crate) fn stopped_with_task() -> World {
    let mut world = with_task();
    world.send(Input::Stop);
    world
}

pub(crate) fn deleting_with_task() -> World {
    let mut world = with_task();
    world.send(Input::Delete);
    world
}

pub(crate) fn resting(duration_ms: Option<u64>) -> World {
    let mut world = calling_model();
    world.send(ModelAnswer::calls(vec![make::sleep(duration_ms)]).to(&world));
    world
}

/// An agent whose next follow-up is paced.
pub(crate) fn paced() -> World {
    let mut world = calling_model();
    for _ in 0..=limits::UNPACED_TURNS {
        let said = ModelAnswer::calls(vec![make::enqueue(Priority::Normal)]);
        world.send(said.to(&world));
        world.send(ModelAnswer::words("done").to(&world));
    }
    world
}

/// An agent that queued more follow-ups than may run unpaced.
pub(crate) fn chatty() -> World {
    let mut world = calling_model();
    world.send(ModelAnswer::calls(vec![make::enqueue(Priority::Next); 12]).to(&world));
    world
}

/// An agent that was stopped during a turn, with a message left in the queue.
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
