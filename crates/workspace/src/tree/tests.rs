//! Changes that are interrupted, refused or disturbed at every single step.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod crash;
mod disturb;
mod fault;
mod second;

use super::disk::{Disk, Hook, NoHook};
use super::replace::replace;
use super::settle::settle_with;
use super::{FileChange, NewContent, SettleOutcome, Tree, TreeError};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Type, permissions and content of every entry below a directory.
type Snapshot = BTreeMap<String, (u32, Vec<u8>)>;

fn snapshot(dir: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(here) = todo.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let bytes = if found.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if found.is_dir() {
                todo.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
            all.insert(name, (found.mode(), bytes));
        }
    }
    all
}

/// A directory in memory if possible, because these tests make thousands of synced writes.
fn fast_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// A root with files and links, and a canary of the same shape beside it.
struct Sandbox {
    _dir: TempDir,
    root: PathBuf,
    canary: PathBuf,
    journal: PathBuf,
}

impl Sandbox {
    fn new() -> Self {
        let dir = fast_dir();
        let base = dir.path().canonicalize().unwrap();
        for top in ["root", "canary"] {
            fs::create_dir_all(base.join(top).join("src")).unwrap();
            for (name, content, mode) in FILES {
                let path = base.join(top).join(name);
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        symlink("src", base.join("root/inside")).unwrap();
        symlink("../canary/src", base.join("root/evil")).unwrap();
        fs::create_dir(base.join("journals")).unwrap();
        Self {
            root: base.join("root"),
            canary: base.join("canary"),
            journal: base.join("journals/call"),
            _dir: dir,
        }
    }

    fn replace(&self, hook: &dyn Hook) -> Result<(), TreeError> {
        let tree = Tree::open(&self.root)?;
        replace(Disk::new(hook), &tree, &changes(), &self.journal)
    }

    fn settle(&self, hook: &dyn Hook) -> Result<SettleOutcome, TreeError> {
        settle_with(Disk::new(hook), &self.journal)
    }

    fn state(&self) -> Snapshot {
        snapshot(&self.root)
    }
}

const FILES: [(&str, &str, u32); 4] = [
    ("src/a.txt", "old a\n", 0o755),
    ("src/b.txt", "old b\n", 0o640),
    ("gone.txt", "old gone\n", 0o600),
    ("bystander.txt", "untouched\n", 0o644),
];

/// A call with a change of every kind; one content takes several writes, one path goes through a link.
fn changes() -> Vec<FileChange> {
    let change =
        |path: &str, before: Option<&str>, after: Option<(Vec<u8>, Option<u32>)>| FileChange {
            path: path.to_owned(),
            before: before.map(|text| text.as_bytes().to_vec()),
            after: after.map(|(content, mode)| NewContent { content, mode }),
        };
    vec![
        change("src/a.txt", Some("old a\n"), Some((vec![b'a'; 200], None))),
        change("gone.txt", Some("old gone\n"), None),
        change(
            "new/deep/c.txt",
            None,
            Some((b"new c\n".to_vec(), Some(0o644))),
        ),
        change(
            "inside/b.txt",
            Some("old b\n"),
            Some((b"new b\n".to_vec(), None)),
        ),
        change(
            "src/moved.txt",
            None,
            Some((b"old gone\n".to_vec(), Some(0o600))),
        ),
    ]
}

/// The sandbox's root before and after the call, and the number of steps of the call.
fn reference() -> (Snapshot, Snapshot, usize) {
    let sandbox = Sandbox::new();
    let before = sandbox.state();
    let count = AtStep::new(usize::MAX, StepAction::Crash);
    sandbox.replace(&count).unwrap();
    assert_eq!(sandbox.settle(&NoHook).unwrap(), SettleOutcome::Done);
    (before, sandbox.state(), count.passed())
}

/// Returns the number of the call's first step of a kind.
fn first(kind: &str) -> usize {
    let log = AtStep::new(usize::MAX, StepAction::Crash);
    Sandbox::new().replace(&log).unwrap();
    let steps = log.log.borrow();
    steps.iter().position(|step| *step == kind).unwrap()
}

/// Disturbance at a step.
enum StepAction<'a> {
    /// The process ends here.
    Crash,
    Fail(Errno),
    /// This step and every later one that needs disk space fail.
    FullFromHere,
    /// Every step from here on fails.
    FailFromHere(Errno),
    /// Runs a function, then the step happens.
    Run(&'a dyn Fn()),
}

/// Disturbs the n-th step, and optionally a later one.
struct AtStep<'a> {
    events: Vec<(usize, StepAction<'a>)>,
    log: RefCell<Vec<&'static str>>,
}

impl<'a> AtStep<'a> {
    fn new(at: usize, action: StepAction<'a>) -> Self {
        let log = RefCell::default();
        Self {
            events: vec![(at, action)],
            log,
        }
    }

    fn and(mut self, at: usize, action: StepAction<'a>) -> Self {
        self.events.push((at, action));
        self
    }

    fn passed(&self) -> usize {
        self.log.borrow().len()
    }
}

impl Hook for AtStep<'_> {
    fn pass(&self, step: &'static str) -> Result<(), Errno> {
        let now = self.passed();
        self.log.borrow_mut().push(step);
        for (at, action) in &self.events {
            let needs_space = ["create", "write", "make directory"].contains(&step);
            match action {
                StepAction::Crash if now == *at => resume_unwind(Box::new("crash")),
                StepAction::Fail(errno) if now == *at => return Err(*errno),
                StepAction::FullFromHere if now >= *at && needs_space => return Err(Errno::NOSPC),
                StepAction::FailFromHere(errno) if now >= *at => return Err(*errno),
                StepAction::Run(run) if now == *at => run(),
                StepAction::Crash
                | StepAction::Fail(_)
                | StepAction::FullFromHere
                | StepAction::FailFromHere(_)
                | StepAction::Run(_) => {}
            }
        }
        Ok(())
    }
}

/// Runs a function that may crash; returns true if it did.
fn crashes<T>(run: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(run)).is_err()
}
