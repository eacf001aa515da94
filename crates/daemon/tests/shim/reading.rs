//! Talking to commands that run.

use crate::runner::tests;
use crate::world::{World, after, everything, goes_on, host};
use holon_domain::command::CommandEnd;
use holon_domain::intent::TaskOutput;
use holon_engine::ports::CommandHost as _;

tests! {
    a_program_on_a_terminal_is_talked_to,
    a_character_that_is_half_written_is_waited_for,
    streams_are_followed_each_by_itself,
    the_end_of_a_flood_is_read_while_it_runs,
    a_command_without_an_input_takes_none,
}

async fn a_program_on_a_terminal_is_talked_to() {
    let (world, host) = (World::new(), host());
    let cmd = "stty size; echo $TERM; stty -echo; read x; echo got $x; tty -s && exit 5";
    let mut order = world.late("one", cmd);
    order.command.tty = true;
    let running = goes_on(&host, order).await;
    assert_eq!(running.stderr.path, None);
    let offset = world
        .until_said(&host, "one", (0, "24 80\r\nxterm-256color\r\n"))
        .await;
    world.input(&host, "one", (1, "word\n")).await;
    world
        .until_said(&host, "one", (offset, "got word\r\n"))
        .await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 5 });
    assert_eq!(output.stderr, Default::default());
    let printed = world.printed(&host, "one", &everything()).await;
    assert_eq!(printed.stderr, None);
    assert!(printed.output.text.contains("24 80"), "{printed:?}");
}

async fn a_character_that_is_half_written_is_waited_for() {
    let (world, host) = (World::new(), host());
    let cmd = "printf 'a\\303'; read x; printf '\\251z'; read x";
    world.begin(&host, "one", cmd).await;
    let offset = world.until_said(&host, "one", (0, "a")).await;
    assert_eq!(offset, 1);
    let part = world.printed(&host, "one", &after(1)).await.output;
    assert_eq!((part.text.as_str(), part.next_offset), ("", 1));
    world.input(&host, "one", (1, "\n")).await;
    assert_eq!(world.until_said(&host, "one", (1, "éz")).await, 4);
    world.stop(&host, "one").await;
}

async fn streams_are_followed_each_by_itself() {
    let (world, host) = (World::new(), host());
    let cmd = "echo out; echo err >&2; echo up; read x; echo more >&2; echo done; read x";
    world.begin(&host, "one", cmd).await;
    world.until_said(&host, "one", (0, "up\n")).await;
    let printed = world.printed(&host, "one", &everything()).await;
    let stderr = printed.stderr.unwrap();
    assert_eq!(printed.output.text, "out\nup\n");
    assert_eq!(stderr.text, "err\n");
    world.input(&host, "one", (1, "\n")).await;
    let next = printed.output.next_offset;
    world.until_said(&host, "one", (next, "done\n")).await;
    let query = TaskOutput {
        stderr_after_byte: Some(stderr.next_offset),
        ..after(next)
    };
    let printed = world.printed(&host, "one", &query).await;
    assert_eq!(printed.output.text, "done\n");
    assert_eq!(printed.stderr.unwrap().text, "more\n");
    world.stop(&host, "one").await;
}

async fn the_end_of_a_flood_is_read_while_it_runs() {
    let (world, host) = (World::new(), host());
    let cmd = "head -c 70000000 /dev/zero | tr '\\0' x; echo; echo end; echo up >&2; read x";
    world.begin(&host, "one", cmd).await;
    let total = 70_000_005;
    let lines = |lines| TaskOutput {
        tail_lines: Some(lines),
        ..everything()
    };
    let until = async {
        while world.printed(&host, "one", &lines(1)).await.output.text != "end\n" {
            tokio::task::yield_now().await;
        }
    };
    crate::world::soon(until).await;
    let printed = world.printed(&host, "one", &everything()).await.output;
    assert_eq!((printed.next_offset, printed.total_bytes), (total, total));
    assert!(printed.text.ends_with("x\nend\n"));
    assert!(printed.text.contains(" bytes left out]\n"));
    // The middle was not kept, and the offset says so.
    let part = world.printed(&host, "one", &after(67_000_000)).await.output;
    assert!(
        part.at > 67_000_000 && part.text.starts_with('x'),
        "{}",
        part.at
    );
    world.stop(&host, "one").await;
}

async fn a_command_without_an_input_takes_none() {
    let (world, host) = (World::new(), host());
    let mut order = world.late("one", "exec sleep 3600");
    order.command.accepts_input = false;
    goes_on(&host, order).await;
    let input = crate::world::input("one", 1, "word\n");
    let refused = host.input(&world.key("one"), &input).await.unwrap_err();
    assert!(refused.reason.contains("accepts_input"), "{refused:?}");
    world.stop(&host, "one").await;
    let refused = host.input(&world.key("two"), &input).await.unwrap_err();
    assert_eq!(refused.reason, "it was never started");
}
