//! The same as git: diffs that git writes, and diffs that `git apply` applies.
#![allow(
    clippy::disallowed_methods,
    reason = "git is the other side of the comparison and works on files"
)]

use crate::diffs::unified;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use holon_patch::{Applied, Change, Patch};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

type Tree = BTreeMap<String, String>;

/// Runs git in `dir`, away from any settings of the user; none if it refused.
fn git(dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let run = Command::new("git")
        .args(["-c", "core.autocrlf=false", "-c", "core.safecrlf=false"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env(
            "GIT_CEILING_DIRECTORIES",
            dir.parent().expect("not the root"),
        )
        .output();
    let output = run.expect("git must be installed: these tests compare with it");
    output.status.success().then_some(output.stdout)
}

fn run(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

/// Allows or forbids repeated lines in a generated text.
#[derive(Debug, Clone, Copy)]
enum Copies {
    Some,
    None,
}

/// Texts with any line ends, maybe without the last.
fn content(copies: Copies) -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => "[a-z]{1,6}( [a-z]{1,6}){0,2}",
        1 => prop::sample::select(vec!["", "}", "-- x", "++ x", "\tx", " ", "ä", "@@ -1 +1 @@", "\\ x"]).prop_map(str::to_owned),
    ];
    let lines = prop::collection::vec(
        (line, prop_oneof![4 => Just("\n"), 1 => Just("\r\n")]),
        1..30,
    );
    (lines, any::<bool>()).prop_map(move |(lines, last_end)| {
        let numbered = lines
            .iter()
            .enumerate()
            .map(|(n, (line, end))| match copies {
                Copies::Some => format!("{line}{end}"),
                Copies::None => format!("{line}{n}{end}"),
            });
        let mut text: String = numbered.collect();
        if !last_end {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    })
}

/// A text and an edited one.
fn edited(copies: Copies) -> impl Strategy<Value = (String, String)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, "[a-z]{1,8}"), 0..5);
    (content(copies), edits, any::<bool>()).prop_map(|(old, edits, keep_end)| {
        let mut lines: Vec<String> = old.split_inclusive('\n').map(str::to_owned).collect();
        for (at, edit, word) in edits {
            let at = at.index(lines.len() + 1);
            match edit {
                0 => lines.insert(at, format!("{word}\n")),
                1 if at < lines.len() => lines[at] = format!("{word}\n"),
                _ if at < lines.len() => drop(lines.remove(at)),
                _ => lines.push(format!("{word}\n")),
            }
        }
        // An edit after a last line without its end would glue two lines together.
        let last = lines.len().saturating_sub(1);
        for line in &mut lines[..last] {
            if !line.ends_with('\n') {
                line.push('\n');
            }
        }
        let mut new = lines.concat();
        if !keep_end && new.ends_with('\n') {
            new.pop();
        }
        (old, new)
    })
}

/// The change that a generated commit makes to one file.
#[derive(Debug, Clone)]
enum Fate {
    Changed(String, String),
    Added(String),
    Deleted(String),
    Moved(String, String),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => edited(Copies::Some).prop_map(|(old, new)| Fate::Changed(old, new)),
        1 => prop_oneof![content(Copies::Some), Just(String::new())].prop_map(Fate::Added),
        1 => prop_oneof![content(Copies::Some), Just(String::new())].prop_map(Fate::Deleted),
        2 => edited(Copies::Some).prop_map(|(old, new)| Fate::Moved(old, new)),
    ]
}

/// Trees before and after; names need quotes and spaces now and then.
fn trees(fates: Vec<Fate>) -> (Tree, Tree) {
    const NAMES: [&str; 6] = ["f.txt", "dir/two words", "ä.txt", "b/b", "q\"uote", "a/x"];
    let (mut before, mut after) = (Tree::new(), Tree::new());
    for (name, fate) in NAMES.iter().zip(fates) {
        let name = (*name).to_owned();
        match fate {
            Fate::Changed(old, new) => {
                before.insert(name.clone(), old);
                after.insert(name, new);
            }
            Fate::Added(new) => drop(after.insert(name, new)),
            Fate::Deleted(old) => drop(before.insert(name, old)),
            Fate::Moved(old, new) => {
                after.insert(format!("moved/{name}"), new);
                before.insert(name, old);
            }
        }
    }
    (before, after)
}

/// Makes `dir` hold exactly this tree and stores it in git; returns git's name for it.
fn store(dir: &Path, tree: &Tree) -> String {
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let entry = entry.expect("an entry");
        if entry.file_name() != ".git" {
            if entry.path().is_dir() {
                std::fs::remove_dir_all(entry.path()).expect("removed");
            } else {
                std::fs::remove_file(entry.path()).expect("removed");
            }
        }
    }
    for (path, content) in tree {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
        std::fs::write(path, content).expect("written");
    }
    git(dir, &["add", "-A", "-f"]).expect("git add");
    let name = git(dir, &["write-tree"]).expect("git write-tree");
    String::from_utf8(name).expect("text").trim().to_owned()
}

/// The tree after a patch, by our engine.
fn patched(patch: &Patch, before: &Tree) -> Result<Tree, holon_patch::Error> {
    let mut after = before.clone();
    for file in &patch.files {
        let old = before.get(file.change.source());
        match file.apply(old.map(String::as_bytes))? {
            Applied::Write { content, .. } => {
                if let Change::Rename { from, .. } = &file.change {
                    after.remove(from);
                }
                let content = String::from_utf8(content).expect("text");
                after.insert(file.change.target().to_owned(), content);
            }
            Applied::Delete { .. } => drop(after.remove(file.change.target())),
        }
    }
    Ok(after)
}

#[test]
fn what_git_writes_is_read_as_git_means_it() {
    let dir = TempDir::new().expect("a directory");
    git(dir.path(), &["init", "-q"]).expect("git init");
    let strategy = (prop::collection::vec(fate(), 1..6), 0..4_u8, any::<bool>());
    let outcome = run(60).run(&strategy, |(fates, context, quoted)| {
        let (before, after) = trees(fates);
        let (old, new) = (store(dir.path(), &before), store(dir.path(), &after));
        prop_assume!(old != new);
        // Without a line of context nothing shows whether an added line end is meant as it stands.
        let mixed = before
            .values()
            .chain(after.values())
            .any(|text| text.contains('\r'));
        let context = format!("-U{}", context.max(u8::from(mixed)));
        let quoting = format!("core.quotePath={quoted}");
        let diff = git(
            dir.path(),
            &["-c", &quoting, "diff", "-M", "--text", &context, &old, &new],
        )
        .expect("git diff");
        let diff = String::from_utf8(diff).expect("text");
        let patch =
            Patch::parse(&diff).map_err(|error| TestCaseError::fail(format!("{error}\n{diff}")))?;
        let ours = patched(&patch, &before)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{diff}")))?;
        prop_assert_eq!(ours, after, "{}", diff);
        Ok(())
    });
    outcome.expect("the same as git");
}

#[test]
fn what_git_applies_is_applied_the_same() {
    let dir = TempDir::new().expect("a directory");
    let file = dir.path().join("f");
    let strategy = (
        edited(Copies::None),
        1_usize..4,
        prop::collection::vec("[A-Z]{3,9}", 0..6),
    );
    let outcome = run(120).run(&strategy, |((old, new), context, before)| {
        let diff = unified(&old, &new, context);
        // The diff's maker takes a lone carriage return for a line end, which makes its diff no well-formed one.
        prop_assume!(!diff.is_empty() && !new.ends_with('\r'));
        // The file has moved on since the diff was made: lines came in before it. Every line is another, since git
        // takes the nearest of several places, where we ask.
        let shift: String = before.iter().map(|line| format!("{line}\n")).collect();
        let target = format!("{shift}{old}");
        std::fs::write(&file, &target).expect("written");
        std::fs::write(dir.path().join("p"), &diff).expect("written");
        let theirs = git(dir.path(), &["apply", "--whitespace=nowarn", "p"])
            .map(|_| std::fs::read(&file).expect("read"));
        let patch =
            Patch::parse(&diff).map_err(|error| TestCaseError::fail(format!("{error}\n{diff}")))?;
        match (patch.files[0].apply(Some(target.as_bytes())), theirs) {
            (Ok(Applied::Write { content, .. }), Some(theirs)) => {
                prop_assert_eq!(content, theirs, "{}", diff)
            }
            // Git insists on the beginning or end of the file where a hunk has less context; we ask for one place.
            (Ok(Applied::Write { content, .. }), None) => {
                prop_assert!(!shift.is_empty(), "{diff}");
                prop_assert_eq!(content, format!("{shift}{new}").into_bytes(), "{}", diff);
            }
            (Ok(Applied::Delete { .. }), _) => prop_assert!(false, "nothing is to be deleted"),
            (Err(error), _) => prop_assert!(!shift.is_empty(), "{error}\n{diff}"),
        }
        Ok(())
    });
    outcome.expect("the same as git");
}
