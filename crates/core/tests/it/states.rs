//! Agents in named states, each reached by inputs alone.

use crate::commands;
use crate::make::{self, Said};
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

/// No model could answer, and the next pause is set.
pub(crate) fn suspended() -> World {
    failed_for_good(ModelFailureKind::Network)
}

/// No model could answer, and only an operator can mend that.
pub(crate) fn suspended_for_operator() -> World {
    failed_for_good(ModelFailureKind::Auth)
}

fn failed_for_good(kind: ModelFailureKind) -> World {
    let mut world = calling_model();
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(kind, stamp, world.now));
    world
}

/// The first of three calls runs.
pub(crate) fn running_tool() -> World {
    let mut world = calling_model();
    let said = Said::calls(vec![make::exec(), make::exec(), make::agent_get()]);
    world.send(said.to(&world));
    world
}

/// The first of three calls runs, and it is one that is not performed again after a restart.
pub(crate) fn running_patch() -> World {
    let mut world = calling_model();
    let said = Said::calls(vec![
        commands::patch(),
        commands::patch(),
        make::agent_get(),
    ]);
    world.send(said.to(&world));
    world
}

/// Stopped while a patch was applied, which goes on.
pub(crate) fn stopped_with_patch() -> World {
    let mut world = running_patch();
    world.send(Input::Stop);
    world
}

/// Removed while a patch was applied, which goes on.
pub(crate) fn deleting_with_patch() -> World {
    let mut world = running_patch();
    world.send(Input::Delete);
    world
}

pub(crate) fn running_batch() -> World {
    let mut world = calling_model();
    world.send(Said::calls(vec![commands::batch(&["make", "make test"])]).to(&world));
    world
}

/// The turn goes on while this many of its commands run as tasks.
pub(crate) fn beside_tasks(count: usize) -> World {
    let mut world = calling_model();
    run_tasks(&mut world, count);
    world
}

/// The turn in hand starts commands that go on as tasks.
pub(crate) fn run_tasks(world: &mut World, count: usize) {
    for _ in 0..count {
        world.send(Said::calls(vec![commands::exec("make all")]).to(world));
        world.send(commands::promotion(world));
    }
}

/// A task runs and the agent has nothing else to do.
pub(crate) fn with_task() -> World {
    with_tasks(1)
}

pub(crate) fn with_tasks(count: usize) -> World {
    let mut world = beside_tasks(count);
    world.send(Said::words("it builds").to(&world));
    world
}

/// The agent asked its only task to stop and rests.
pub(crate) fn with_task_stopping() -> World {
    let mut world = beside_tasks(1);
    let id = world.tasks[0].id.clone();
    world.send(Said::calls(vec![commands::task_stop(&id)]).to(&world));
    world.send(Said::words("it stops").to(&world));
    world
}

/// One task in each state that is not an end.
pub(crate) fn with_tasks_in_all_states() -> World {
    let mut world = beside_tasks(3);
    let id = world.tasks[2].id.clone();
    world.send(Said::calls(vec![commands::task_stop(&id)]).to(&world));
    world.send(Said::words("they run").to(&world));
    // No input leads here yet: a command runs when its task begins.
    world.tasks[0].status = TaskStatus::Queued;
    world
}

/// A task's result waits while a turn asks its model.
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
