//! Tests of tasks whose host goes away and comes back.

use super::place::{Place, begin, end_of, image, locator, wait_for_output};
use crate::support::Witness;
use holon_domain::command::{CommandEnd, UnknownCause};
use holon_process::{CommandLocator, Error, ShimSpec, ShimmedCommand, ShimmedState, attach, start};
use std::time::Duration;

async fn alive(place: &Place) -> Box<ShimmedCommand> {
    match attach(place.locator()).await {
        ShimmedState::Running(task) => task,
        other => panic!("not alive: {other:?}"),
    }
}

fn reader(place: &Place, cmd: &str) -> ShimSpec {
    ShimSpec {
        accepts_input: true,
        ..place.spec(cmd)
    }
}

#[tokio::test]
async fn a_task_goes_on_without_its_host_and_is_found_again() {
    let place = Place::new();
    let task = begin(reader(&place, "read x; echo got $x; read x; exit 9")).await;
    let before = task.identity().clone();
    drop(task);
    let task = alive(&place).await;
    assert_eq!(task.identity(), &before);
    task.input(1, b"word\n").await.unwrap();
    wait_for_output(&task, 0, "got word").await;
    drop(task);
    let task = alive(&place).await;
    task.input(1, b"word\n").await.unwrap();
    task.input(2, b"\n").await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 9 });
    assert_eq!(place.out(), "got word\n");
    let ShimmedState::Ended(ended) = attach(place.locator()).await else {
        panic!("it has ended");
    };
    assert_eq!(*ended, end_of(&task).await);
}

#[test]
fn a_task_outlives_the_runtime_that_started_it() {
    let place = Place::new();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    drop(first.block_on(begin(reader(&place, "read x; echo $x"))));
    drop(first);
    runtime().block_on(async {
        let task = alive(&place).await;
        task.input(1, b"back\n").await.unwrap();
        end_of(&task).await;
    });
    assert_eq!(place.out(), "back\n");
}

#[tokio::test]
async fn several_may_wait_for_the_same_end() {
    let place = Place::new();
    let first = begin(reader(&place, "read x; exit 2")).await;
    let second = alive(&place).await;
    // Dropping a wait has no effect.
    assert!(
        tokio::time::timeout(Duration::ZERO, first.ended())
            .await
            .is_err()
    );
    let (one, two, three, ()) = tokio::join!(first.ended(), first.ended(), second.ended(), async {
        first.input(1, b"\n").await.unwrap();
    });
    assert_eq!(one.as_ref().unwrap().end, CommandEnd::Exited { status: 2 });
    assert!(one == two && two == three);
}

#[tokio::test]
async fn a_spec_runs_at_most_once() {
    let place = Place::new();
    let task = begin(reader(&place, "echo ran >> ran; read x")).await;
    let again = |n: u32| ShimSpec {
        output_path: place.path().join(format!("out{n}")),
        stderr_path: None,
        ..reader(&place, "echo ran >> ran")
    };
    start(&image(), again(1)).await.expect_err("it runs");
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
    start(&image(), again(2)).await.expect_err("it ran");
    assert_eq!(
        std::fs::read_to_string(place.path().join("ran")).unwrap(),
        "ran\n"
    );
}

#[tokio::test]
async fn a_killed_shim_takes_its_command_along_and_is_not_mistaken_for_alive() {
    let place = Place::new();
    let witness = Witness::new();
    let cmd = format!(
        "exec 3> {}; read x; kill -9 $PPID; exec sleep 3600",
        witness.path()
    );
    let task = begin(reader(&place, &cmd)).await;
    // The shim may die before it answers.
    task.input(1, b"\n").await.ok();
    assert_eq!(task.ended().await, Err(Error::Lost));
    witness.all_dead().await;
    assert!(matches!(
        attach(place.locator()).await,
        ShimmedState::Unknown(UnknownCause::SupervisorDied)
    ));
    assert!(matches!(
        task.input(2, b"").await,
        Err(Error::Unreachable { .. })
    ));
    start(&image(), place.spec("touch ran"))
        .await
        .expect_err("it ran");
}

#[tokio::test]
async fn a_shim_that_is_asked_with_anothers_nonce_or_name_is_not_taken_for_it() {
    let place = Place::new();
    let task = begin(reader(&place, "read x; exit 1")).await;
    let ours = place.locator();
    for stranger in [
        CommandLocator {
            nonce: "a guess",
            ..ours
        },
        CommandLocator {
            task_id: "task_2",
            ..ours
        },
    ] {
        let found = attach(stranger).await;
        assert!(
            matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorSilent)),
            "{found:?}"
        );
    }
    task.input(1, b"\n").await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 1 });
}

#[tokio::test]
async fn a_long_path_does_not_keep_a_task_from_its_socket() {
    let place = Place::new();
    let long = place.path().join("x".repeat(120)).join("y".repeat(120));
    std::fs::create_dir_all(&long).unwrap();
    let spec = ShimSpec {
        claim_dir: long.clone(),
        ..reader(&place, "read x")
    };
    drop(begin(spec).await);
    let mode =
        std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(long.join("shim.sock")).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let ShimmedState::Running(task) = attach(locator(&long)).await else {
        panic!("it is alive");
    };
    task.input(1, b"\n").await.unwrap();
    end_of(&task).await;
}

#[tokio::test]
async fn an_upgrade_in_place_does_no_harm() {
    let place = Place::new();
    let program = place.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_holon-shim"), &program).unwrap();
    let image = holon_process::Image::of(&program).unwrap();
    std::fs::remove_file(&program).unwrap();
    std::fs::write(&program, "not a program").unwrap();
    let task = start(&image, place.spec("exit 6")).await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 6 });
}
