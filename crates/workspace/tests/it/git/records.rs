//! Records of managed worktrees that cannot be read: an error, and nothing of the worktree is touched.

use super::cleaning::{Made, contents, write};
use super::fixture::git;
use crate::hostile_reads::{make_pipe, within};
use holon_domain::workspace::{UseMode, WorkspaceErrorKind};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

type Damage = (&'static str, fn(&Path));

fn damages() -> Vec<Damage> {
    fn rewrite(file: &Path, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, change(text)).unwrap();
    }
    vec![
        ("empty", |file| fs::write(file, "").unwrap()),
        ("cut", |file| {
            rewrite(file, |text| text.chars().take(40).collect());
        }),
        ("of a later build", |file| {
            rewrite(file, |text| text.replace("\"ready\"", "\"frozen\""));
        }),
        ("of another directory", |file| {
            rewrite(file, |text| text.replace("/ws-", "/ws-0"));
        }),
        ("too large", |file| {
            rewrite(file, |text| format!("{text}{}", " ".repeat(70_000)));
        }),
        ("a link", |file| {
            let away = file.with_extension("away");
            fs::rename(file, &away).unwrap();
            symlink(&away, file).unwrap();
        }),
        ("a directory", |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        }),
        ("a pipe", |file| {
            fs::remove_file(file).unwrap();
            make_pipe(file);
        }),
    ]
}

#[test]
fn an_unreadable_record_never_starts_its_worktree_afresh() {
    for (name, damage) in damages() {
        let made = Made::new();
        write(&made.root, "a.txt", "work\n");
        write(&made.root, "new.txt", "work\n");
        let before = contents(&made.root);
        let branch = git(&made.repo(), &["rev-parse", &made.record.branch]);
        damage(&made.root.with_extension("json"));
        let again = made.world.by_path(&made.repo(), UseMode::Isolated);
        let selection = made.world.selection();
        let refused = within(move || selection.select(&again)).unwrap_err();
        assert_eq!(
            refused.kind,
            WorkspaceErrorKind::UnverifiedRepository,
            "{name}: {refused}"
        );
        let direct = made.world.by_path(&made.root, UseMode::Direct);
        let selection = made.world.selection();
        within(move || selection.select(&direct)).unwrap_err();
        assert_eq!(contents(&made.root), before, "{name}");
        let now = git(&made.repo(), &["rev-parse", &made.record.branch]);
        assert_eq!(now, branch, "{name}");
    }
}

#[test]
fn an_unreadable_record_is_reported_and_the_others_are_listed() {
    for (name, damage) in damages() {
        let made = Made::new();
        let mut order = made.world.by_path(&made.repo(), UseMode::Isolated);
        order.request_key = "call_2".to_owned();
        let other = made.world.selection().select(&order).unwrap();
        let file = made.root.with_extension("json");
        damage(&file);
        let worktrees = made.world.worktrees();
        let listing = within(move || worktrees.records()).unwrap();
        let [record] = listing.records.as_slice() else {
            panic!("{name}: {listing:?}");
        };
        assert_eq!(record.path, other.entry.execution_root, "{name}");
        let [unreadable] = listing.unreadable.as_slice() else {
            panic!("{name}: {listing:?}");
        };
        assert_eq!(unreadable.path, file.display().to_string(), "{name}");
        assert!(unreadable.detail.contains("cannot be read"), "{name}");
    }
}
