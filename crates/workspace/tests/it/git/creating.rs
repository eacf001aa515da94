//! Worktrees that the runtime makes, once for each request, also when an attempt was interrupted.

use super::fixture::{World, commit, git};
use holon_domain::workspace::{
    ProjectionKind, RootOwnership, SelectedWorkspace, UseMode, WorkspaceErrorKind, WorktreeStage,
};
use std::fs;
use std::path::{Path, PathBuf};

fn isolate(world: &World) -> SelectedWorkspace {
    let order = world.by_path(&world.repo().join("sub"), UseMode::Isolated);
    world.selection().select(&order).unwrap()
}

#[test]
fn an_isolated_workspace_is_a_worktree_with_a_branch_of_its_own() {
    let world = World::new();
    let selected = isolate(&world);
    let entry = &selected.entry;
    let session = selected.worktree.as_ref().unwrap();
    let root = Path::new(&entry.execution_root);
    let folder = world
        .home()
        .join("execution-roots/git-worktree")
        .join(entry.workspace_id.as_str());
    assert_eq!(root.parent(), Some(folder.as_path()));
    let name = root.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("fix-it-") && name.len() == "fix-it-".len() + 8,
        "{name}"
    );
    assert_eq!(session.worktree_branch, format!("holon/{name}"));
    assert_eq!(session.worktree_path, entry.execution_root);
    assert_eq!(session.original_branch, "main");
    assert_eq!(
        session.base_commit,
        git(&world.repo(), &["rev-parse", "HEAD"])
    );
    assert_eq!(
        session.original_working_directory,
        world.agent_home().display().to_string()
    );
    assert_eq!(entry.cwd, format!("{}/sub", entry.execution_root));
    assert_eq!(entry.workspace_anchor, world.repo().display().to_string());
    assert_eq!(entry.projection_kind, ProjectionKind::GitWorktreeRoot);
    assert_eq!(entry.ownership, RootOwnership::SessionOwned);
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    assert_eq!(
        git(root, &["symbolic-ref", "--short", "HEAD"]),
        session.worktree_branch
    );
    assert_eq!(git(&world.repo(), &["status", "--porcelain"]), "");
}

#[test]
fn attributes_that_are_a_link_to_an_endless_file_are_not_read() {
    let world = World::new();
    let link = world.repo().join(".gitattributes");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    commit(&world.repo(), "attributes");
    let root = PathBuf::from(isolate(&world).entry.execution_root);
    assert!(root.join(".gitattributes").is_symlink());
}

#[test]
fn the_same_request_finds_its_worktree_with_the_work_in_it() {
    let world = World::new();
    let first = isolate(&world);
    let root = PathBuf::from(&first.entry.execution_root);
    fs::write(root.join("a.txt"), "work\n").unwrap();
    fs::write(root.join("new.txt"), "work\n").unwrap();
    commit(&world.repo(), "the repository goes on");
    assert_eq!(isolate(&world), first);
    assert_eq!(fs::read_to_string(root.join("a.txt")).unwrap(), "work\n");
    let mut other = world.by_path(&world.repo(), UseMode::Isolated);
    other.request_key = "call_2".to_owned();
    let other = world.selection().select(&other).unwrap();
    assert_ne!(other.entry.execution_root, first.entry.execution_root);
}

#[test]
fn a_worktree_is_entered_again_by_its_path_as_the_one_it_is() {
    let world = World::new();
    let first = isolate(&world);
    let mut order = world.by_path(Path::new(&first.entry.execution_root), UseMode::Direct);
    order.attached.attach(first.attached());
    let again = world.selection().select(&order).unwrap();
    assert_eq!(again.entry.ownership, RootOwnership::SessionOwned);
    assert_eq!(again.worktree, first.worktree);
    assert_eq!(again.entry.workspace_id, first.entry.workspace_id);
}

/// Puts a finished worktree back into each state in which a killed process can leave one.
#[test]
fn an_interrupted_creation_is_finished_by_the_next_attempt() {
    type Interrupt = fn(&World, &Path, &str);
    let interruptions: [(&str, Interrupt); 7] = [
        ("after the record", |w, root, branch| {
            git(
                &w.repo(),
                &["worktree", "remove", &root.display().to_string()],
            );
            git(&w.repo(), &["branch", "-D", branch]);
        }),
        ("after the branch", |w, root, _| {
            git(
                &w.repo(),
                &["worktree", "remove", &root.display().to_string()],
            );
        }),
        ("with an empty directory", |w, root, _| {
            git(
                &w.repo(),
                &["worktree", "remove", &root.display().to_string()],
            );
            fs::create_dir(root).unwrap();
        }),
        ("inside git, with its lock", |w, root, _| {
            fs::remove_dir_all(root).unwrap();
            fs::create_dir(root).unwrap();
            let admin = admin(w, root);
            fs::write(root.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
            fs::write(admin.join("locked"), "initializing").unwrap();
        }),
        ("without the pointer of the directory", |_, root, _| {
            fs::remove_dir_all(root).unwrap();
        }),
        ("without files", |_, root, _| {
            for name in ["a.txt", "sub/b.txt"] {
                fs::remove_file(root.join(name)).unwrap();
            }
        }),
        ("with a lock of the index and half a file", |w, root, _| {
            fs::write(admin(w, root).join("index.lock"), "").unwrap();
            fs::write(root.join("a.txt"), "on").unwrap();
        }),
    ];
    for (name, interrupt) in interruptions {
        let world = World::new();
        let first = isolate(&world);
        let root = PathBuf::from(&first.entry.execution_root);
        let branch = first.worktree.clone().unwrap().worktree_branch;
        interrupt(&world, &root, &branch);
        set_stage(&root, WorktreeStage::Creating);
        // A commit that comes in between does not move the base.
        commit(&world.repo(), "later");
        assert_eq!(isolate(&world), first, "{name}");
        assert_eq!(git(&root, &["status", "--porcelain"]), "", "{name}");
        assert_eq!(
            fs::read_to_string(root.join("a.txt")).unwrap(),
            "one\n",
            "{name}"
        );
        let records = world.worktrees().records().unwrap().records;
        assert_eq!(records.len(), 1, "{name}");
        assert_eq!(records[0].stage, WorktreeStage::Ready, "{name}");
    }
}

fn admin(world: &World, root: &Path) -> PathBuf {
    world
        .repo()
        .join(".git/worktrees")
        .join(root.file_name().unwrap())
}

fn set_stage(root: &Path, stage: WorktreeStage) {
    let file = root.with_extension("json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["stage"] = serde_json::to_value(stage).unwrap();
    fs::write(&file, record.to_string()).unwrap();
}

#[test]
fn files_in_the_place_of_a_worktree_are_never_removed() {
    let world = World::new();
    let first = isolate(&world);
    let root = PathBuf::from(&first.entry.execution_root);
    git(
        &world.repo(),
        &["worktree", "remove", &first.entry.execution_root],
    );
    fs::create_dir(&root).unwrap();
    fs::write(root.join("precious"), "x").unwrap();
    set_stage(&root, WorktreeStage::Creating);
    let order = world.by_path(&world.repo(), UseMode::Isolated);
    let refused = world.selection().select(&order).unwrap_err();
    assert_eq!(refused.kind, WorkspaceErrorKind::UnverifiedRepository);
    assert!(root.join("precious").exists());
}

#[test]
fn a_ready_worktree_that_is_gone_is_an_error_and_not_made_anew() {
    let world = World::new();
    let first = isolate(&world);
    fs::remove_dir_all(&first.entry.execution_root).unwrap();
    let order = world.by_path(&world.repo(), UseMode::Isolated);
    let refused = world.selection().select(&order).unwrap_err();
    assert!(
        refused.message.contains("its directory is gone"),
        "{refused}"
    );
    assert!(!Path::new(&first.entry.execution_root).exists());
}

#[test]
fn a_repository_without_a_commit_is_not_isolated() {
    let world = World::new();
    git(world.base(), &["init", "--quiet", "empty"]);
    let order = world.by_path(&world.base().join("empty"), UseMode::Isolated);
    let refused = world.selection().select(&order).unwrap_err();
    assert_eq!(refused.kind, WorkspaceErrorKind::IsolationUnsupported);
    assert!(refused.message.contains("no commit yet"), "{refused}");
}

#[test]
fn filters_that_did_not_run_are_named() {
    let world = World::new();
    fs::write(
        world.repo().join(".gitattributes"),
        "*.bin filter=lfs -text\n# filter=no\n",
    )
    .unwrap();
    commit(&world.repo(), "attributes");
    let notes = isolate(&world).notes;
    assert!(
        notes.iter().any(|note| note.ends_with(": lfs")),
        "{notes:?}"
    );
}

#[test]
fn a_label_of_any_kind_is_no_option_and_no_path() {
    for label in ["--detach", "-b", "../../x", "a\nb", "@{-1}", "\u{0}", ""] {
        let world = World::new();
        let mut order = world.by_path(&world.repo(), UseMode::Isolated);
        order.request.isolation_label = Some(label.to_owned());
        let selected = world.selection().select(&order).unwrap();
        let branch = selected.worktree.unwrap().worktree_branch;
        assert_eq!(
            git(&world.repo(), &["rev-parse", &branch]),
            git(&world.repo(), &["rev-parse", "HEAD"])
        );
    }
}
