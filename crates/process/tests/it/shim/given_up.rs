//! Tests of tasks that no shim ever claimed.

use super::place::{Place, begin, end_of, image, locator, wait_for_output};
use holon_domain::command::{CommandEnd, UnknownCause};
use holon_process::{ShimSpec, ShimmedState, attach, start};
use std::fs::File;
use std::time::SystemTime;

async fn found(place: &Place) -> ShimmedState {
    attach(place.locator()).await
}

async fn never_starts(place: &Place) {
    start(&image(), place.spec("touch ran"))
        .await
        .expect_err("it was given up");
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn a_task_that_no_shim_claimed_never_ran_and_never_will() {
    let place = Place::new();
    for _ in 0..2 {
        assert!(matches!(found(&place).await, ShimmedState::NeverStarted));
        never_starts(&place).await;
    }
}

#[tokio::test]
async fn a_shim_that_died_before_its_mark_never_ran_the_task() {
    let place = Place::new();
    File::create(place.claim_dir().join("spec.lock")).unwrap();
    assert!(matches!(found(&place).await, ShimmedState::NeverStarted));
    never_starts(&place).await;
}

#[tokio::test]
async fn a_mark_without_text_is_a_mark() {
    let place = Place::new();
    // The state of the lock if the disk was full while the spec was marked.
    let lock = File::create(place.claim_dir().join("spec.lock")).unwrap();
    lock.set_len(9).unwrap();
    assert!(matches!(found(&place).await, ShimmedState::NeverStarted));
    never_starts(&place).await;
}

#[tokio::test]
async fn a_task_without_a_directory_never_ran() {
    let place = Place::new();
    std::fs::remove_dir(place.claim_dir()).unwrap();
    assert!(matches!(found(&place).await, ShimmedState::NeverStarted));
    never_starts(&place).await;
    assert!(!place.claim_dir().exists(), "asking makes no directory");
}

#[tokio::test]
async fn a_claim_without_a_status_is_not_taken_for_a_task_that_never_ran() {
    let place = Place::new();
    std::fs::write(place.claim_dir().join("spec.lock"), "claimed task_1\n").unwrap();
    assert!(matches!(
        found(&place).await,
        ShimmedState::Unknown(UnknownCause::SupervisorDied)
    ));
    never_starts(&place).await;
}

#[tokio::test]
async fn a_mark_that_power_may_have_taken_proves_nothing() {
    let place = Place::new();
    let dir = File::open(place.claim_dir()).unwrap();
    dir.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    for _ in 0..2 {
        assert!(matches!(
            found(&place).await,
            ShimmedState::Unknown(UnknownCause::SupervisorDied)
        ));
        never_starts(&place).await;
    }
}

#[tokio::test]
async fn a_mark_that_the_command_removed_is_not_taken_for_a_task_that_never_ran() {
    let place = Place::new();
    let spec = ShimSpec {
        accepts_input: true,
        ..place.spec("rm state/spec.lock; echo up; read x; exit 3")
    };
    let task = begin(spec).await;
    wait_for_output(&task, 0, "up").await;
    assert!(matches!(
        found(&place).await,
        ShimmedState::Unknown(UnknownCause::SupervisorDied)
    ));
    task.input(1, b"\n").await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 3 });
    assert!(matches!(found(&place).await, ShimmedState::Ended(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_and_concurrent_lookups_agree_on_the_outcome() {
    for _ in 0..10 {
        let place = Place::new();
        let dir = place.claim_dir();
        let mut askers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let dir = dir.clone();
            askers.spawn(async move { attach(locator(&dir)).await });
        }
        let started = start(&image(), place.spec("touch ran")).await;
        if let Ok(task) = &started {
            task.ended().await.unwrap();
        }
        for found in askers.join_all().await {
            let never = matches!(found, ShimmedState::NeverStarted);
            assert_eq!(never, started.is_err(), "{found:?} {started:?}");
        }
        assert_eq!(place.path().join("ran").exists(), started.is_ok());
    }
}
