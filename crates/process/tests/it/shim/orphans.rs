//! Tests of the processes that a killed shim leaves behind.

use super::place::{Place, TEST_TIMEOUT, begin, kill_shim, wait_for_output};
use crate::support::Witness;
use holon_domain::command::UnknownCause;
use holon_process::{Error, ShimSpec, ShimmedCommand, ShimmedState, attach};
use std::time::Duration;

/// A command with background processes, which kills its shim when it reads a line.
async fn with_background(place: &Place, witness: &Witness) -> ShimmedCommand {
    let cmd = format!(
        "exec 3> {}; sleep 3600 & (sleep 3600 &) ; set -m; sleep 3600 & echo $PPID up; read x; kill -9 $PPID; sleep 3600",
        witness.path()
    );
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec(&cmd)
    };
    let task = begin(spec).await;
    wait_for_output(&task, 0, "up").await;
    task
}

async fn all_dead(witness: Witness) {
    tokio::time::timeout(TEST_TIMEOUT, witness.all_dead())
        .await
        .expect("no process is left");
}

#[tokio::test]
async fn waiting_for_a_task_whose_shim_is_killed_ends_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    let task = with_background(&place, &witness).await;
    // The shim may die before it answers.
    task.input(1, b"\n").await.ok();
    assert_eq!(task.ended().await, Err(Error::Lost));
    all_dead(witness).await;
}

#[tokio::test]
async fn finding_a_task_whose_shim_is_dead_ends_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    drop(with_background(&place, &witness).await);
    let output_text = place.out();
    kill_shim(output_text.split_whitespace().next().unwrap());
    loop {
        match attach(place.locator()).await {
            ShimmedState::Unknown(UnknownCause::SupervisorDied) => break,
            // The shim is not dead yet.
            ShimmedState::Running(_) => tokio::task::yield_now().await,
            other => panic!("{other:?}"),
        }
    }
    all_dead(witness).await;
}

#[tokio::test]
async fn a_stop_of_a_task_whose_shim_is_dead_ends_its_session() {
    let (place, witness) = (Place::new(), Witness::new());
    let task = with_background(&place, &witness).await;
    let output_text = place.out();
    kill_shim(output_text.split_whitespace().next().unwrap());
    assert_eq!(task.stop(Duration::ZERO).await, Err(Error::Lost));
    all_dead(witness).await;
}
