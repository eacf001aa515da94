//! A call over two roots that is interrupted or fails at every single step.

use super::*;

/// A root and a second one beside it.
struct TwoRoots {
    _dir: TempDir,
    base: PathBuf,
    journal: PathBuf,
}

impl TwoRoots {
    fn new() -> Self {
        let dir = fast_dir();
        let base = dir.path().canonicalize().unwrap();
        for (name, content) in [("root/a.txt", "old a\n"), ("home/notes/b.txt", "old b\n")] {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir(base.join("journals")).unwrap();
        Self {
            journal: base.join("journals/call"),
            _dir: dir,
            base,
        }
    }

    fn home(&self, path: &str) -> String {
        self.base.join("home").join(path).display().to_string()
    }

    fn tree(&self) -> Tree {
        let open = |name: &str| Tree::open(&self.base.join(name)).unwrap();
        open("root").beside(open("home"), &self.home(""))
    }

    /// A change of every kind, over both roots.
    fn changes(&self) -> Vec<FileChange> {
        let change = |path: String, before: Option<&str>, after: Option<&str>| FileChange {
            path,
            before: before.map(|text| text.as_bytes().to_vec()),
            after: after.map(|text| NewContent {
                content: text.as_bytes().to_vec(),
                mode: None,
            }),
        };
        vec![
            change(self.home("memory/deep/new.txt"), None, Some("new\n")),
            change("a.txt".to_owned(), Some("old a\n"), Some("new a\n")),
            change(self.home("notes/b.txt"), Some("old b\n"), None),
            change("from/home.txt".to_owned(), None, Some("old b\n")),
        ]
    }

    fn replace(&self, hook: &dyn Hook) -> Result<(), TreeError> {
        replace(
            Disk::new(hook),
            &self.tree(),
            &self.changes(),
            &self.journal,
        )
    }

    fn state(&self) -> Snapshot {
        let mut state = snapshot(&self.base);
        state.retain(|path, _| !path.starts_with("journals"));
        state
    }
}

fn reference() -> (Snapshot, Snapshot, usize) {
    let roots = TwoRoots::new();
    let before = roots.state();
    let count = AtStep::new(usize::MAX, StepAction::Crash);
    roots.replace(&count).unwrap();
    (before, roots.state(), count.passed())
}

#[test]
fn a_call_over_two_roots_changes_both() {
    let (before, after, steps) = reference();
    assert!(steps > 20, "{steps}");
    assert!(before.contains_key("home/notes/b.txt") && !after.contains_key("home/notes/b.txt"));
    let content = |name: &str| after.get(name).map(|(_, content)| content.as_slice());
    assert_eq!(content("home/memory/deep/new.txt"), Some(&b"new\n"[..]));
    assert_eq!(content("root/a.txt"), Some(&b"new a\n"[..]));
    assert_eq!(content("root/from/home.txt"), Some(&b"old b\n"[..]));
}

#[test]
fn a_crash_at_any_step_leaves_both_roots_changed_or_neither() {
    let (before, after, steps) = reference();
    let mut done = 0;
    for at in 0..steps {
        let roots = TwoRoots::new();
        assert!(crashes(
            || roots.replace(&AtStep::new(at, StepAction::Crash))
        ));
        let expected = match settle_with(Disk::new(&NoHook), &roots.journal).unwrap() {
            SettleOutcome::Done => &after,
            SettleOutcome::Undone { left } => {
                assert_eq!(left, [], "step {at}");
                &before
            }
            SettleOutcome::Nothing => &before,
        };
        done += usize::from(expected == &after);
        let state = roots.state();
        let names = |state: &Snapshot| state.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&state), names(expected), "step {at}");
        assert!(state == *expected, "step {at}");
    }
    assert!(0 < done && done < steps, "{done} of {steps}");
}

#[test]
fn a_failure_at_any_step_leaves_both_roots_alone() {
    let (before, after, steps) = reference();
    for at in 0..steps {
        let roots = TwoRoots::new();
        let failed = roots.replace(&AtStep::new(at, StepAction::Fail(Errno::IO)));
        let expected = if failed.is_ok() { &after } else { &before };
        let mut state = roots.state();
        if failed.is_ok() {
            // A former content that could not be removed goes when the call is settled.
            settle_with(Disk::new(&NoHook), &roots.journal).unwrap();
            state = roots.state();
        }
        assert!(state == *expected, "step {at}: {failed:?}");
    }
}

#[test]
fn a_file_that_both_roots_contain_is_named_once_in_a_call() {
    let roots = TwoRoots::new();
    let open = |path: &Path| Tree::open(path).unwrap();
    let tree = open(&roots.base).beside(open(&roots.base.join("home")), &roots.home(""));
    let change = |path: String| FileChange {
        path,
        before: Some(b"old b\n".to_vec()),
        after: None,
    };
    let twice = [
        change("home/notes/b.txt".to_owned()),
        change(roots.home("notes/b.txt")),
    ];
    let refused = tree.replace(&twice, &roots.journal).unwrap_err();
    assert!(refused.to_string().contains("named twice"), "{refused}");
}

#[test]
fn a_second_root_that_was_replaced_is_not_settled() {
    let roots = TwoRoots::new();
    let (_, _, steps) = reference();
    assert!(crashes(
        || roots.replace(&AtStep::new(steps / 2, StepAction::Crash))
    ));
    fs::rename(roots.base.join("home"), roots.base.join("moved")).unwrap();
    symlink("moved", roots.base.join("home")).unwrap();
    let refused = settle_with(Disk::new(&NoHook), &roots.journal).unwrap_err();
    assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
}

#[test]
fn an_absolute_path_outside_the_second_root_leads_out() {
    let roots = TwoRoots::new();
    let tree = roots.tree();
    let outside = roots.base.join("root/a.txt").display().to_string();
    for path in [
        outside.clone(),
        roots.home("../root/a.txt"),
        format!("{}ly/x", roots.home("").trim_end_matches('/')),
        roots.home(".holon/state"),
        roots.home("notes/.git/x"),
        roots.home(""),
    ] {
        let found = tree.read(&path, 100);
        assert!(
            matches!(
                found,
                Err(TreeError::Escape { .. } | TreeError::Refused { .. })
            ),
            "{path}: {found:?}"
        );
    }
    let alone = Tree::open(&roots.base.join("root")).unwrap();
    assert!(matches!(
        alone.read(&outside, 100),
        Err(TreeError::Escape { .. })
    ));
}
