//! Tests of input to and output of running commands.

use crate::runner::tests;
use crate::world::{World, after, everything, expect_running};
use holon_domain::command::CommandEnd;
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::task::{TaskKind, TaskRecord, TaskStatus, WaitPolicy};
use holon_domain::{AgentId, TaskId, Timestamp};
use holon_tools::task_output;

tests! {
    a_program_on_a_terminal_gets_input_and_prints,
    a_character_that_is_half_written_is_waited_for,
    streams_are_followed_independently,
    the_end_of_a_flood_is_read_while_it_runs,
    a_command_without_an_input_takes_none,
    late_input_is_refused_with_the_state_of_the_command,
    left_out_bytes_are_counted_once_after_several_cuts,
    accepted_input_is_reported_also_when_its_close_is_refused,
}

async fn a_program_on_a_terminal_gets_input_and_prints() {
    let (world, host) = World::with_host();
    let cmd = "stty size; echo $TERM; stty -echo; read x; echo got $x; tty -s && exit 5";
    let mut order = world.yielding("one", cmd);
    order.command.tty = true;
    let running = expect_running(&host, order).await;
    assert_eq!(running.stderr.path, None);
    let offset = world
        .wait_for_output(&host, "one", 0, "24 80\r\nxterm-256color\r\n")
        .await;
    world.input(&host, "one", 1, "word\n").await;
    world
        .wait_for_output(&host, "one", offset, "got word\r\n")
        .await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 5 });
    assert_eq!(output.stderr, Default::default());
    let printed = world.printed(&host, "one", &everything()).await;
    assert_eq!(printed.stderr, None);
    assert!(printed.output.head.contains("24 80"), "{printed:?}");
}

async fn a_character_that_is_half_written_is_waited_for() {
    let (world, host) = World::with_host();
    let cmd = "printf 'a\\303'; read x; printf '\\251z'; read x";
    world.begin(&host, "one", cmd).await;
    let offset = world.wait_for_output(&host, "one", 0, "a").await;
    assert_eq!(offset, 1);
    let part = world.printed(&host, "one", &after(1)).await.output;
    assert_eq!((part.head.as_str(), part.next_offset), ("", 1));
    world.input(&host, "one", 1, "\n").await;
    assert_eq!(world.wait_for_output(&host, "one", 1, "éz").await, 4);
    world.stop(&host, "one").await;
}

async fn streams_are_followed_independently() {
    let (world, host) = World::with_host();
    let cmd = "echo out; echo err >&2; echo up; read x; echo more >&2; echo done; read x";
    world.begin(&host, "one", cmd).await;
    world.wait_for_output(&host, "one", 0, "up\n").await;
    let printed = world.printed(&host, "one", &everything()).await;
    let stderr = printed.stderr.unwrap();
    assert_eq!(printed.output.head, "out\nup\n");
    assert_eq!(stderr.head, "err\n");
    world.input(&host, "one", 1, "\n").await;
    let next = printed.output.next_offset;
    world.wait_for_output(&host, "one", next, "done\n").await;
    let query = TaskOutput {
        stderr_after_byte: Some(stderr.next_offset),
        ..after(next)
    };
    let printed = world.printed(&host, "one", &query).await;
    assert_eq!(printed.output.head, "done\n");
    assert_eq!(printed.stderr.unwrap().head, "more\n");
    world.stop(&host, "one").await;
}

async fn the_end_of_a_flood_is_read_while_it_runs() {
    let (world, host) = World::with_host();
    let cmd = "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo end; echo up >&2; read x";
    world.begin(&host, "one", cmd).await;
    let total = 70_000_005;
    let lines = |lines| TaskOutput {
        tail_lines: Some(lines),
        ..everything()
    };
    let until = async {
        while world.printed(&host, "one", &lines(1)).await.output.head != "end\n" {
            tokio::task::yield_now().await;
        }
    };
    crate::world::soon(until).await;
    let printed = world.printed(&host, "one", &everything()).await.output;
    assert_eq!((printed.next_offset, printed.total_bytes), (total, total));
    assert!(printed.tail.ends_with("x\nend\n"));
    let read = (printed.head.len() + printed.tail.len()) as u64;
    assert_eq!(printed.left_out, total - read);
    // The file gets the tail when the command has ended.
    assert!(printed.lacks.bytes >= total - (64 << 20));
    // The middle was not kept, so the offset skips it.
    let part = world.printed(&host, "one", &after(67_000_000)).await.output;
    assert!(
        part.at > 67_000_000 && part.head.starts_with('x'),
        "{}",
        part.at
    );
    world.stop(&host, "one").await;
}

async fn a_command_without_an_input_takes_none() {
    let (world, host) = World::with_host();
    let mut order = world.yielding("one", "exec sleep 3600");
    order.command.accepts_input = false;
    expect_running(&host, order).await;
    let input = crate::world::input("one", 1, "word\n");
    let refused = host.input(&world.key("one"), &input).await.unwrap_err();
    assert!(refused.reason.contains("input is closed"), "{refused:?}");
    world.stop(&host, "one").await;
    let refused = host.input(&world.key("two"), &input).await.unwrap_err();
    assert_eq!(refused.reason, "it was never started");
}

async fn late_input_is_refused_with_the_state_of_the_command() {
    const CLOSED: &str = "its input is closed for good; if it needs more, start the command again";
    const ENDED: &str =
        "the command has ended: TaskStatus tells how, and TaskOutput reads what it printed";
    let (world, host) = World::with_host();
    world.begin(&host, "one", "cat; exec sleep 3600").await;
    let last = TaskInput {
        close_input: true,
        ..crate::world::input("one", 1, "word\n")
    };
    assert_eq!(host.input(&world.key("one"), &last).await, Ok(5));
    let more = crate::world::input("one", 2, "more\n");
    let refused = host.input(&world.key("one"), &more).await.unwrap_err();
    assert_eq!(refused.reason, CLOSED);
    world.stop(&host, "one").await;

    world.begin(&host, "two", "read x").await;
    let write_on = async {
        let mut number = 1;
        loop {
            let line = crate::world::input("two", number, "word\n");
            match host.input(&world.key("two"), &line).await {
                Ok(_) => {}
                // No watch runs, so the host does not know of the end yet.
                Err(refused) if refused.reason == ENDED => break,
                Err(refused) => assert_eq!(refused.reason, CLOSED),
            }
            number += 1;
            tokio::task::yield_now().await;
        }
    };
    crate::world::soon(write_on).await;
}

/// The record of a running task.
fn task() -> TaskRecord {
    TaskRecord {
        id: TaskId::from_stored("task_one"),
        agent_id: AgentId::parse("scout").unwrap(),
        kind: TaskKind::CommandTask,
        status: TaskStatus::Running,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
        parent_message_id: None,
        parent_message_seq: None,
        work_item_id: None,
        summary: None,
        wait_policy: WaitPolicy::Background,
        terminal_reentry: true,
        recovery: None,
        max_rounds: None,
        effect: None,
        stop: None,
        end: None,
        ends_unread: 0,
        operator_inputs: 0,
    }
}

async fn left_out_bytes_are_counted_once_after_several_cuts() {
    let (world, host) = World::with_host();
    let cmd = "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000 /dev/zero | tr '\\0' e >&2; exec sleep 3600";
    world.begin(&host, "one", cmd).await;
    let until = async {
        while world
            .printed(&host, "one", &everything())
            .await
            .stderr
            .unwrap()
            .total_bytes
            < 1_000
        {
            tokio::task::yield_now().await;
        }
    };
    crate::world::soon(until).await;
    // Once with space for 800 bytes, half of it for stderr, and once with space for all but the middle.
    for tokens in [200, 8_000] {
        let query = TaskOutput {
            max_output_tokens: Some(tokens),
            ..everything()
        };
        let max = task_output::shown_bytes(&query);
        let printed = host.printed(&world.key("one"), &query, max).await.unwrap();
        let now = Timestamp::from_millis(5);
        let envelope = task_output::envelope(&task(), &query, Ok(&printed), now);
        let kept = serde_json::to_value(&envelope).unwrap();
        let shown = &kept["result"]["task"];
        assert_eq!(shown["output_truncated"], true);
        let text = shown["output_preview"].as_str().unwrap();
        let (text, complaints) = text.split_once("\nstderr:\n").unwrap();
        assert_eq!(complaints, shown["stderr_preview"]);
        let letters = text
            .lines()
            .filter(|line| line.starts_with('x'))
            .map(str::len)
            .sum::<usize>();
        let marker = format!("[{} bytes left out]", 1_000_000 - letters);
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with('['))
                .collect::<Vec<_>>(),
            [marker]
        );
        assert!(holon_tools::receipt(&envelope).len() <= max + 600);
    }
    world.stop(&host, "one").await;
}

async fn accepted_input_is_reported_also_when_its_close_is_refused() {
    let (world, host) = World::with_host();
    let mut order = world.yielding("one", "stty raw -echo; echo up; exec sleep 3600");
    order.command.tty = true;
    expect_running(&host, order).await;
    world.wait_for_output(&host, "one", 0, "up").await;
    let write = async |number: u64, bytes: usize, close_input: bool| {
        let input = TaskInput {
            close_input,
            ..crate::world::input("one", number, &"x".repeat(bytes))
        };
        host.input(&world.key("one"), &input).await
    };
    // More than the terminal accepts while the command does not read.
    assert_eq!(write(1, 1 << 20, false).await, Ok(1 << 20));
    let fill = async {
        let mut number = 2;
        loop {
            // A refusal names the number of waiting bytes; the terminal may still accept some of them.
            let refused = write(number, 1 << 20, false).await.unwrap_err();
            assert_eq!(refused.taken, 0);
            let waiting = refused.reason.split(' ').next().unwrap();
            let room = (1 << 20) - waiting.parse::<usize>().unwrap();
            match write(number + 1, room, true).await {
                Err(refused) if room > 0 => break (refused, room),
                Err(_) | Ok(_) => number += 2,
            }
            tokio::task::yield_now().await;
        }
    };
    let (refused, room) = crate::world::soon(fill).await;
    assert_eq!(refused.taken, room as u64);
    world.stop(&host, "one").await;
}
