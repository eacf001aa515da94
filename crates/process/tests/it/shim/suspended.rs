//! Tests of suspended shims.

use super::place::{Place, TEST_TIMEOUT, begin, end_of, wait_for_output};
use crate::support::Witness;
use holon_domain::command::CommandEnd;
use holon_process::{ShimSpec, ShimmedCommand, ShimmedState, attach};
use std::time::Duration;

async fn alive(place: &Place) -> Box<ShimmedCommand> {
    match attach(place.locator()).await {
        ShimmedState::Running(task) => task,
        other => panic!("not alive: {other:?}"),
    }
}

#[tokio::test]
async fn a_suspended_shim_is_woken_to_be_found() {
    let place = Place::new();
    let witness = Witness::new();
    let cmd = format!("kill -STOP $PPID; exec 3> {}; sleep 3600", witness.path());
    drop(begin(place.spec(&cmd)).await);
    let witness = witness.opened().await;
    let task = alive(&place).await;
    assert!(task.stop(Duration::ZERO).await.unwrap().stopped);
    witness.all_dead().await;
}

#[tokio::test]
async fn a_suspended_shim_is_woken_to_tell_of_the_end() {
    let place = Place::new();
    let cmd = "read x; kill -STOP $PPID; exit 3";
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec(cmd)
    };
    let task = begin(spec).await;
    let again = alive(&place).await;
    task.input(1, b"\n").await.unwrap();
    for task in [&task, &again] {
        assert_eq!(end_of(task).await.end, CommandEnd::Exited { status: 3 });
    }
}

#[tokio::test]
async fn a_suspended_shim_is_woken_to_keep_its_commands_time() {
    let place = Place::new();
    let spec = ShimSpec {
        timeout_ms: Some(300),
        ..place.spec("kill -STOP $PPID; exec sleep 3600")
    };
    let task = begin(spec).await;
    assert_eq!(end_of(&task).await.end, CommandEnd::TimedOut);
}

#[tokio::test]
async fn a_suspended_shim_is_woken_to_answer() {
    let place = Place::new();
    let witness = Witness::new();
    let cmd = format!(
        "echo up; kill -STOP $PPID; exec 3> {}; exec sleep 3600",
        witness.path()
    );
    let task = begin(place.spec(&cmd)).await;
    let witness = witness.opened().await;
    let output_text = tokio::time::timeout(TEST_TIMEOUT, wait_for_output(&task, 0, "up")).await;
    assert_eq!(output_text.expect("it answers"), "up\n");
    task.stop(Duration::ZERO).await.unwrap();
    witness.all_dead().await;
}
