//! Clean-up of managed worktrees: every state times every point at which a process can die, and no byte is lost.

use super::fixture::{World, commit, git};
use holon_domain::workspace::{
    CleanVerdict, KeepReason, UseMode, WorktreeRecord, WorktreeStage, WorktreeTask, WorktreeUser,
};
use holon_domain::{AgentId, TaskId};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A managed worktree without any work in it.
pub(super) struct Made {
    pub(super) world: World,
    pub(super) root: PathBuf,
    pub(super) record: WorktreeRecord,
}

impl Made {
    pub(super) fn new() -> Self {
        let world = World::new();
        let order = world.by_path(&world.repo(), UseMode::Isolated);
        let selected = world.selection().select(&order).unwrap();
        let mut records = world.worktrees().records().unwrap().records;
        Self {
            world,
            root: selected.entry.execution_root.into(),
            record: records.remove(0),
        }
    }

    pub(super) fn clean(&self) -> CleanVerdict {
        self.world.worktrees().clean(&self.record, &[], false)
    }

    pub(super) fn kept(&self) -> Vec<KeepReason> {
        match self.clean() {
            CleanVerdict::Kept { reasons } => reasons,
            other @ (CleanVerdict::Removable | CleanVerdict::Removed { .. }) => panic!("{other:?}"),
        }
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.world.repo()
    }

    pub(super) fn has_branch(&self) -> bool {
        let branches = git(&self.repo(), &["branch", "--list", &self.record.branch]);
        !branches.is_empty()
    }

    pub(super) fn admin(&self) -> PathBuf {
        self.repo().join(".git/worktrees").join(&self.record.name)
    }
}

#[test]
fn a_clean_worktree_goes_with_its_branch_and_leaves_a_rescue_ref() {
    let made = Made::new();
    let tip = git(&made.repo(), &["rev-parse", &made.record.branch]);
    let rescue = format!("refs/holon/rescue/{}", made.record.name);
    let removed = CleanVerdict::Removed {
        rescue_ref: Some(rescue.clone()),
    };
    assert_eq!(made.clean(), removed);
    assert!(!made.root.exists() && !made.has_branch() && !made.admin().exists());
    assert_eq!(git(&made.repo(), &["rev-parse", &rescue]), tip);
    assert_eq!(made.world.worktrees().records().unwrap().records, []);
}

#[test]
fn a_dry_run_changes_nothing() {
    let made = Made::new();
    let verdict = made.world.worktrees().clean(&made.record, &[], true);
    assert_eq!(verdict, CleanVerdict::Removable);
    assert!(made.root.join("a.txt").exists() && made.has_branch());
    assert_eq!(git(&made.repo(), &["for-each-ref", "refs/holon"]), "");
    assert_eq!(
        made.world.worktrees().records().unwrap().records,
        [made.record]
    );
}

/// A state of a worktree and the reason for which it is kept.
type State = (&'static str, fn(&Made), KeepReason);

#[expect(clippy::too_many_lines, reason = "one table of states")]
fn states() -> [State; 13] {
    [
        (
            "changed file",
            |m| write(&m.root, "a.txt", "x"),
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "staged file",
            |m| {
                write(&m.root, "a.txt", "x");
                git(&m.root, &["add", "a.txt"]);
            },
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "deleted file",
            |m| fs::remove_file(m.root.join("a.txt")).unwrap(),
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "file assumed unchanged",
            |m| {
                git(&m.root, &["update-index", "--assume-unchanged", "a.txt"]);
                write(&m.root, "a.txt", "x");
            },
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "file skipped and there",
            |m| {
                git(&m.root, &["update-index", "--skip-worktree", "a.txt"]);
                write(&m.root, "a.txt", "x");
            },
            KeepReason::TrackedChanges { files: 1 },
        ),
        (
            "untracked file",
            |m| write(&m.root, "new.txt", "x"),
            KeepReason::UntrackedFiles { files: 1 },
        ),
        (
            "untracked file of a hidden kind",
            |m| {
                git(&m.repo(), &["config", "status.showUntrackedFiles", "no"]);
                write(&m.root, "deep/er/new.txt", "x");
            },
            KeepReason::UntrackedFiles { files: 1 },
        ),
        (
            "untracked file that differs from a tracked one in case only",
            |m| {
                git(&m.repo(), &["config", "core.ignoreCase", "true"]);
                write(&m.root, "A.TXT", "x");
            },
            KeepReason::UntrackedFiles { files: 1 },
        ),
        (
            "ignored file",
            |m| {
                write(&m.repo().join(".git/info"), "exclude", "*.log\n");
                write(&m.root, "x.log", "four");
            },
            KeepReason::IgnoredFiles { files: 1, bytes: 4 },
        ),
        (
            "ignored directory",
            |m| {
                write(&m.repo().join(".git/info"), "exclude", "target/\n");
                write(&m.root, "target/a", "four");
                write(&m.root, "target/b/c", "four");
            },
            KeepReason::IgnoredFiles { files: 2, bytes: 8 },
        ),
        (
            "lock",
            |m| drop(git(&m.repo(), &["worktree", "lock", &m.record.path])),
            KeepReason::Locked,
        ),
        (
            "rebase",
            |m| fs::create_dir(m.admin().join("rebase-merge")).unwrap(),
            KeepReason::OperationUnderWay {
                file: "rebase-merge".to_owned(),
            },
        ),
        (
            "files in a submodule",
            |m| {
                let tip = git(&m.repo(), &["rev-parse", "HEAD"]);
                git(
                    &m.root,
                    &[
                        "update-index",
                        "--add",
                        "--cacheinfo",
                        &format!("160000,{tip},mod"),
                    ],
                );
                write(&m.root, "mod/user.txt", "x");
            },
            KeepReason::Submodules,
        ),
    ]
}

pub(super) fn write(root: &Path, name: &str, text: &str) {
    let file = root.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Reads every file of a worktree but its pointer.
pub(super) fn contents(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn work_of_any_kind_is_kept_with_its_reason_and_its_bytes() {
    for (name, make, reason) in states() {
        let made = Made::new();
        make(&made);
        let before = contents(&made.root);
        let reasons = made.kept();
        assert!(reasons.contains(&reason), "{name}: {reasons:?}");
        assert_eq!(contents(&made.root), before, "{name}");
        assert!(made.has_branch(), "{name}");
        assert_eq!(
            git(&made.repo(), &["for-each-ref", "refs/holon"]),
            "",
            "{name}"
        );
    }
}

#[test]
fn commits_are_kept_until_another_branch_holds_them() {
    let made = Made::new();
    write(&made.root, "a.txt", "work");
    commit(&made.root, "work");
    let tip = git(&made.root, &["rev-parse", "HEAD"]);
    assert_eq!(made.kept(), [KeepReason::OwnCommits { tip: tip.clone() }]);
    git(
        &made.repo(),
        &["merge", "--quiet", "--no-edit", &made.record.branch],
    );
    assert!(matches!(made.clean(), CleanVerdict::Removed { .. }));
    assert!(!made.has_branch());
    assert_eq!(
        git(&made.repo(), &["merge-base", "--is-ancestor", &tip, "main"]),
        ""
    );
}

#[test]
fn grafts_hide_no_commits() {
    let made = Made::new();
    commit(&made.root, "work");
    let tip = git(&made.root, &["rev-parse", "HEAD"]);
    let base = made.record.base_commit.clone();
    write(
        &made.repo().join(".git/info"),
        "grafts",
        &format!("{base} {tip}\n"),
    );
    assert_eq!(made.kept(), [KeepReason::OwnCommits { tip }]);
}

#[test]
fn another_branch_or_a_foreign_directory_is_a_mismatch() {
    let made = Made::new();
    git(&made.root, &["checkout", "--quiet", "-b", "mine"]);
    let reasons = made.kept();
    assert!(
        matches!(reasons.as_slice(), [KeepReason::Mismatch { .. }]),
        "{reasons:?}"
    );
    let made = Made::new();
    fs::remove_file(made.root.join(".git")).unwrap();
    let reasons = made.kept();
    assert!(
        matches!(reasons.as_slice(), [KeepReason::Mismatch { .. }]),
        "{reasons:?}"
    );
    assert!(made.root.join("a.txt").exists());
}

#[test]
fn a_worktree_with_an_agent_a_task_or_a_process_inside_is_kept() {
    let made = Made::new();
    let user = WorktreeUser {
        agent_id: AgentId::parse("ada").unwrap(),
        execution_roots: vec![made.root.display().to_string()],
        in_turn: false,
        tasks: Vec::new(),
    };
    let verdict = made
        .world
        .worktrees()
        .clean(&made.record, std::slice::from_ref(&user), false);
    let active = KeepReason::ActiveFor {
        agent_id: user.agent_id.clone(),
    };
    assert_eq!(
        verdict,
        CleanVerdict::Kept {
            reasons: vec![active]
        }
    );
    let task = WorktreeTask {
        task_id: TaskId::from_stored("task_1"),
        workdir: made.root.join("sub").display().to_string(),
    };
    let user = WorktreeUser {
        execution_roots: vec!["/elsewhere".to_owned()],
        tasks: vec![task.clone()],
        ..user
    };
    let verdict = made
        .world
        .worktrees()
        .clean(&made.record, std::slice::from_ref(&user), false);
    let reasons = vec![KeepReason::UsedByTask {
        agent_id: user.agent_id,
        task_id: task.task_id,
    }];
    assert_eq!(verdict, CleanVerdict::Kept { reasons });
    let mut inside = Command::new("cat")
        .current_dir(made.root.join("sub"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(
        made.kept(),
        [KeepReason::UsedByProcess { pid: inside.id() }]
    );
    drop(inside.stdin.take());
    inside.wait().unwrap();
    assert!(matches!(made.clean(), CleanVerdict::Removed { .. }));
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_stays() {
    let made = Made::new();
    git(
        &made.repo(),
        &[
            "checkout",
            "--quiet",
            "--ignore-other-worktrees",
            &made.record.branch,
        ],
    );
    assert!(matches!(made.clean(), CleanVerdict::Removed { .. }));
    assert!(made.has_branch() && !made.root.exists());
}

/// Each point at which a process can die during a removal, and a clean-up that follows.
#[test]
fn an_interrupted_removal_is_finished_by_the_next_clean_up() {
    type Interrupt = fn(&Made);
    let interruptions: [(&str, Interrupt); 5] = [
        ("after the rescue ref", |m| rescue(m)),
        ("after the record", |m| {
            rescue(m);
            set_removing(m);
        }),
        ("after the directory", |m| {
            rescue(m);
            set_removing(m);
            fs::remove_dir_all(&m.root).unwrap();
        }),
        ("after the worktree", |m| {
            rescue(m);
            set_removing(m);
            git(&m.repo(), &["worktree", "remove", &m.record.path]);
        }),
        ("after the branch", |m| {
            rescue(m);
            set_removing(m);
            git(&m.repo(), &["worktree", "remove", &m.record.path]);
            git(&m.repo(), &["branch", "-D", &m.record.branch]);
        }),
    ];
    for (name, interrupt) in interruptions {
        let made = Made::new();
        interrupt(&made);
        let verdict = made.clean();
        assert!(
            matches!(verdict, CleanVerdict::Removed { .. }),
            "{name}: {verdict:?}"
        );
        assert!(
            !made.root.exists() && !made.has_branch() && !made.admin().exists(),
            "{name}"
        );
        assert_eq!(
            made.world.worktrees().records().unwrap().records,
            [],
            "{name}"
        );
    }
}

/// A removal that died in the middle, and work that came afterwards.
#[test]
fn work_that_came_after_an_interrupted_removal_is_kept() {
    for is_recorded in [false, true] {
        for (name, make, reason) in states() {
            let made = Made::new();
            rescue(&made);
            if is_recorded {
                set_removing(&made);
            }
            make(&made);
            let before = contents(&made.root);
            let reasons = made.kept();
            assert!(reasons.contains(&reason), "{name}: {reasons:?}");
            assert_eq!(contents(&made.root), before, "{name}");
        }
    }
}

#[test]
fn a_deleted_directory_keeps_the_commits_of_its_branch() {
    let made = Made::new();
    commit(&made.root, "work");
    let tip = git(&made.root, &["rev-parse", "HEAD"]);
    fs::remove_dir_all(&made.root).unwrap();
    assert_eq!(made.kept(), [KeepReason::OwnCommits { tip: tip.clone() }]);
    git(&made.repo(), &["tag", "keep", &tip]);
    assert!(matches!(made.clean(), CleanVerdict::Removed { .. }));
    assert!(!made.has_branch() && !made.admin().exists());
}

pub(super) fn rescue(made: &Made) {
    let rescue = format!("refs/holon/rescue/{}", made.record.name);
    git(&made.repo(), &["update-ref", &rescue, &made.record.branch]);
}

pub(super) fn set_removing(made: &Made) {
    let file = made.root.with_extension("json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"ready\"", "\"removing\"")).unwrap();
}

#[test]
fn commits_that_a_reset_or_an_amend_left_behind_are_kept_by_refs() {
    let made = Made::new();
    let inside = |args: &[&str]| git(&made.root, args);
    fs::write(made.root.join("a.txt"), "lost\n").unwrap();
    commit(&made.root, "first try");
    commit(&made.root, "second try");
    let reset = inside(&["rev-parse", "HEAD"]);
    inside(&["reset", "--quiet", "--hard", &made.record.base_commit]);
    commit(&made.root, "draft");
    let amended = inside(&["rev-parse", "HEAD"]);
    inside(&[
        "commit",
        "--quiet",
        "--amend",
        "--allow-empty",
        "-m",
        "done",
    ]);
    git(&made.repo(), &["merge", "--quiet", &made.record.branch]);

    let cleaned = made.clean();
    let is_removed = matches!(cleaned, CleanVerdict::Removed { .. });
    assert!(is_removed, "{cleaned:?}");
    let format = "--format=%(objectname)";
    let kept = git(
        &made.repo(),
        &["for-each-ref", format, "refs/holon/abandoned"],
    );
    let mut kept: Vec<&str> = kept.lines().collect();
    kept.sort_unstable();
    let mut expected = [reset.as_str(), amended.as_str()];
    expected.sort_unstable();
    assert_eq!(
        kept, expected,
        "the ends of both lines, and no commit between"
    );
    git(&made.repo(), &["gc", "--quiet", "--prune=now"]);
    let text = git(&made.repo(), &["show", &format!("{reset}:a.txt")]);
    assert_eq!(text, "lost");
}

/// The record as an interrupted removal leaves it.
fn removing(made: &Made) -> WorktreeRecord {
    WorktreeRecord {
        stage: WorktreeStage::Removing,
        ..made.record.clone()
    }
}

#[test]
fn a_removal_that_was_killed_while_git_deleted_files_goes_on() {
    for with_pointer in [true, false] {
        let made = Made::new();
        fs::remove_file(made.root.join("a.txt")).unwrap();
        if !with_pointer {
            fs::remove_file(made.root.join(".git")).unwrap();
        }
        let record = removing(&made);
        let cleaned = made.world.worktrees().clean(&record, &[], false);
        let is_removed = matches!(cleaned, CleanVerdict::Removed { .. });
        assert!(is_removed, "pointer {with_pointer}: {cleaned:?}");
        assert!(!made.root.exists() && !made.has_branch());
    }
    // A file that came since is kept with everything else.
    let made = Made::new();
    fs::remove_file(made.root.join("a.txt")).unwrap();
    fs::write(made.root.join("mine.txt"), "mine\n").unwrap();
    let kept = made.world.worktrees().clean(&removing(&made), &[], false);
    let reasons = vec![KeepReason::UntrackedFiles { files: 1 }];
    assert_eq!(kept, CleanVerdict::Kept { reasons });
    // A worktree that was not being removed lost a file by its user.
    fs::remove_file(made.root.join("mine.txt")).unwrap();
    assert_eq!(made.kept(), [KeepReason::TrackedChanges { files: 1 }]);
}

#[test]
fn the_changed_files_of_a_worktree_are_those_that_differ_from_its_first_commit() {
    let made = Made::new();
    let list = || made.world.worktrees().changed_files(&made.record).unwrap();
    assert_eq!(list(), Vec::<String>::new());
    fs::write(made.root.join("committed.txt"), "one").unwrap();
    git(&made.root, &["add", "committed.txt"]);
    commit(&made.root, "a change of its own");
    fs::write(made.root.join("new file.txt"), "two").unwrap();
    assert_eq!(list(), ["committed.txt", "new file.txt"]);
    fs::remove_dir_all(&made.root).unwrap();
    assert!(made.world.worktrees().changed_files(&made.record).is_err());
}
