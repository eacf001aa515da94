//! Tests of interactive programs on a terminal.

use super::place::{Place, begin, end_of, wait_for_output};
use crate::support::Witness;
use holon_domain::command::CommandEnd;
use holon_process::{Error, WindowSize};

#[tokio::test]
async fn a_prompt_is_driven_by_input_and_output() {
    let place = Place::new();
    let task = begin(place.terminal("exec python3 -i -q")).await;
    let prompt = wait_for_output(&task, 0, ">>> ").await;
    task.input(1, b"print(6 * 7)\n").await.unwrap();
    let after = prompt.len() as u64;
    wait_for_output(&task, after, "42").await;
    // An end of input that is typed between two prompts is lost.
    wait_for_output(&task, after, ">>> ").await;
    task.close_input(2).await.unwrap();
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    assert!(
        place.out().contains("print(6 * 7)"),
        "the transcript has what was typed"
    );
}

#[tokio::test]
async fn a_shell_on_a_terminal_has_job_control_and_its_size() {
    let place = Place::new();
    let task = begin(place.terminal("stty size; tty; exec sh -i")).await;
    wait_for_output(&task, 0, "24 80").await;
    wait_for_output(&task, 0, "/dev/pts/").await;
    let size = WindowSize {
        rows: 40,
        columns: 132,
    };
    task.resize(size).await.unwrap();
    task.input(1, b"stty size\n").await.unwrap();
    let output_text = wait_for_output(&task, 0, "40 132").await;
    assert!(
        !output_text.contains("job control turned off"),
        "{output_text}"
    );
    task.input(2, b"exit 3\n").await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 3 });
}

#[tokio::test]
async fn both_streams_of_a_terminal_are_one_transcript() {
    let place = Place::new();
    let task = begin(place.terminal("echo 1; echo 2 >&2; echo 3")).await;
    let ended = end_of(&task).await;
    assert_eq!(place.out(), "1\r\n2\r\n3\r\n");
    assert!(ended.output.errors.is_none());
}

#[tokio::test]
async fn a_signal_reaches_the_foreground_and_not_the_shell_behind_it() {
    let place = Place::new();
    let witness = Witness::new();
    let task = begin(place.terminal("PS1='ready> ' exec bash --norc -i")).await;
    wait_for_output(&task, 0, "ready> ").await;
    let sleep = format!("sleep 3600 3> {}\n", witness.path());
    task.input(1, sleep.as_bytes()).await.unwrap();
    let witness = witness.opened().await;
    task.signal(2).await.unwrap();
    witness.all_dead().await;
    task.input(2, b"echo $((80+8))\n").await.unwrap();
    wait_for_output(&task, 0, "\n88").await;
    // An interactive shell ignores SIGTERM.
    let ended = task.stop(super::place::TEST_TIMEOUT).await.unwrap();
    assert!(ended.stopped && ended.survivors == 0);
}

#[tokio::test]
async fn a_flood_of_escapes_is_drained() {
    let place = Place::new();
    let cmd = "yes \"$(printf '\\033[2J\\033]0;x\\007')\" | head -c 3000000; printf END";
    let task = begin(place.terminal(cmd)).await;
    let ended = end_of(&task).await;
    assert_eq!(ended.end, CommandEnd::Exited { status: 0 });
    assert!(ended.output.total_bytes() >= 3_000_003);
    assert!(place.out().ends_with("END"));
}

#[tokio::test]
async fn a_command_may_leave_its_terminal_and_come_back() {
    let place = Place::new();
    let cmd = "exec </dev/null >/dev/null 2>&1; sleep 0.05; head -c 100000 /dev/zero > /dev/tty; echo END > /dev/tty";
    let task = begin(place.terminal(cmd)).await;
    assert_eq!(end_of(&task).await.output.total_bytes(), 100_005);
    assert!(place.out().ends_with("END\r\n"));
}

#[tokio::test]
async fn closing_the_input_ends_it_also_after_a_line_that_was_not_ended() {
    let place = Place::new();
    let task = begin(place.terminal("stty -echo; echo ready; cat; echo over")).await;
    wait_for_output(&task, 0, "ready").await;
    task.input(1, b"whole\nhalf").await.unwrap();
    task.close_input(2).await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out(), "ready\r\nwhole\r\nhalfover\r\n");
}

#[tokio::test]
async fn closing_the_input_at_the_beginning_of_a_line_ends_one_reader_only() {
    let place = Place::new();
    let task = begin(place.terminal("stty -echo; echo ready; cat; cat; echo over")).await;
    wait_for_output(&task, 0, "ready").await;
    task.input(1, b"first\n").await.unwrap();
    task.close_input(2).await.unwrap();
    task.input(3, b"second\n").await.unwrap();
    task.close_input(4).await.unwrap();
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out(), "ready\r\nfirst\r\nsecond\r\nover\r\n");
}

#[tokio::test]
async fn a_line_that_a_terminal_would_cut_is_refused_and_its_longest_is_not() {
    let place = Place::new();
    let task = begin(place.terminal("stty -echo; echo ready; read x; echo ${#x}")).await;
    wait_for_output(&task, 0, "ready").await;
    let long = [vec![b'x'; 4096], b"\n".to_vec()].concat();
    let refused = Err(Error::LineTooLong {
        bytes: 4096,
        most: 4095,
    });
    assert_eq!(task.input(1, &long).await, refused);
    assert_eq!(task.input(2, &long[1..]).await, Ok(4096));
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out(), "ready\r\n4095\r\n");
}

#[tokio::test]
async fn a_terminal_that_hands_on_every_byte_takes_lines_of_any_length() {
    let place = Place::new();
    let cmd = "stty -echo -icanon; echo ready; head -c 9000 | wc -c";
    let task = begin(place.terminal(cmd)).await;
    wait_for_output(&task, 0, "ready").await;
    assert_eq!(task.input(1, &[b'x'; 9000]).await, Ok(9000));
    assert_eq!(end_of(&task).await.end, CommandEnd::Exited { status: 0 });
    assert_eq!(place.out(), "ready\r\n9000\r\n");
}
