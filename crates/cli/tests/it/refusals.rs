//! Bad input: one clear message, the next step, the right exit code, and nothing left behind.

use crate::support::{assert_output, doer, hello, http, record, records, world};
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn a_model_that_cannot_be_asked_is_refused() {
    let world = world();
    world.write("broken.json", "{\"rounds\": [");
    world.write("misspelt.json", "{\"rounds\": [{\"txt\": \"x\"}]}");
    world.write("empty.json", "{\"rounds\": []}");
    std::fs::write(world.path().join("latin.json"), b"{\"name\": \"\xe9\"}").unwrap();
    assert_output!(records(
        &world,
        &[
            &["run", "hi"],
            &["run", "hi", "--model", "nonsense"],
            &["run", "hi", "--model", "elsewhere/large"],
            &["run", "hi", "--model", "scripted/missing.json"],
            &["run", "hi", "--model", "scripted/broken.json"],
            &["run", "hi", "--model", "scripted/misspelt.json"],
            &["run", "hi", "--model", "scripted/empty.json"],
            &["run", "hi", "--model", "scripted/latin.json"],
            &["run", "hi", "--model", "scripted/."],
            &["serve", "--model", "elsewhere/large"],
            &["serve", "--model", "scripted/missing.json"],
            &["--json", "run", "hi", "--model", "elsewhere/large"],
        ]
    ));
}

#[test]
fn a_prompt_that_cannot_be_sent_is_refused() {
    let world = world();
    let mut said = records(
        &world,
        &[&["run", ""], &["run", "  "], &["prompt", ""], &["run", "-"]],
    );
    for (args, stdin) in [
        (["run", "-"], vec![b'a'; 5_000_000]),
        (["prompt", "-"], vec![b'a'; 5_000_000]),
        (["run", "-"], vec![0xff, 0xfe]),
    ] {
        said.push('\n');
        said.push_str(&record(&world, &args, &world.run_with(&args, &stdin)));
    }
    assert_output!(said);
    assert!(!world.home().exists(), "a refused prompt makes no home");
}

#[test]
fn a_workspace_that_is_not_there_is_refused() {
    let world = world();
    let model = hello(&world);
    world.write("project/file", "x");
    let run = |rest: &[&str]| {
        let mut args = vec!["run", "hi", "--model", &model];
        args.extend_from_slice(rest);
        record(&world, &args, &world.run(&args))
    };
    let said = [
        run(&["--workspace-root", "missing"]),
        run(&["--workspace-root", "project/file"]),
        run(&["--workspace-root", "project", "--cwd", "user"]),
        run(&["--cwd", "missing"]),
    ];
    assert_output!(said.join("\n"));
}

#[test]
fn a_workspace_that_reaches_the_hosts_own_directories_is_refused_in_every_way() {
    let world = world();
    let model = hello(&world);
    world.write("project/file", "x");
    std::os::unix::fs::symlink("../holon/run", world.path().join("project/run")).unwrap();
    // The first start creates the home.
    assert_eq!(world.run(&["run", "hi", "--model", &model]).code, Some(0));
    let run = |rest: &[&str]| {
        let mut args = vec!["run", "hi", "--model", &model];
        args.extend_from_slice(rest);
        record(&world, &args, &world.run(&args))
    };
    let mut said = vec![
        run(&["--workspace-root", "holon/state"]),
        run(&["--workspace-root", "."]),
        run(&["--cwd", "holon"]),
        run(&["--workspace-root", "project/run"]),
        run(&["--agent", "scout", "--create-agent", "--cwd", "holon/run"]),
        run(&["--agent", "scout", "--create-agent", "--cwd", "project"]),
        run(&["--agent", "scout", "--cwd", "holon/state"]),
    ];
    let served = world.serve(&[]);
    said.push(records(
        &world,
        &[
            &["agent", "create", "other", "--workspace-root", "."],
            &["--json", "agent", "create", "other", "--cwd", "holon/state"],
            &["agent", "create", "other", "--workspace-root", "project"],
        ],
    ));
    assert_eq!(served.terminate().0, Some(0));
    assert_output!(said.join("\n"));
}

#[test]
fn an_agent_that_works_there_already_goes_on_and_its_status_and_the_log_warn_of_it() {
    let world = world();
    world.write("project/file", "x");
    let model = doer(&world, "echo at work");
    let served = world.serve(&["--model", &model]);
    let create = ["agent", "create", "old", "--workspace-root"];
    let made = world.run(&[&create[..], &["project"]].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(served.terminate().0, Some(0));
    // An earlier build would have created it.
    let (root, project) = (world.path(), world.path().join("project"));
    let moves = format!(
        "UPDATE agents SET settings = replace(settings, '\"{}\"', '\"{}\"') WHERE agent_id = 'old'",
        project.display(),
        root.display()
    );
    let db = world.home().join("state/holon.sqlite3");
    assert_eq!(holon_testkit::damage::sql(&db, &moves), 1);

    let served = world.serve(&["--model", &model]);
    let status = world.run(&["status", "--agent", "old"]);
    let warning = format!("warning    the workspace {} reaches", root.display());
    assert!(status.answer().contains(&warning), "{status:?}");
    let fine = world.run(&["status"]);
    assert!(!fine.answer().contains("warning"), "{fine:?}");
    let ran = world.run(&["run", "hi", "--agent", "old", "--workspace-root", "."]);
    assert!(ran.answer().contains("at work"), "{ran:?}");
    let ran = world.run(&["run", "hi", "--agent", "old", "--cwd", "project"]);
    assert!(ran.answer().contains("at work"), "{ran:?}");
    let status = world.run(&["status", "--agent", "old"]);
    assert!(!status.answer().contains("warning"), "{status:?}");
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert_eq!(
        log.matches("where the host keeps what proves").count(),
        1,
        "{log}"
    );
}

#[test]
fn a_name_that_is_no_agent_id_is_refused() {
    let world = world();
    let long = "x".repeat(65);
    assert_output!(records(
        &world,
        &[
            &["run", "hi", "--agent", "../up"],
            &["run", "hi", "--agent", ""],
            &["run", "hi", "--agent", &long],
            &["run", "hi", "--agent", ".hidden"],
            &["run", "hi", "--agent", "tmp_mine", "--create-agent"],
            &["run", "hi", "--create-agent"],
            &["agent", "create", "a b"],
            &["status", "--agent", "a/b"],
        ]
    ));
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused() {
    let world = world();
    assert_output!(records(
        &world,
        &[
            &["frobnicate"],
            &["run"],
            &["run", "hi", "--max-turns", "0"],
            &["tail", "--limit", "0"],
            &["serve", "--listen", "nonsense"],
            &["serve", "--listen", "127.0.0.1:1", "--port", "1"],
            &["serve", "--port", "70000"],
        ]
    ));
}

#[test]
fn without_a_host_commands_say_how_to_start_one() {
    let world = world();
    assert_output!(records(
        &world,
        &[
            &["status"],
            &["prompt", "hi"],
            &["tail"],
            &["tail", "--follow"],
            &["transcript"],
            &["agent", "list"],
            &["agent", "create", "scout"],
            &["agent", "stop"],
            &["--json", "status"],
        ]
    ));
    assert!(!world.home().exists(), "looking makes no home");
}

#[test]
fn a_home_others_can_look_into_is_refused() {
    let world = world();
    let model = hello(&world);
    std::fs::create_dir(world.home()).unwrap();
    std::fs::create_dir(world.home().join("agents")).unwrap();
    std::fs::set_permissions(world.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_output!(records(
        &world,
        &[&["run", "hi", "--model", &model], &["serve", "--port", "0"]]
    ));
}

#[test]
fn a_home_that_cannot_be_written_is_refused() {
    let world = world();
    let model = hello(&world);
    world.write("file", "x");
    // No user can create a directory there, not even root.
    assert_output!(records(
        &world,
        &[
            &["run", "hi", "--model", &model, "--home", "/sys/holon-test"],
            &["serve", "--home", "/sys/holon-test"],
            &["run", "hi", "--model", &model, "--home", "file"],
        ]
    ));
}

#[test]
fn a_home_with_too_long_a_path_is_refused_if_there_is_no_place_for_a_short_one() {
    let world = world();
    let long = "x".repeat(120);
    let user = format!("/{long}");
    let args = ["serve", "--port", "0", "--home", &long];
    let ran = world.run_in(&args, b"", &[("HOME", &user)]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("use a home with a shorter path"),
        "{ran:?}"
    );
}

#[test]
fn a_settings_file_that_cannot_be_read_is_refused_with_its_line() {
    let world = world();
    world.write("holon/config.toml", "[model]\ndefualt = \"a/b\"\n");
    assert_output!(records(&world, &[&["run", "hi"], &["status"]]));
}

#[test]
fn a_home_has_one_owner_at_a_time() {
    let world = world();
    let served = world.serve(&[]);
    assert_output!(records(&world, &[&["serve", "--port", "0"]]));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_without_a_host_keeps_others_off_the_home_and_names_itself() {
    let world = world();
    let meeting = world.meeting("command");
    let model = doer(&world, &meeting.shell());
    let mut owner = world
        .command()
        .args(["run", "hi", "--model", &model])
        .spawn()
        .unwrap();
    meeting.wait();
    let said = records(
        &world,
        &[&["run", "hi", "--model", &model], &["serve", "--port", "0"]],
    );
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_output!(said);
}

#[test]
fn an_address_others_can_reach_or_have_taken_is_refused() {
    let world = world();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    assert_output!(records(
        &world,
        &[
            &["serve", "--listen", &addr],
            &["serve", "--listen", "0.0.0.0:7878"]
        ]
    ));
}

#[test]
fn a_stranger_is_told_where_the_token_is_and_gets_nothing_else() {
    let world = world();
    let served = world.serve(&[]);
    let ask = |token: &str| {
        http(
            &served.addr,
            &format!(
                "GET /agents/list HTTP/1.1\nHost: localhost\nAuthorization: Bearer {token}\nConnection: close\n\n"
            ),
        )
    };
    let refused = ask("not-the-token-of-this-host-at-all");
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    assert!(refused.contains("run/control.token"), "{refused}");
    let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
    assert!(ask(token.trim()).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_token_others_may_have_read_keeps_the_host_down() {
    let world = world();
    assert_eq!(world.serve(&[]).terminate().0, Some(0));
    let token = world.home().join("run/control.token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_output!(records(&world, &[&["serve", "--port", "0"]]));
}

#[test]
fn the_home_of_another_agent_is_no_workspace_of_a_new_agent_or_a_run() {
    let world = world();
    let model = doer(&world, "true");
    let _served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["agent", "create", "one"]).code, Some(0));
    let home = "holon/agents/main";
    std::fs::create_dir_all(world.path().join(home)).unwrap();
    for args in [
        &["agent", "create", "two", "--workspace-root", home][..],
        &["run", "hi", "--agent", "one", "--workspace-root", home],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let words = "reaches homes of other agents";
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
}
