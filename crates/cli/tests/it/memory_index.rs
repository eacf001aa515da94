//! The memory index in the real program: one that is missing or damaged, rebuilds with their progress, and episodes.

use crate::memory::{search, served, turn};
use crate::support::world;
use crate::terminal::Terminal;
use crate::worktrees::ask;
use holon_domain::limits::EPISODE_TURNS;
use holon_testkit::World;
use serde_json::json;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

fn index_file(world: &World) -> PathBuf {
    world
        .home()
        .join("agents/main/.holon/indexes/memory.sqlite3")
}

/// Removes an index with the files that SQLite puts beside it, as far as they are there.
fn remove(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        drop(fs::remove_file(path));
    }
}

#[test]
fn an_index_that_is_missing_or_damaged_is_built_anew_by_the_next_use() {
    let world = world();
    let host = served(&world, &["The lease is renewed.", "The agent goes on."]);
    turn(&world);
    assert_eq!(search(&world, &["lease"]).len(), 1);
    let file = index_file(&world);
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    for byte in torn.iter_mut().skip(4_096) {
        *byte ^= 0x5a;
    }
    let damages: [(&str, Option<&[u8]>); 5] = [
        ("missing", None),
        ("empty", Some(b"")),
        (
            "no database",
            Some(b"this is no database, but it is long enough to be looked at"),
        ),
        ("half", Some(&whole[..whole.len() / 2])),
        ("torn pages", Some(&torn)),
    ];
    for (damage, content) in damages {
        remove(&file);
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let found = search(&world, &["lease"]);
        assert_eq!(found.len(), 1, "{damage}: {found:?}");
        let rebuilt = ask(&world, &["memory", "rebuild"]);
        assert_eq!(rebuilt["done"], true, "{damage}: {rebuilt}");
    }
    // With a directory in its place nothing can be made anew: a clear error, and the agent itself goes on.
    remove(&file);
    fs::create_dir(&file).unwrap();
    let refused = world.run(&["memory", "search", "lease", "--json"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("memory_index_unavailable"),
        "{refused:?}"
    );
    turn(&world);
    fs::remove_dir(&file).unwrap();
    assert_eq!(search(&world, &["goes on"]).len(), 1);
    assert_eq!(host.terminate().0, Some(0));
}

#[test]
fn a_rebuild_counts_every_document_and_episodes_are_listed_page_by_page() {
    let world = world();
    let host = served(&world, &["One step more."]);
    let none = world.run(&["memory", "episodes"]);
    assert_eq!(none.answer(), "no episodes yet\n");
    let turns = 2 * EPISODE_TURNS;
    for _ in 0..turns {
        turn(&world);
    }
    let rebuilt = ask(&world, &["memory", "rebuild"]);
    // Two episodes, and the two curated files of the agent.
    let documents = u64::from(turns) + 4;
    assert_eq!(
        rebuilt,
        json!({ "documents": documents, "pending": 0, "done": true })
    );
    let text = world.run(&["memory", "rebuild"]);
    assert_eq!(
        text.answer(),
        format!("the memory index is rebuilt: {documents} documents\n")
    );
    assert_eq!(text.stderr, "");

    let newest = ask(&world, &["memory", "episodes", "--limit", "1"]);
    assert_eq!(newest["episodes"][0]["seq"], 2, "{newest}");
    assert_eq!(newest["next_before_seq"], 2, "{newest}");
    let older = ask(&world, &["memory", "episodes", "--before", "2"]);
    assert_eq!(older["episodes"][0]["seq"], 1, "{older}");
    assert_eq!(older.get("next_before_seq"), None, "{older}");
    let id = older["episodes"][0]["id"].as_str().unwrap();
    let read = ask(&world, &["memory", "get", &format!("episode:{id}")]);
    let summary = older["episodes"][0]["summary"].as_str().unwrap();
    assert!(
        read["content"].as_str().unwrap().starts_with(summary),
        "{read}"
    );
    let shown = world.run(&["memory", "episodes", "--limit", "1"]);
    assert!(
        shown.answer().ends_with("older ones with --before 2\n"),
        "{shown:?}"
    );
    assert_eq!(host.terminate().0, Some(0));
}

/// Answers of a host to a rebuild that takes three steps.
const STEPS: [&str; 3] = [
    r#"{"documents":500,"reading":"episode","pending":0,"done":false}"#,
    r#"{"documents":1000,"pending":3,"done":false}"#,
    r#"{"documents":1003,"pending":0,"done":true}"#,
];

/// Plays a host that takes three steps for a rebuild. Returns the bodies of the requests.
fn play_slow_host(listener: &TcpListener) -> Vec<String> {
    let mut asked = Vec::new();
    for step in STEPS {
        let (mut stream, _) = listener.accept().unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"}") {
            let mut piece = [0; 1_024];
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "the request ended early");
            said.extend_from_slice(&piece[..read]);
        }
        let said = String::from_utf8(said).unwrap();
        asked.push(said.split_once("\r\n\r\n").unwrap().1.to_owned());
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{step}",
            step.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
    }
    asked
}

#[test]
fn a_long_rebuild_shows_its_progress_on_a_terminal_and_nowhere_else() {
    let world = world();
    let token = world.write("token", "a-token-of-a-host-0123456789abcdef");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&token, private).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let args = [
        "--connect",
        &url,
        "--token-file",
        token.to_str().unwrap(),
        "memory",
        "rebuild",
        "--agent",
        "main",
    ];
    std::thread::scope(|scope| {
        let host = scope.spawn(|| play_slow_host(&listener));
        let shown = Terminal::start(&world, &args).finish_raw();
        let asked = host.join().unwrap();
        assert_eq!(
            asked,
            [
                r#"{"restart":true}"#,
                r#"{"restart":false}"#,
                r#"{"restart":false}"#
            ]
        );
        for words in [
            "rebuilding: 500 documents, reading episode",
            "rebuilding: 1000 documents, 3 changes left",
            "the memory index is rebuilt: 1003 documents\n",
        ] {
            assert!(shown.contains(words), "{words}: {shown:?}");
        }

        for json in [false, true] {
            let host = scope.spawn(|| play_slow_host(&listener));
            let more: &[&str] = if json { &["--json"] } else { &[] };
            let piped = world.run(&[&args, more].concat());
            host.join().unwrap();
            assert_eq!(piped.code, Some(0), "{piped:?}");
            assert_eq!(piped.stderr, "", "{piped:?}");
        }
    });
}
