//! `holon agent export|import|clone` with the real program: an agent moves to another host with its work and without
//! secrets.

use crate::support::{until, world};
use crate::terminal::Terminal;
use holon_domain::archive::ustar::{self, BLOCK};
use holon_testkit::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Reads the entries of an archive by their paths.
fn entries(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let mut found = BTreeMap::new();
    let mut at = 0;
    while at + BLOCK <= bytes.len() {
        let block: &[u8; BLOCK] = bytes[at..at + BLOCK].try_into().unwrap();
        let Some(header) = ustar::decode(block).unwrap() else {
            break;
        };
        let (from, size) = (at + BLOCK, usize::try_from(header.bytes).unwrap());
        found.insert(header.path, bytes[from..from + size].to_vec());
        at = from + size + ustar::padding(header.bytes);
    }
    found
}

fn ok(world: &World, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.json()
}

/// Makes an agent with files, a work item, timers, a workspace and a model, and stops it.
fn prepare(world: &World) {
    let model = crate::support::silent(world);
    fs::create_dir_all(world.path().join("project")).unwrap();
    ok(
        world,
        &[
            "agent",
            "create",
            "ada",
            "--template",
            "holon-reviewer",
            "--model",
            &model,
        ],
    );
    ok(world, &["workspace", "attach", "project", "--agent", "ada"]);
    ok(
        world,
        &[
            "work", "create", "Write it", "--todo", "first", "--agent", "ada",
        ],
    );
    ok(
        world,
        &[
            "timer", "create", "--after", "1h", "--every", "1h", "--agent", "ada",
        ],
    );
    ok(world, &["agent", "stop", "ada"]);
    world.write("holon/agents/ada/notes/plan.md", "A long plan.\n");
    let token = fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let words = format!("the token is {}\n", token.trim());
    world.write("holon/agents/ada/notes/secret.md", &words);
    world.write("holon/agents/ada/.env", "KEY=value\n");
    let link = world.home().join("agents/ada/link");
    std::os::unix::fs::symlink("/etc/passwd", link).unwrap();
}

fn reasons(list: &Value) -> Vec<&str> {
    let all = list.as_array().unwrap().iter();
    all.map(|left| left["what"].as_str().unwrap()).collect()
}

#[test]
fn an_agent_moves_to_another_host_with_its_work_and_without_secrets() {
    let (here, there) = (world(), world());
    let _served = here.serve(&[]);
    prepare(&here);
    let token = fs::read_to_string(here.home().join("run/control.token")).unwrap();
    let out = here.path().join("ada.tar");
    let exported = ok(&here, &["agent", "export", "ada", "--out", "ada.tar"]);
    assert_eq!(exported["bytes"], fs::metadata(&out).unwrap().len());
    let manifest = &exported["manifest"];
    assert_eq!(manifest["counts"]["work_items"], 1);
    assert_eq!(manifest["counts"]["timers"], 1);
    assert_eq!(manifest["counts"]["workspaces"], 1);
    assert_eq!(manifest["template"]["template_id"], "holon-reviewer");
    let left = reasons(&manifest["left_out"]);
    assert!(left.contains(&".env") && left.contains(&"link"), "{left:?}");
    let files = entries(&out);
    for (path, content) in &files {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains(token.trim()), "{path}");
    }
    assert_eq!(
        String::from_utf8_lossy(&files["home/notes/secret.md"]),
        "the token is [secret]\n"
    );

    let _other = there.serve(&[]);
    let archive = out.to_str().unwrap();
    let made = ok(&there, &["agent", "import", archive]);
    assert_eq!(made["agent_id"], "ada");
    assert_eq!(made["workspaces"][0]["state"], "attached");
    let status = ok(&there, &["status", "--agent", "ada"]);
    assert_eq!(status["agent"]["status"], "stopped");
    let work = ok(&there, &["work", "list", "--agent", "ada"]);
    assert_eq!(work["work_items"][0]["objective"], "Write it");
    assert_eq!(work["work_items"][0]["todo_list"][0]["text"], "first");
    let timers = ok(&there, &["timer", "list", "--agent", "ada"]);
    assert_eq!(timers.as_array().unwrap().len(), 1, "{timers}");
    let home = there.home().join("agents/ada");
    assert_eq!(
        fs::read_to_string(home.join("notes/plan.md")).unwrap(),
        "A long plan.\n"
    );
    assert!(!home.join(".holon/state/unconfirmed").exists());

    // What the copy exports is what it was made from.
    ok(&there, &["agent", "export", "ada", "--out", "again.tar"]);
    let again = entries(&there.path().join("again.tar"));
    let content = |entries: &BTreeMap<String, Vec<u8>>| {
        let mut content = entries.clone();
        content.remove("manifest.json");
        content
    };
    assert_eq!(content(&again), content(&files));

    let started = there.run(&["agent", "start", "ada"]);
    assert_eq!(started.code, Some(0), "{started:?}");
    let listed = there.run(&["agent", "list"]);
    assert!(listed.answer().contains("ada"), "{listed:?}");
}

#[test]
fn a_terminal_shows_the_progress_and_a_pipe_does_not() {
    let world = world();
    let _served = world.serve(&[]);
    prepare(&world);
    let piped = world.run(&["agent", "export", "ada"]);
    assert_eq!(piped.code, Some(0), "{piped:?}");
    assert_eq!(piped.stderr, "");
    for (args, words) in [
        (
            ["agent", "export", "ada", "--out", "b.tar"].as_slice(),
            "received 100 %",
        ),
        (&["agent", "import", "b.tar", "--as", "eve"], "sent 100 %"),
    ] {
        let seen = Terminal::start(&world, args).finish_raw();
        assert!(seen.contains(words), "{seen}");
    }
}

#[test]
fn dry_runs_show_files_and_sizes_and_make_nothing() {
    let world = world();
    let _served = world.serve(&[]);
    prepare(&world);
    let shown = world.run(&["agent", "export", "ada", "--dry-run"]);
    let words = shown.answer();
    assert!(words.contains("would be exported"), "{words}");
    assert!(words.contains("13  notes/plan.md"), "{words}");
    assert!(
        words.contains("left out: link: it is a symbolic link"),
        "{words}"
    );
    assert!(
        words.contains("a secret was replaced in notes/secret.md"),
        "{words}"
    );
    let previewed = ok(&world, &["agent", "export", "ada", "--dry-run"]);
    assert!(!world.path().join("ada.holon.tar").exists());

    ok(&world, &["agent", "export", "ada"]);
    let archive = world.path().join("ada.holon.tar");
    let bytes = fs::metadata(&archive).unwrap().len();
    assert_eq!(previewed["bytes"], bytes, "the dry run says the exact size");
    let refused = world.run(&["agent", "export", "ada"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("exists already"), "{refused:?}");

    for args in [
        [
            "agent",
            "import",
            "ada.holon.tar",
            "--as",
            "eve",
            "--dry-run",
        ]
        .as_slice(),
        &["agent", "clone", "ada", "eve", "--dry-run"],
    ] {
        let report = ok(&world, args);
        assert_eq!(report["dry_run"], true);
        assert_eq!(report["counts"]["work_items"], 1);
        assert!(!world.home().join("agents/eve").exists(), "{args:?}");
        assert_eq!(world.run(&["status", "--agent", "eve"]).code, Some(1));
    }
}

#[test]
fn a_clone_is_a_stopped_copy_and_a_taken_name_is_refused() {
    let world = world();
    let _served = world.serve(&[]);
    prepare(&world);
    let cloned = world.run(&["agent", "clone", "ada", "eve"]);
    let words = cloned.answer();
    assert!(words.contains("agent eve is made from ada"), "{words}");
    assert!(words.contains("holon agent start eve"), "{words}");
    let plan = |agent: &str| {
        let path = format!("agents/{agent}/notes/plan.md");
        fs::read(world.home().join(path)).unwrap()
    };
    assert_eq!(plan("eve"), plan("ada"));
    let status = ok(&world, &["status", "--agent", "eve"]);
    assert_eq!(status["agent"]["status"], "stopped");
    assert_eq!(status["identity"]["visibility"], "public");

    ok(&world, &["agent", "export", "ada"]);
    for args in [
        ["agent", "clone", "ada", "eve"].as_slice(),
        &["agent", "import", "ada.holon.tar"],
        &["agent", "import", "ada.holon.tar", "--as", "eve"],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("exists already"), "{refused:?}");
    }
    for (args, code) in [
        (["agent", "clone", "ada", "../x"].as_slice(), 2),
        (&["agent", "clone", "ada", "tmp_x"], 2),
        (&["agent", "clone", "nobody", "eve2"], 1),
        (&["agent", "export", "nobody"], 1),
        (&["agent", "import", "missing.tar"], 1),
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(code), "{args:?}: {refused:?}");
    }
}

#[test]
fn a_damaged_archive_and_a_host_that_is_down_are_refused_with_a_reason() {
    let world = world();
    let served = world.serve(&[]);
    prepare(&world);
    ok(&world, &["agent", "export", "ada"]);
    let whole = fs::read(world.path().join("ada.holon.tar")).unwrap();
    let text = b"A long plan.";
    let at = whole.windows(text.len()).position(|part| part == text);
    let mut changed = whole.clone();
    changed[at.unwrap()] ^= 1;
    fs::write(world.path().join("changed.tar"), changed).unwrap();
    fs::write(world.path().join("torn.tar"), &whole[..whole.len() / 2]).unwrap();
    fs::write(world.path().join("words.tar"), "no archive at all").unwrap();
    for (file, words) in [
        ("changed.tar", "is not what the manifest says"),
        ("torn.tar", "ends before its end mark"),
        ("words.tar", "no archive of an agent"),
    ] {
        let refused = world.run(&["agent", "import", file, "--as", "eve"]);
        // The name is given, so the host itself checks all but the words, which no header can be.
        let expected = if file == "words.tar" {
            "refused"
        } else {
            words
        };
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(expected), "{refused:?}");
        let unnamed = world.run(&["agent", "import", file]);
        assert_eq!(unnamed.code, Some(1), "{unnamed:?}");
        assert!(!world.home().join("agents/eve").exists());
    }
    let agents = fs::read_dir(world.home().join("agents")).unwrap();
    let names: Vec<String> = agents
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.starts_with('.')), "{names:?}");

    assert_eq!(served.terminate().0, Some(0));
    for args in [
        ["agent", "export", "ada", "--out", "x.tar"].as_slice(),
        &["agent", "import", "ada.holon.tar", "--as", "eve"],
        &["agent", "clone", "ada", "eve"],
    ] {
        let refused = world.run(args);
        assert_eq!(refused.code, Some(3), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("no host is running"), "{refused:?}");
    }
    assert!(!world.path().join("x.tar").exists());
}

#[test]
fn workspaces_that_are_missing_are_listed_and_those_of_the_host_are_refused() {
    let (here, there) = (world(), world());
    let _served = here.serve(&[]);
    prepare(&here);
    ok(&here, &["agent", "export", "ada"]);
    let archive = here.path().join("ada.holon.tar");
    fs::rename(here.path().join("project"), here.path().join("moved")).unwrap();
    let _other = there.serve(&[]);
    let made = ok(&there, &["agent", "import", archive.to_str().unwrap()]);
    let project = here.path().canonicalize().unwrap().join("project");
    assert_eq!(
        made["workspaces"],
        json!([{ "path": project, "state": "missing" }])
    );
    let status = ok(&there, &["status", "--agent", "ada"]);
    let attached = status["agent"]["attached_workspaces"].as_array().unwrap();
    assert_eq!(
        attached.len(),
        2,
        "its home and the missing one: {attached:?}"
    );
}

#[test]
fn the_home_of_an_agent_that_was_never_stored_is_gone_after_the_next_start() {
    let world = world();
    let served = world.serve(&[]);
    ok(
        &world,
        &["agent", "create", "ada", "--template", "holon-reviewer"],
    );
    world.write("holon/agents/ghost/.holon/state/unconfirmed", "");
    world.write("holon/agents/ghost/AGENTS.md", "half");
    served.crash();
    let _served = world.serve(&[]);
    let ghost = world.home().join("agents/ghost");
    until("the leftover is removed", || !ghost.exists());
    assert!(world.home().join("agents/ada/AGENTS.md").exists());
}
