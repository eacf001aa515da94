//! `holon memory search` and `get` and their routes in the real program: what is found and read, and what is refused.

use crate::support::{http, record, world};
use crate::worktrees::ask;
use holon_testkit::{HostProcess, World};
use serde_json::{Value, json};
use std::fs;

/// Everything that steers a query of a full-text index.
const OPERATORS: &str = r#"NEAR("a" b, 5) AND (title : ^x* OR {title body}: - NOT ") AND AND (* ; DROP TABLE documents"#;
/// A request that no reader of its head accepts.
const HUGE: usize = 100 << 10;

/// Starts a host whose agent says these words, one answer for each turn.
pub(crate) fn served(world: &World, words: &[&str]) -> HostProcess {
    let rounds: Vec<Value> = words.iter().map(|words| json!({ "text": words })).collect();
    world.serve(&["--model", &world.model("speaker", &json!(rounds))])
}

/// Has the agent say the next of its words, which become a brief.
pub(crate) fn turn(world: &World) {
    let ran = world.run(&["run", "go on", "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Searches, and returns the references and snippets that were found, best first.
pub(crate) fn search(world: &World, args: &[&str]) -> Vec<(String, String)> {
    let page = ask(world, &[&["memory", "search"], args].concat());
    let results = page["results"].as_array().unwrap().iter();
    let text = |hit: &Value, key: &str| hit[key].as_str().unwrap().to_owned();
    results
        .map(|hit| (text(hit, "source_ref"), text(hit, "snippet")))
        .collect()
}

/// Sends a request with the host's own token. Returns the status and the body.
pub(crate) fn request(world: &World, host: &HostProcess, line: &str, body: &str) -> (u16, String) {
    let token = fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let said = http(
        &host.addr,
        &format!(
            "{line} HTTP/1.1\nHost: localhost\nAuthorization: Bearer {}\nContent-Type: application/json\n\
             Content-Length: {}\nConnection: close\n\n{body}",
            token.trim(),
            body.len()
        ),
    );
    let status = said.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = said.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    (status.expect("a status"), body.expect("a body"))
}

#[test]
fn what_an_agent_said_is_found_by_word_by_path_and_in_chinese_and_read_exactly() {
    let world = world();
    let words = [
        "The lease of the gateway is renewed twice.",
        "The overflow was in crates/store/src/tx.rs.",
        "数据库连接在凌晨断开。",
    ];
    let host = served(&world, &words);
    for _ in words {
        turn(&world);
    }
    let curated = world.home().join("agents/main/memory/self.md");
    fs::create_dir_all(curated.parent().unwrap()).unwrap();
    fs::write(&curated, "# Me\n\nI answer in short sentences.\n").unwrap();
    for (query, words) in [
        ("LEASE renewed", "gateway is renewed twice"),
        ("why was the gateway renewed", "gateway is renewed twice"),
        ("crates/store/src/tx.rs", "overflow was in"),
        ("tx.rs", "overflow was in"),
        ("数据库", "数据库连接在凌晨断开。"),
        ("凌晨断开", "数据库连接在凌晨断开。"),
        ("memory/self.md", "short sentences"),
    ] {
        let found = search(&world, &[query]);
        let (_, snippet) = found.first().expect(query);
        assert!(snippet.contains(words), "{query}: {found:?}");
    }
    assert_eq!(search(&world, &["zymurgy"]), []);
    let one = search(&world, &["the", "--limit", "1"]);
    assert_eq!(one.len(), 1, "{one:?}");

    let (source_ref, _) = search(&world, &["数据库"]).remove(0);
    let read = ask(&world, &["memory", "get", &source_ref]);
    assert_eq!(read["content"], "数据库连接在凌晨断开。");
    let cut = ask(&world, &["memory", "get", &source_ref, "--max-chars", "3"]);
    assert_eq!(cut["content"], "数据库");
    assert_eq!(cut["truncated"], true);
    let shown = world.run(&["memory", "get", &source_ref]);
    assert_eq!(shown.answer(), "数据库连接在凌晨断开。\n");
    let shown = world.run(&["memory", "search", "数据库"]);
    assert!(shown.answer().starts_with(&source_ref), "{shown:?}");
    let shown = world.run(&["memory", "search", "zymurgy"]);
    assert_eq!(shown.answer(), "nothing found\n");
    assert_eq!(host.terminate().0, Some(0));
}

#[test]
fn answers_for_programs_have_the_fields_that_are_documented() {
    let world = world();
    let host = served(&world, &["The lease is renewed.", "The agent goes on."]);
    turn(&world);
    let page = ask(&world, &["memory", "search", "lease"]);
    assert_eq!(page["query"], "lease");
    assert_eq!(page["lag"], json!({ "pending": 0, "rebuilding": false }));
    assert_eq!(page.get("notes"), None, "{page}");
    let hit = &page["results"][0];
    for (key, value) in [
        ("kind", json!("brief")),
        ("scope_kind", json!("agent")),
        ("workspace_id", json!("agent_home")),
        ("agent_id", json!("main")),
        ("snippet", json!("The lease is renewed.")),
    ] {
        assert_eq!(hit[key], value, "{key}: {hit}");
    }
    let source_ref = hit["source_ref"].as_str().unwrap();
    assert!(source_ref.starts_with("brief:brief_"), "{hit}");
    assert!(hit["score"].as_f64() > Some(0.0), "{hit}");
    assert!(hit["updated_at"].as_str().unwrap().ends_with('Z'), "{hit}");
    let read = ask(&world, &["memory", "get", source_ref]);
    for key in ["kind", "source_ref", "scope_kind", "agent_id", "title"] {
        assert_eq!(read[key], hit[key], "{key}: {read}");
    }
    assert_eq!(read["truncated"], false);
    // The route answers with the same, byte for byte the same document.
    let target = format!("GET /agents/main/memory/get?source_ref={source_ref}");
    let (status, body) = request(&world, &host, &target, "");
    assert_eq!(status, 200, "{body}");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), read);
    assert_eq!(host.terminate().0, Some(0));
}

#[test]
fn a_record_of_a_workspace_is_found_there_and_elsewhere_only_on_request() {
    let world = world();
    let host = served(&world, &["A ferret lives here.", "A heron is here."]);
    for place in ["one", "other"] {
        let place = world.path().join(place);
        fs::create_dir(&place).unwrap();
        let used = world.run(&["workspace", "use", place.to_str().unwrap()]);
        assert_eq!(used.code, Some(0), "{used:?}");
        turn(&world);
    }
    assert_eq!(search(&world, &["heron"]).len(), 1);
    assert_eq!(search(&world, &["ferret"]), []);
    let anywhere = search(&world, &["ferret", "--all-workspaces"]);
    let kinds: Vec<&str> = anywhere
        .iter()
        .filter_map(|(source_ref, _)| Some(source_ref.split_once(':')?.0))
        .collect();
    assert_eq!(kinds, ["brief", "episode"], "{anywhere:?}");
    // An exact read is of this agent's memory as a whole: the reference came from a search.
    let read = ask(&world, &["memory", "get", &anywhere[0].0]);
    assert_eq!(read["scope_kind"], "workspace", "{read}");
    let left = world.run(&["workspace", "exit"]);
    assert_eq!(left.code, Some(0), "{left:?}");
    assert_eq!(search(&world, &["heron"]), []);
    // Another agent finds nothing of it, wherever it searches.
    assert_eq!(world.run(&["agent", "create", "other"]).code, Some(0));
    for args in [
        &["ferret", "--agent", "other"] as &[&str],
        &["ferret", "--agent", "other", "--all-workspaces"],
    ] {
        assert_eq!(search(&world, args), [], "{args:?}");
    }
    let foreign = world.run(&["memory", "get", &anywhere[0].0, "--agent", "other"]);
    assert_eq!(foreign.code, Some(1), "{foreign:?}");
    assert_eq!(host.terminate().0, Some(0));
}

#[test]
fn a_reference_and_an_agent_that_are_not_there_are_refused_with_the_next_step() {
    let world = world();
    let host = served(&world, &["Nothing."]);
    let long = format!("brief:{}", "x".repeat(HUGE));
    for (args, exit, code, words) in [
        (
            &["memory", "get", "brief:brief_none"] as &[&str],
            1,
            "memory_source_not_found",
            "holon memory search",
        ),
        (
            &["memory", "get", "none"],
            1,
            "invalid_request",
            "source_ref",
        ),
        (
            &["memory", "get", &long],
            1,
            "invalid_request",
            "source_ref",
        ),
        (
            &["memory", "search", "x", "--agent", "nobody"],
            1,
            "agent_not_found",
            "nobody",
        ),
        (
            &["memory", "get", "brief:b", "--agent", "nobody"],
            1,
            "agent_not_found",
            "nobody",
        ),
        (
            &["memory", "episodes", "--agent", "nobody"],
            1,
            "agent_not_found",
            "nobody",
        ),
        (
            &["memory", "rebuild", "--agent", "nobody"],
            1,
            "agent_not_found",
            "nobody",
        ),
        (&["memory", "search", " "], 1, "invalid_request", "query"),
        (&["memory", "search"], 2, "usage", "QUERY"),
        (
            &["memory", "search", "x", "--limit", "51"],
            2,
            "usage",
            "50",
        ),
        (&["memory", "episodes", "--limit", "0"], 2, "usage", "1.."),
    ] {
        let refused = world.run(&[args, &["--json"]].concat());
        let told = record(&world, &args[..2], &refused);
        assert_eq!(refused.code, Some(exit), "{told}");
        assert_eq!(refused.stdout, "", "{told}");
        let error: Value = serde_json::from_str(&refused.stderr).expect(&told);
        assert_eq!(error["code"], code, "{told}");
        assert!(refused.stderr.contains(words), "{words}: {told}");
    }
    let text = world.run(&["memory", "get", "brief:brief_none"]);
    assert!(
        text.stderr.starts_with("error: there is no memory"),
        "{text:?}"
    );
    assert!(text.stderr.contains("\nnext: "), "{text:?}");
    assert_eq!(host.terminate().0, Some(0));
    let gone = world.run(&["memory", "search", "x"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
}

#[test]
fn a_huge_query_and_one_full_of_operators_are_answered_or_clearly_refused() {
    let world = world();
    let host = served(&world, &["The lease is renewed near the gateway."]);
    turn(&world);
    let words = format!("lease {}", "much more ".repeat(HUGE / 10));
    let chinese = format!("lease {}", "数据库连接".repeat(HUGE / 15));
    for long in [&words, &chinese] {
        let page = ask(&world, &["memory", "search", long]);
        let note = page["notes"][0].as_str().unwrap();
        assert!(note.contains("too long"), "{note}");
        assert_eq!(page["results"].as_array().unwrap().len(), 1, "{page}");
    }
    for (query, found) in [
        (OPERATORS, 1),
        (r#"" OR lease"#, 1),
        ("lease*", 1),
        ("body:lease", 1),
        ("-lease", 1),
        ("NOT lease", 1),
        ("\"", 0),
        ("(((((", 0),
        ("' OR 1=1 --", 0),
        ("\u{0}", 0),
        ("\u{202e}\u{feff}", 0),
    ] {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let target = format!("GET /agents/main/memory/search?query={escaped}");
        let (status, body) = request(&world, &host, &target, "");
        assert_eq!(status, 200, "{query:?}: {body}");
        let page: Value = serde_json::from_str(&body).unwrap();
        let results = page["results"].as_array().unwrap();
        assert_eq!(results.len(), found, "{query:?}: {page}");
        // No argument of a command holds a zero byte.
        if !query.contains('\0') {
            let ran = world.run(&["memory", "search", "--json", "--", query]);
            assert_eq!(ran.code, Some(0), "{query:?}: {ran:?}");
            assert_eq!(ran.json(), page, "{query:?}");
        }
    }
    // The routes themselves get what the client would have cut, and what it would never send.
    let a_few_kib = format!(
        "GET /agents/main/memory/search?query={}",
        "lease+".repeat(1_000)
    );
    assert_eq!(request(&world, &host, &a_few_kib, "").0, 200);
    let huge = format!("GET /agents/main/memory/search?query={}", "a".repeat(HUGE));
    assert_eq!(request(&world, &host, &huge, "").0, 431);
    for target in [
        "GET /agents/main/memory/search",
        "GET /agents/main/memory/search?query=",
        "GET /agents/main/memory/search?query=x&limit=51",
        "GET /agents/main/memory/search?query=x&limit=many",
        "GET /agents/main/memory/search?query=x&unknown=1",
        "GET /agents/main/memory/get",
        "GET /agents/main/memory/get?source_ref=brief:",
        "GET /agents/main/memory/get?source_ref=brief:b&max_chars=0",
        "GET /agents/main/memory/get?source_ref=agent_memory:../../x",
    ] {
        let (status, body) = request(&world, &host, target, "");
        assert!((400..500).contains(&status), "{target}: {status} {body}");
        let body: Value = serde_json::from_str(&body).expect(target);
        assert!(body["code"].is_string(), "{target}: {body}");
    }
    assert_eq!(host.terminate().0, Some(0));
}
