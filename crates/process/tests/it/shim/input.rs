//! Tests of input to commands with pipes.

use super::place::{Place, begin, end_of, wait_for_output};
use holon_domain::command::CommandEnd;
use holon_process::{Error, ShimSpec, WindowSize};

fn reader(place: &Place, cmd: &str) -> ShimSpec {
    ShimSpec {
        accepts_input: true,
        ..place.spec(cmd)
    }
}

#[tokio::test]
async fn repeated_input_reaches_the_command_once_and_numbers_may_have_gaps() {
    let place = Place::new();
    let task = begin(reader(&place, "cat")).await;
    assert_eq!(task.input(1, b"one\n").await, Ok(4));
    assert_eq!(task.input(1, b"one\n").await, Ok(4));
    assert_eq!(task.input(40, b"two\0\n").await, Ok(5));
    assert_eq!(task.input(40, b"two\0\n").await, Ok(5));
    assert_eq!(task.input(3, b"late\n").await, Ok(5));
    task.close_input(50).await.unwrap();
    task.close_input(50).await.ok();
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out(), "one\ntwo\0\n");
}

#[tokio::test]
async fn large_input_arrives_whole_while_the_command_writes_as_much() {
    let place = Place::new();
    let task = begin(reader(&place, "cat")).await;
    let piece = vec![b'x'; 1 << 20];
    // Each retry has its own number, so a refused piece comes again with a greater one.
    let (mut number, mut taken) = (0, 0);
    while taken < 8 {
        number += 1;
        match task.input(number, &piece).await {
            Ok(_) => taken += 1,
            Err(Error::InputFull { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
    task.close_input(number + 1).await.unwrap();
    assert_eq!(end_of(&task).await.output.total_bytes(), 8 << 20);
}

#[tokio::test]
async fn a_command_that_does_not_read_cannot_fill_the_memory() {
    let place = Place::new();
    let task = begin(reader(&place, "echo up; exec sleep 3600")).await;
    wait_for_output(&task, 0, "up").await;
    let piece = vec![b'x'; 1 << 20];
    assert_eq!(task.input(1, &piece).await, Ok(1 << 20));
    assert!(matches!(
        task.input(2, &piece).await,
        Err(Error::InputFull { .. })
    ));
    task.stop(std::time::Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_command_without_input_says_so_and_reads_the_end() {
    let place = Place::new();
    let task = begin(place.spec("cat; echo over; exec sleep 3600")).await;
    wait_for_output(&task, 0, "over").await;
    assert_eq!(task.input(1, b"x").await, Err(Error::InputClosed));
    let size = WindowSize {
        rows: 1,
        columns: 1,
    };
    assert_eq!(task.resize(size).await, Err(Error::NoTerminal));
    task.stop(std::time::Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn input_is_told_as_not_taken_once_its_reader_has_closed_it() {
    let place = Place::new();
    let cmd = "exec < /dev/null; echo closed; exec sleep 3600";
    let task = begin(reader(&place, cmd)).await;
    wait_for_output(&task, 0, "closed").await;
    for number in [1, 1, 2] {
        assert_eq!(task.input(number, b"x").await, Err(Error::InputClosed));
    }
    task.stop(std::time::Duration::ZERO).await.unwrap();
}
