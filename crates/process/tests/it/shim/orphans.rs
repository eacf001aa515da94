//! What a shim that was killed leaves behind.

use super::place::{FOREVER, Place, begin, kill_shim, until_said};
use crate::support::Witness;
use holon_domain::command::UnknownCause;
use holon_process::{Error, ShimSpec, Task, TaskState, attach};
use std::time::Duration;

/// A command with processes in the background, which kills its shim when it is told to.
async fn with_background(place: &Place, witness: &Witness) -> Task {
    let cmd = format!(
        "exec 3> {}; sleep 3600 & (sleep 3600 &) ; set -m; sleep 3600 & echo $PPID up; read x; kill -9 $PPID; sleep 3600",
        witness.path()
    );
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec(&cmd)
    };
    let task = begin(spec).await;
    until_said(&task, 0, "up").await;
    task
}

async fn all_dead(witness: Witness) {
    tokio::time::timeout(FOREVER, witness.all_dead())
        .await
        .expect("nobody is left");
}

#[tokio::test]
async fn who_waits_for_a_task_whose_shim_is_killed_leaves_nobody_of_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    let task = with_background(&place, &witness).await;
    // It may be dead before it has answered.
    task.input(1, b"\n").await.ok();
    assert_eq!(task.ended().await, Err(Error::Lost));
    all_dead(witness).await;
}

#[tokio::test]
async fn who_finds_a_task_whose_shim_is_dead_leaves_nobody_of_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    drop(with_background(&place, &witness).await);
    let said = place.out();
    kill_shim(said.split_whitespace().next().unwrap());
    loop {
        match attach(place.sought()).await {
            TaskState::Unknown(UnknownCause::SupervisorDied) => break,
            // It is not dead yet.
            TaskState::Running(_) => tokio::task::yield_now().await,
            other => panic!("{other:?}"),
        }
    }
    all_dead(witness).await;
}

#[tokio::test]
async fn a_stop_of_a_task_whose_shim_is_dead_leaves_nobody_of_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    let task = with_background(&place, &witness).await;
    let said = place.out();
    kill_shim(said.split_whitespace().next().unwrap());
    assert_eq!(task.stop(Duration::ZERO).await, Err(Error::Lost));
    all_dead(witness).await;
}
