//! Tests of patch outcomes, and of journals that a crash leaves behind.

mod home;

use super::*;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, WorkspaceId};
use holon_patch::{MAX_BYTES, MAX_TOTAL_BYTES};
use holon_workspace::{FileChange, NewContent, Tree};
use std::fs;
use tempfile::TempDir;

const PATCH: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+eins\n";

/// An agent's home and the directory it works in.
struct House {
    dir: TempDir,
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for folder in ["home", "root"] {
            fs::create_dir(dir.path().join(folder)).expect("a folder");
        }
        fs::write(dir.path().join("root/a.txt"), "one\n").expect("a file");
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        // Without symlinks, as the root of a workspace is always stored.
        let root = self.dir.path().canonicalize().expect("a directory");
        root.join("root")
    }

    fn home(&self) -> String {
        self.dir.path().join("home").display().to_string()
    }

    fn files(&self) -> Files {
        let claims = ClaimFolders::of_host(self.dir.path());
        Files::new(claims.clone(), Attachments::new(claims), self.dir.path())
    }

    fn places(&self) -> Journals {
        self.files().journals(&self.home())
    }

    fn journals(&self) -> PathBuf {
        self.places().own
    }

    /// Path of a call's journal, in a directory that exists.
    fn journal(&self, call: &str) -> PathBuf {
        fs::create_dir_all(self.journals()).expect("a folder");
        self.places().new_path(&CallId::from_stored(call))
    }

    fn workspace(&self) -> WorkspaceEntry {
        WorkspaceEntry {
            workspace_id: WorkspaceId::from_stored("ws-1"),
            execution_root: self.root().display().to_string(),
            ..WorkspaceEntry::agent_home(&self.home())
        }
    }

    fn apply(&self, call: &str, patch: &str) -> Result<PatchResult, ToolError> {
        self.apply_in(self.workspace(), call, patch)
    }

    fn apply_in(
        &self,
        workspace: WorkspaceEntry,
        call: &str,
        patch: &str,
    ) -> Result<PatchResult, ToolError> {
        let context = CommandContext {
            agent_id: AgentId::parse("main").expect("an id"),
            agent_home: self.home(),
            workspace,
        };
        apply(&self.files(), &context, &CallId::from_stored(call), patch)
    }

    fn settled_outcome(&self, call: &str, patch: &str) -> Option<Result<PatchResult, ToolError>> {
        settled_outcome(&self.places().path_of(&CallId::from_stored(call)), patch)
    }

    /// Runs a call that adds a file, up to its outcome: its journal says that it is done.
    fn added(&self, call: &str, path: &str) -> PathBuf {
        let journal = self.journal(call);
        let change = FileChange {
            path: path.to_owned(),
            before: None,
            after: Some(NewContent {
                content: b"new\n".to_vec(),
                mode: None,
            }),
        };
        let tree = Tree::open(&self.root()).expect("a tree");
        tree.replace(&[change], &journal).expect("it is added");
        journal
    }

    /// Lists the file names in a directory.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("a text name"))
            .collect();
        names.sort();
        names
    }
}

/// Rewrites a journal to the state a crash would leave: its plan and this phase only.
fn cut_off(journal: &Path, phase: &str) -> serde_json::Value {
    let text = fs::read_to_string(journal).expect("a journal");
    let plan = text.lines().next().expect("a plan");
    fs::write(journal, format!("{plan}\n{phase}")).expect("it is written");
    serde_json::from_str(plan).expect("a plan is JSON")
}

#[test]
fn the_journal_of_a_call_that_is_done_goes_before_the_next_patch_and_its_own_stays() {
    let house = House::new();
    house.added("call_old", "b.txt");
    house.apply("call_new", PATCH).expect("it applies");
    assert_eq!(House::names(&house.journals()), ["call_new.json"]);
    assert_eq!(House::names(&house.root()), ["a.txt", "b.txt"]);
    let (new, old) = (house.journal("call_new"), house.journal("call_old"));
    assert!(matches!(settle(&new), Ok(SettleOutcome::Done)));
    assert!(matches!(settle(&old), Ok(SettleOutcome::Nothing)));
}

#[test]
fn a_call_that_was_cut_off_is_taken_back_before_its_journal_goes() {
    let house = House::new();
    // All files are in place, only the last entry is missing.
    let journal = house.added("call_late", "b.txt");
    cut_off(&journal, "\n{\"phase\":\"committing\"}\n");
    // The files are staged, and none is changed.
    let journal = house.added("call_back", "c.txt");
    let plan = cut_off(&journal, "");
    let side = plan["changes"][0]["side"].as_str().expect("a side");
    fs::rename(house.root().join("c.txt"), house.root().join(side)).expect("it is staged");
    // The plan was not complete.
    let unfinished = house.journals().join("call_unborn.json.new");
    fs::write(unfinished, "{\"version\":").expect("it is written");

    house.apply("call_new", PATCH).expect("it applies");
    assert_eq!(House::names(&house.journals()), ["call_new.json"]);
    assert_eq!(House::names(&house.root()), ["a.txt"]);
}

#[test]
fn a_patch_that_failed_is_never_put_in_place_behind_another_one() {
    let house = House::new();
    let journal = house.added("call_old", "b.txt");
    let plan = cut_off(&journal, "\n{\"phase\":\"committing\"}\n");
    let side = plan["changes"][0]["side"].as_str().expect("a side");
    fs::rename(house.root().join("b.txt"), house.root().join(side)).expect("it is pending");
    house.apply("call_new", PATCH).expect("it applies");
    assert_eq!(House::names(&house.root()), ["a.txt"]);
}

#[test]
fn a_journal_that_tells_nothing_stays_and_hinders_no_patch() {
    let house = House::new();
    fs::write(house.journal("call_old"), "no plan").expect("it is written");
    fs::write(house.journals().join("notes.txt"), "mine").expect("it is written");
    house.apply("call_new", PATCH).expect("it applies");
    assert_eq!(
        House::names(&house.journals()),
        ["call_new.json", "call_old.json", "notes.txt"]
    );
}

#[test]
fn nothing_is_cleared_away_while_another_patch_of_the_agent_is_at_work() {
    let house = House::new();
    let journal = house.added("call_old", "b.txt");
    let active = lock_and_clear(&house.places(), &house.journal("call_old")).expect("it may begin");
    assert!(active.is_some() && journal.exists(), "its own stays");
    house.apply("call_new", PATCH).expect("it applies");
    assert!(journal.exists());
    drop(active);
    house
        .apply(
            "call_newer",
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-eins\n+uno\n",
        )
        .expect("it applies");
    assert_eq!(House::names(&house.journals()), ["call_newer.json"]);
}

#[test]
fn a_patch_without_a_waiting_turn_is_finished_or_undone_and_its_journal_removed() {
    let house = House::new();
    let done = house.added("call_done", "b.txt");
    let forward = house.added("call_forward", "c.txt");
    let plan = cut_off(&forward, "\n{\"phase\":\"committing\"}\n");
    let side = plan["changes"][0]["side"].as_str().expect("a side");
    fs::rename(house.root().join("c.txt"), house.root().join(side)).expect("it is pending");
    let back = house.added("call_back", "d.txt");
    let plan = cut_off(&back, "");
    let side = plan["changes"][0]["side"].as_str().expect("a side");
    fs::rename(house.root().join("d.txt"), house.root().join(side)).expect("it is staged");
    let unbegun = house.journal("call_unbegun");
    for journal in [done, forward, back, unbegun] {
        assert_eq!(finish(&journal), Ok(()));
        assert_eq!(finish(&journal), Ok(()), "a second time");
    }
    assert_eq!(House::names(&house.journals()), [""; 0]);
    assert_eq!(House::names(&house.root()), ["a.txt", "b.txt", "c.txt"]);
}

#[test]
fn a_home_without_a_journal_has_nothing_to_finish_and_a_damaged_one_says_so_and_stays() {
    let house = House::new();
    let call = CallId::from_stored("call_1");
    assert_eq!(finish(&house.places().path_of(&call)), Ok(()));
    let damaged = house.journal("call_1");
    fs::write(&damaged, "no plan").expect("it is written");
    let told = finish(&damaged).expect_err("it tells nothing");
    assert!(told.contains("damaged"), "{told}");
    assert!(damaged.exists());
}

#[test]
fn a_patch_that_is_refused_leaves_no_journal() {
    let house = House::new();
    house.added("call_old", "b.txt");
    let refused = house.apply(
        "call_new",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-two\n+x\n",
    );
    assert_eq!(
        refused.expect_err("it is refused").kind,
        ToolErrorKind::ContextNotFound
    );
    assert_eq!(House::names(&house.journals()), [""; 0]);
}

/// A patch that adds a file with ignored headers, and changes one with a wrong hint.
const REMARKABLE: &str = "diff --git a/sub/new.txt b/sub/new.txt\nnew file mode 100755\nindex 0000000..3e75765\n\
                          --- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1 @@\n+new\n\
                          --- a/a.txt\n+++ b/a.txt\n@@ -7 +7 @@\n-one\n+eins\n";

fn headers_of_new() -> Vec<IgnoredMetadata> {
    let header = |kind: &str, value: &str| IgnoredMetadata {
        path: "sub/new.txt".to_owned(),
        kind: kind.to_owned(),
        value: value.to_owned(),
    };
    vec![
        header("new file mode", "100755"),
        header("index", "0000000..3e75765"),
    ]
}

#[test]
fn what_was_passed_over_or_put_right_is_told_with_its_file_and_its_sort() {
    let applied = House::new()
        .apply("call_1", REMARKABLE)
        .expect("it applies");
    assert_eq!(applied.ignored_metadata, headers_of_new());
    let [wrong_line] = applied.diagnostics.as_slice() else {
        panic!("{applied:?}");
    };
    assert_eq!(
        (wrong_line.path.as_str(), wrong_line.kind.as_str()),
        ("a.txt", "line_mismatch")
    );
    assert!(wrong_line.message.contains("fits at line 1"), "{applied:?}");
}

#[test]
fn after_a_crash_the_same_files_and_headers_are_told_of_a_patch_that_is_in_place() {
    let house = House::new();
    let applied = house.apply("call_1", REMARKABLE).expect("it applies");
    let proven = house.settled_outcome("call_1", REMARKABLE);
    let proven = proven.expect("it can be told").expect("it is in place");
    assert_eq!(proven.changed_files, applied.changed_files);
    assert_eq!(proven.ignored_metadata, headers_of_new());
}

#[test]
fn a_moved_file_is_told_by_both_its_names() {
    let moved = "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n";
    let applied = House::new().apply("call_1", moved).expect("it applies");
    let from_path = "a.txt".to_owned();
    let expected = ChangedFile {
        action: FileAction::Move { from_path },
        path: "b.txt".to_owned(),
    };
    assert_eq!(applied.changed_files, [expected]);
}

#[test]
fn a_rename_to_a_name_that_is_taken_says_so_and_what_to_do() {
    let house = House::new();
    fs::write(house.root().join("b.txt"), "two\n").expect("a file");
    let moved = "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n";
    let refused = house.apply("call_1", moved).expect_err("it is taken");
    assert_eq!(refused.kind, ToolErrorKind::TargetExists);
    assert!(
        refused.message.contains("the target of a rename") && !refused.message.contains("adding"),
        "{}",
        refused.message
    );
    assert_eq!(House::names(&house.root()), ["a.txt", "b.txt"]);
    let added = "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n";
    let refused = house.apply("call_2", added).expect_err("it is there");
    assert!(!refused.message.contains("rename"), "{}", refused.message);
}

#[test]
fn a_patch_that_finds_no_space_may_be_tried_again() {
    let path = "a.txt".to_owned();
    assert!(tool_error(&TreeError::Full { path: path.clone() }).retryable);
    assert!(!tool_error(&TreeError::Missing { path }).retryable);
}

#[test]
fn a_first_patch_that_died_before_it_had_a_journal_changed_nothing_and_says_so() {
    let house = House::new();
    assert!(!house.journals().exists());
    let told = house
        .settled_outcome("call_1", PATCH)
        .expect("it can be told");
    let told = told.expect_err("it is not in place");
    assert_eq!(told.kind, ToolErrorKind::NotStarted);
    assert!(told.message.contains("nothing was changed"), "{told}");
    fs::remove_dir(house.home()).expect("it goes");
    let told = house
        .settled_outcome("call_1", PATCH)
        .expect("it can be told");
    assert_eq!(
        told.expect_err("it is not in place").kind,
        ToolErrorKind::NotStarted
    );
}

#[test]
fn a_journal_outlives_the_home_of_its_agent() {
    let house = House::new();
    house.added("call_1", "b.txt");
    fs::remove_dir(house.home()).expect("it goes");
    let add = "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n";
    let told = house
        .settled_outcome("call_1", add)
        .expect("it can be told");
    told.expect("it is in place");
}

#[test]
fn a_patch_in_the_agents_own_home_makes_it_where_it_is_missing() {
    let house = House::new();
    let home = WorkspaceEntry::agent_home(&house.home());
    let add = |name: &str| format!("--- /dev/null\n+++ b/notes/{name}\n@@ -0,0 +1 @@\n+new\n");
    for name in ["one", "two"] {
        fs::remove_dir_all(house.home()).expect("it goes");
        let applied = house.apply_in(home.clone(), &format!("call_{name}"), &add(name));
        applied.expect("it applies");
        let parts = ["AGENTS.md", "memory", "notes"];
        assert_eq!(House::names(Path::new(&house.home())), parts);
    }
    // In another workspace the home stays as it is.
    fs::remove_dir_all(house.home()).expect("it goes");
    house.apply("call_else", PATCH).expect("it applies");
    assert!(!Path::new(&house.home()).exists());
}

#[test]
fn a_journal_of_an_earlier_build_is_settled_where_it_stands_and_cleared_before_the_next_patch() {
    let house = House::new();
    let former = house.places().former;
    fs::create_dir_all(&former).expect("a folder");
    for (call, file) in [("call_1", "b.txt"), ("call_2", "c.txt")] {
        let journal = house.added(call, file);
        let name = journal.file_name().expect("a name");
        fs::rename(&journal, former.join(name)).expect("it moves");
    }
    let journal = house.places().path_of(&CallId::from_stored("call_1"));
    assert_eq!(journal, former.join("call_1.json"));
    assert_eq!(finish(&journal), Ok(()));
    assert_eq!(House::names(&former), ["call_2.json"]);
    house.apply("call_new", PATCH).expect("it applies");
    assert_eq!(House::names(&former), [""; 0]);
    assert_eq!(House::names(&house.root()), ["a.txt", "b.txt", "c.txt"]);
}

/// A patch that renames files without any line of content.
fn moves(count: usize) -> String {
    (0..count)
        .map(|n| format!("diff --git a/{n} b/to-{n}\nrename from {n}\nrename to to-{n}\n"))
        .collect()
}

#[test]
fn all_files_of_a_patch_together_are_bounded_before_the_last_is_read() {
    let house = House::new();
    let fits = MAX_TOTAL_BYTES / (2 * MAX_BYTES);
    for n in 0..=fits {
        let file = File::create(house.root().join(n.to_string())).expect("a file");
        file.set_len(MAX_BYTES as u64).expect("a size");
    }
    let before = House::names(&house.root());
    let refused = house.apply("call_1", &moves(fits + 1));
    let refused = refused.expect_err("it is too much");
    assert_eq!(refused.kind, ToolErrorKind::TooLarge);
    assert!(refused.message.contains("together"), "{}", refused.message);
    assert!(
        refused
            .recovery_hint
            .is_some_and(|hint| hint.contains("several calls")),
        "the next step"
    );
    assert_eq!(House::names(&house.root()), before);
    assert_eq!(House::names(&house.journals()), [""; 0]);
    house.apply("call_2", &moves(fits)).expect("so many fit");
}

#[test]
fn a_root_that_was_replaced_is_refused_until_the_agent_is_started_again() {
    let house = House::new();
    house.apply("call_1", PATCH).expect("it applies");
    let moved = house.dir.path().join("moved");
    fs::rename(house.root(), &moved).expect("it moves");
    fs::create_dir(house.root()).expect("a folder");
    fs::write(house.root().join("a.txt"), "one\n").expect("a file");
    for call in ["call_2", "call_3"] {
        let refused = house.apply(call, PATCH).expect_err("it is another one");
        assert_eq!(refused.kind, ToolErrorKind::ExecutionRootViolation);
        let details = refused.details.expect("details");
        assert_eq!(details["execution_root"], house.workspace().execution_root);
        let hint = refused.recovery_hint.expect("the next step");
        assert!(hint.contains("stop and start"), "{hint}");
    }
    let read = |root: &Path| fs::read_to_string(root.join("a.txt")).expect("a file");
    assert_eq!(
        (read(&house.root()), read(&moved)),
        ("one\n".to_owned(), "eins\n".to_owned())
    );
    house.files().attachments.record_start(&house.home());
    house.apply("call_4", PATCH).expect("it applies");
    assert_eq!(read(&house.root()), "eins\n");
}

#[test]
fn a_root_that_was_replaced_before_the_first_patch_is_noticed_too() {
    let house = House::new();
    let attachments = house.files().attachments;
    attachments.remember(&house.home(), &house.workspace());
    attachments.record_start(&house.home());
    fs::rename(house.root(), house.dir.path().join("moved")).expect("it moves");
    std::os::unix::fs::symlink("moved", house.root()).expect("a link");
    let refused = house.apply("call_1", PATCH).expect_err("it is a link");
    assert_eq!(refused.kind, ToolErrorKind::ExecutionRootViolation);
}

#[test]
fn a_root_that_became_a_link_to_the_hosts_state_is_refused_even_after_a_start() {
    let house = House::new();
    let attachments = house.files().attachments;
    attachments.remember(&house.home(), &house.workspace());
    attachments.record_start(&house.home());
    let state = house.dir.path().join("state");
    fs::write(state.join("a.txt"), "one\n").expect("a file");
    fs::rename(house.root(), house.dir.path().join("moved")).expect("it moves");
    std::os::unix::fs::symlink("state", house.root()).expect("a link");
    attachments.record_start(&house.home());
    let refused = house.apply("call_1", PATCH).expect_err("it is a link");
    assert_eq!(refused.kind, ToolErrorKind::ExecutionRootViolation);
    assert_eq!(
        fs::read_to_string(state.join("a.txt")).expect("a file"),
        "one\n"
    );
    fs::remove_file(house.root()).expect("it goes");
    fs::rename(house.dir.path().join("moved"), house.root()).expect("it moves back");
    house.apply("call_2", PATCH).expect("it applies");
}

#[test]
fn a_home_that_was_made_again_is_still_the_home_and_a_link_in_its_place_is_not() {
    let house = House::new();
    let home = WorkspaceEntry::agent_home(&house.home());
    let attachments = house.files().attachments;
    attachments.open(&house.home(), &home).expect("it opens");
    fs::rename(house.home(), house.dir.path().join("moved")).expect("it moves");
    fs::create_dir(house.home()).expect("a folder");
    attachments.open(&house.home(), &home).expect("it opens");
    fs::remove_dir(house.home()).expect("it goes");
    std::os::unix::fs::symlink("moved", house.home()).expect("a link");
    let refused = attachments.open(&house.home(), &home);
    assert!(matches!(refused, Err(TreeError::Replaced { .. })));
}

#[test]
fn files_that_could_not_be_taken_back_are_named_with_the_next_step() {
    let path = "a.txt".to_owned();
    let error = TreeError::Unsettled {
        cause: Box::new(TreeError::Changed { path: path.clone() }),
        left: vec![holon_workspace::Leftover { path, kept: None }],
    };
    let told = tool_error(&error);
    assert!(told.message.contains("\"a.txt\""), "{}", told.message);
    assert_eq!(told.details.expect("details")["files"], json!(["a.txt"]));
    assert!(
        told.recovery_hint
            .expect("a step")
            .contains("look at these files")
    );
}
