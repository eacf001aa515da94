//! Tests of running an order from its start to its outcome.

use crate::runner::tests;
use crate::world::{HIDDEN, NEVER_MS, World, expect_end, expect_running, is_alive, run, soon};
use holon_domain::command::{CommandEnd, CommandFailure, CommandRun, LatePolicy};
use holon_domain::workspace::WorkspaceEntry;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use tokio_util::sync::CancellationToken;

tests! {
    a_command_that_ends_in_time_is_reported_whole,
    a_command_gets_its_agents_variables_and_no_hidden_ones,
    a_login_shell_is_run_where_one_is_asked_for,
    a_command_starts_inside_the_execution_root_only,
    a_command_that_is_late_goes_on,
    a_command_of_a_batch_that_is_late_is_stopped,
    a_command_that_cannot_be_started_says_so_every_time,
    a_command_line_that_the_system_refuses_says_why_also_with_a_spare_shim,
    a_call_that_is_given_up_leaves_its_command,
    a_call_that_was_given_up_before_begins_nothing,
    much_output_is_bounded_here_and_whole_in_its_file,
    a_command_is_started_once_for_many_callers,
}

async fn a_command_that_ends_in_time_is_reported_whole() {
    let (world, host) = World::with_host();
    let order = world.order("one", "echo out; echo err >&2; exit 3");
    let output = expect_end(&host, order).await;
    assert_eq!(output.end, CommandEnd::Exited { status: 3 });
    assert_eq!(output.stdout.head, "out\n");
    assert_eq!(output.stderr.head, "err\n");
    let file = output.stdout.path.unwrap();
    assert_eq!(file, world.output_file("one").to_str().unwrap());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "out\n");
    let file = output.stderr.path.unwrap();
    assert!(file.ends_with("/task_one.stderr.log"), "{file}");
}

async fn a_command_gets_its_agents_variables_and_no_hidden_ones() {
    let (world, host) = World::with_host();
    let cmd =
        format!("echo $HOLON_RUNTIME $HOLON_AGENT_ID $HOLON_AGENT_HOME $PWD $TERM [${HIDDEN}]");
    let output = expect_end(&host, world.order("one", &cmd)).await;
    let home = world.path().canonicalize().unwrap();
    let (given, home) = (world.path().display(), home.display());
    assert_eq!(
        output.stdout.head,
        format!("1 scout {given} {home} dumb []\n")
    );
    // Variables of the host that are not hidden are passed on.
    let cmd = "echo $CARGO_MANIFEST_DIR";
    let output = expect_end(&host, world.order("two", cmd)).await;
    assert_eq!(output.stdout.head.trim_end(), env!("CARGO_MANIFEST_DIR"));
    host.hide_from_commands(vec!["CARGO_MANIFEST_DIR".to_owned()]);
    let output = expect_end(&host, world.order("three", cmd)).await;
    assert_eq!(output.stdout.head, "\n");
}

async fn a_login_shell_is_run_where_one_is_asked_for() {
    let (world, host) = World::with_host();
    let shell = world.path().join("shell");
    std::fs::write(&shell, "#!/bin/sh\necho \"$*\" $HOLON_AGENT_ID $PWD\n").unwrap();
    std::fs::set_permissions(&shell, Permissions::from_mode(0o700)).unwrap();
    for (name, login, arguments) in [("one", true, "-l -c cmd"), ("two", false, "-c cmd")] {
        let mut order = world.order(name, "cmd");
        order.command.shell = Some(shell.to_str().unwrap().to_owned());
        order.command.login = login;
        let output = expect_end(&host, order).await;
        let home = world.path().canonicalize().unwrap();
        assert_eq!(
            output.stdout.head,
            format!("{arguments} scout {}\n", home.display())
        );
    }
}

async fn a_command_starts_inside_the_execution_root_only() {
    let (world, host) = World::with_host();
    std::fs::create_dir(world.path().join("sub")).unwrap();
    let mut order = world.order("one", "pwd");
    order.command.workdir = Some("sub".to_owned());
    let output = expect_end(&host, order.clone()).await;
    assert!(output.stdout.head.ends_with("/sub\n"), "{output:?}");
    order.key = world.key("two");
    order.command.workdir = Some("..".to_owned());
    let refused = run(&host, order).await;
    assert!(matches!(refused, Err(CommandFailure::OutsideRoot { .. })));
    assert!(!host.was_begun(&world.key("two")).await);
    let workspace = world.beside("workspace");
    std::os::unix::fs::symlink(world.beside("state"), &workspace).unwrap();
    let mut order = world.order("three", "pwd");
    order.context.workspace = WorkspaceEntry::agent_home(workspace.to_str().unwrap());
    let refused = run(&host, order).await;
    assert!(
        matches!(refused, Err(CommandFailure::OutsideRoot { .. })),
        "{refused:?}"
    );
    assert!(!host.was_begun(&world.key("three")).await);
}

async fn a_command_that_is_late_goes_on() {
    let (world, host) = World::with_host();
    let running = world.begin(&host, "one", "read x; exit $x").await;
    let home = world.path().canonicalize().unwrap();
    assert_eq!(running.workdir, home.to_str().unwrap());
    assert_eq!(
        running.stdout.path.as_deref(),
        world.output_file("one").to_str()
    );
    assert!(running.stderr.path.is_some());
    assert!(is_alive(&host, &world.key("one")).await);
    world.input(&host, "one", 0, "7\n").await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 7 });
    assert!(!is_alive(&host, &world.key("one")).await);
}

async fn a_command_of_a_batch_that_is_late_is_stopped() {
    let (world, host) = World::with_host();
    let mut order = world.order("one", "echo begun; exec sleep 3600");
    order.key = order.key.item(2);
    order.command.yield_time_ms = 200;
    order.when_late = LatePolicy::Stop;
    let output = expect_end(&host, order).await;
    assert_eq!(output.end, CommandEnd::TimedOut);
}

async fn a_command_that_cannot_be_started_says_so_every_time() {
    let world = World::new();
    let mut order = world.order("one", "true");
    order.command.shell = Some("/nowhere/sh".to_owned());
    for host in [world.host(), world.host()] {
        match run(&host, order.clone()).await {
            Err(CommandFailure::Spawn { reason }) => {
                assert!(reason.contains("/nowhere/sh"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn a_command_line_that_the_system_refuses_says_why_also_with_a_spare_shim() {
    let (world, host) = World::with_host();
    let long = format!("true {}", "x".repeat(150_000));
    // The first command leaves a spare shim for the next one.
    for (name, cmd) in [
        ("one", "true"),
        ("two", long.as_str()),
        ("three", long.as_str()),
    ] {
        let order = world.order(name, cmd);
        match (name, run(&host, order).await) {
            ("one", Ok(_)) => {}
            (_, Err(CommandFailure::Spawn { reason })) => {
                assert!(
                    reason.contains("too long for the system"),
                    "{name}: {reason}"
                );
            }
            (_, other) => panic!("{name}: {other:?}"),
        }
    }
}

async fn a_call_that_is_given_up_leaves_its_command() {
    let (world, host) = World::with_host();
    let mut order = world.yielding("one", "echo begun; read x; exit 4");
    order.command.yield_time_ms = NEVER_MS;
    let cancel = CancellationToken::new();
    let give_up = async {
        while !is_alive(&host, &world.key("one")).await {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let run = Box::pin(host.run(order, cancel.clone()));
    let (run, ()) = soon(async { tokio::join!(run, give_up) }).await;
    assert_eq!(run, Err(CommandFailure::Cancelled));
    assert!(is_alive(&host, &world.key("one")).await);
    world.input(&host, "one", 1, "\n").await;
    let output = world.watch(&host, "one").await;
    assert_eq!(output.end, CommandEnd::Exited { status: 4 });
}

async fn a_call_that_was_given_up_before_begins_nothing() {
    let (world, host) = World::with_host();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let run = host.run(world.order("one", "true"), cancel).await;
    assert_eq!(run, Err(CommandFailure::Cancelled));
    assert!(!host.was_begun(&world.key("one")).await);
}

async fn much_output_is_bounded_here_and_whole_in_its_file() {
    let (world, host) = World::with_host();
    let order = world.order(
        "one",
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end",
    );
    let output = expect_end(&host, order).await;
    let stdout = output.stdout;
    assert_eq!(stdout.total_bytes, 3_000_005);
    assert!(stdout.tail.ends_with("x\nend\n"));
    assert_eq!(
        stdout.dropped_bytes,
        stdout.total_bytes - (stdout.head.len() + stdout.tail.len()) as u64
    );
    assert!(stdout.head.len() + stdout.tail.len() <= 512 << 10);
    let file = std::fs::metadata(world.output_file("one")).unwrap();
    assert_eq!(file.len(), 3_000_005);
}

async fn a_command_is_started_once_for_many_callers() {
    let (world, host) = World::with_host();
    let order = || world.order("one", "echo ran >> ran; exit 5");
    let ask = || async {
        let output = expect_end(&host, order()).await;
        assert_eq!(output.end, CommandEnd::Exited { status: 5 });
    };
    tokio::join!(ask(), ask(), ask(), ask());
    // Later calls get the same result, also from another host.
    ask().await;
    match run(&world.host(), order()).await {
        Ok(CommandRun::Ended(output)) => {
            assert_eq!(output.end, CommandEnd::Exited { status: 5 });
        }
        other => panic!("{other:?}"),
    }
    let ran = std::fs::read_to_string(world.path().join("ran")).unwrap();
    assert_eq!(ran, "ran\n");
    let again = expect_running(&host, world.yielding("two", "read x")).await;
    assert_eq!(again.stdout.total_bytes, 0);
    world.stop(&host, "two").await;
}
