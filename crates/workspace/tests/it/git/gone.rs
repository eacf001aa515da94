//! Worktrees whose directory is gone: what git alone still holds of a user's work is kept and reported.

use super::cleaning::{Made, rescue, set_removing, write};
use super::fixture::{commit, git};
use holon_domain::workspace::{CleanVerdict, KeepReason};
use std::fs;

/// Work that stands in the administrative directory alone once the directory is gone.
type State = (&'static str, fn(&Made), fn(&KeepReason) -> bool);

fn states() -> Vec<State> {
    vec![
        (
            "lock",
            |m| drop(git(&m.repo(), &["worktree", "lock", &m.record.path])),
            |reason| *reason == KeepReason::Locked,
        ),
        (
            "rebase that stopped at a conflict",
            |m| {
                write(&m.root, "a.txt", "mine\n");
                commit(&m.root, "mine");
                write(&m.repo(), "a.txt", "theirs\n");
                commit(&m.repo(), "theirs");
                let rebased = super::fixture::plain_git(&m.root, &["rebase", "main"]);
                assert!(!rebased.status.success(), "there is a conflict");
            },
            |reason| matches!(reason, KeepReason::OperationUnderWay { .. }),
        ),
        (
            "bisection",
            |m| drop(git(&m.root, &["bisect", "start"])),
            |reason| matches!(reason, KeepReason::OperationUnderWay { .. }),
        ),
        (
            "commits on a detached head",
            |m| {
                git(&m.root, &["checkout", "--quiet", "--detach"]);
                write(&m.root, "new.txt", "work\n");
                commit(&m.root, "work");
            },
            |reason| matches!(reason, KeepReason::Mismatch { .. }),
        ),
        (
            "another branch",
            |m| drop(git(&m.root, &["checkout", "--quiet", "-b", "mine"])),
            |reason| matches!(reason, KeepReason::Mismatch { .. }),
        ),
        (
            "staged files",
            |m| {
                write(&m.root, "new.txt", "work\n");
                write(&m.root, "a.txt", "work\n");
                git(&m.root, &["add", "--all"]);
            },
            |reason| *reason == KeepReason::TrackedChanges { files: 2 },
        ),
    ]
}

/// Reads the files of the administrative directory, which alone hold the work.
fn remains(made: &Made) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    super::cleaning::contents(&made.admin())
}

#[test]
fn what_git_still_holds_of_a_directory_that_is_gone_is_kept_at_every_point_of_a_removal() {
    type Interrupt = fn(&Made);
    let points: [(&str, Interrupt); 3] = [
        ("no removal", |_| {}),
        ("after the rescue ref", rescue),
        ("after the record", |made| {
            rescue(made);
            set_removing(made);
        }),
    ];
    for (point, interrupt) in points {
        for (name, make, is_expected) in states() {
            let made = Made::new();
            interrupt(&made);
            make(&made);
            fs::remove_dir_all(&made.root).unwrap();
            let before = remains(&made);
            let listing = made.world.worktrees().records().unwrap();
            let verdict = made
                .world
                .worktrees()
                .clean(&listing.records[0], &[], false);
            let CleanVerdict::Kept { reasons } = verdict else {
                panic!("{name}, {point}: {verdict:?}");
            };
            assert!(
                reasons.iter().any(is_expected),
                "{name}, {point}: {reasons:?}"
            );
            assert_eq!(remains(&made), before, "{name}, {point}");
            assert!(made.has_branch(), "{name}, {point}");
        }
    }
}

#[test]
fn a_worktree_that_was_moved_is_kept_and_the_report_names_its_place() {
    let made = Made::new();
    let moved = made.world.base().join("moved");
    let path = moved.display().to_string();
    git(
        &made.repo(),
        &["worktree", "move", &made.record.path, &path],
    );
    let reasons = made.kept();
    let [KeepReason::Mismatch { detail }] = reasons.as_slice() else {
        panic!("{reasons:?}");
    };
    assert!(detail.contains(&path), "{detail}");
    assert_eq!(
        made.world.worktrees().records().unwrap().records,
        [made.record]
    );
}

/// git removes the files of its administrative directory in no fixed order, and can be killed between any two.
#[test]
fn a_removal_that_git_left_half_done_is_finished() {
    for file in ["HEAD", "gitdir", "commondir", "index"] {
        let made = Made::new();
        rescue(&made);
        set_removing(&made);
        fs::remove_dir_all(&made.root).unwrap();
        fs::remove_file(made.admin().join(file)).unwrap();
        let listing = made.world.worktrees().records().unwrap();
        let verdict = made
            .world
            .worktrees()
            .clean(&listing.records[0], &[], false);
        let is_finished = matches!(verdict, CleanVerdict::Removed { .. });
        // Without the pointer to its repository git cannot be asked what was checked out, so the rest stays.
        assert_eq!(is_finished, file != "commondir", "{file}: {verdict:?}");
        assert_eq!(made.admin().exists(), !is_finished, "{file}");
    }
}
