//! Another program works in the tree while a call runs.

use super::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::sync::atomic::{AtomicBool, Ordering};

/// Swaps a directory of the root with a link that leads out to files of the same names and contents.
fn swap(root: &Path) {
    let (src, evil) = (root.join("src"), root.join("evil"));
    renameat_with(CWD, &src, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn a_directory_swapped_for_a_link_at_any_step_leads_nobody_out() {
    let (old, new, steps) = reference();
    for step in 0..steps {
        let sandbox = Sandbox::new();
        let canary = snapshot(&sandbox.canary);
        let swapping = || swap(&sandbox.root);
        let answer = sandbox.replace(&AtStep::new(step, StepAction::Run(&swapping)));
        assert_eq!(snapshot(&sandbox.canary), canary, "step {step}");
        swap(&sandbox.root);
        let expected = if answer.is_ok() { &new } else { &old };
        assert_eq!(&sandbox.state(), expected, "step {step}: {answer:?}");
    }
}

#[test]
fn settling_after_a_swap_leads_nobody_out_and_reports_what_it_cannot_reach() {
    let (_, _, steps) = reference();
    let mut reported = 0;
    for step in 0..steps {
        let sandbox = Sandbox::new();
        let canary = snapshot(&sandbox.canary);
        assert!(crashes(
            || sandbox.replace(&AtStep::new(step, StepAction::Crash))
        ));
        swap(&sandbox.root);
        let settled = sandbox.settle(&NoHook).unwrap();
        assert_eq!(
            snapshot(&sandbox.canary),
            canary,
            "step {step}: {settled:?}"
        );
        if let SettleOutcome::Undone { left } = &settled {
            reported += left.iter().filter(|left| left.path == "src/a.txt").count();
        }
    }
    assert!(reported > 0);
}

/// Saves like an editor: another file takes the name.
fn edit(sandbox: &Sandbox, path: &str) {
    let fresh = sandbox.root.join("fresh");
    fs::write(&fresh, "edited\n").unwrap();
    fs::rename(&fresh, sandbox.root.join(path)).unwrap();
}

/// Asserts that the edit is there, that the rest is as the answer says, and that content that could not be restored is
/// kept.
fn check_edited(sandbox: &Sandbox, path: &str, answer: &Result<(), TreeError>, when: &str) {
    let (old, new, _) = reference();
    let edited = fs::read(sandbox.root.join(path)).unwrap();
    assert_eq!(edited, b"edited\n", "{when}");
    let mut state = sandbox.state();
    if let Err(TreeError::Unsettled { left, .. }) = answer {
        assert!(left.iter().all(|left| left.path == path), "{when}");
        for kept in left.iter().filter_map(|left| left.kept.as_ref()) {
            assert_eq!(state.remove(kept).expect(when), old[path], "{when}");
        }
    }
    let mut expected = if answer.is_ok() { new } else { old };
    expected.remove(path);
    state.remove(path);
    assert_eq!(state, expected, "{when}");
}

#[test]
fn a_file_changed_at_any_step_keeps_the_change_and_the_rest_is_whole() {
    for step in 0..reference().2 {
        for path in ["src/a.txt", "src/b.txt", "src/moved.txt"] {
            let sandbox = Sandbox::new();
            let edit = || edit(&sandbox, path);
            let answer = sandbox.replace(&AtStep::new(step, StepAction::Run(&edit)));
            let when = format!("{path} at step {step}: {answer:?}");
            check_edited(&sandbox, path, &answer, &when);
        }
    }
}

#[test]
fn a_file_changed_while_a_call_is_taken_back_keeps_the_change() {
    let steps = reference().2;
    for path in ["src/a.txt", "src/b.txt", "src/moved.txt"] {
        for step in first("exchange")..steps {
            for later in step + 1.. {
                let sandbox = Sandbox::new();
                let edit = || edit(&sandbox, path);
                let hook = AtStep::new(step, StepAction::Fail(Errno::IO))
                    .and(later, StepAction::Run(&edit));
                let answer = sandbox.replace(&hook);
                if hook.passed() <= later {
                    break;
                }
                let when = format!("{path} at {step}, then {later}: {answer:?}");
                check_edited(&sandbox, path, &answer, &when);
            }
        }
    }
}

#[test]
fn a_link_put_in_place_of_a_file_at_any_step_is_not_written_through() {
    let (_, _, steps) = reference();
    for step in 0..steps {
        let sandbox = Sandbox::new();
        let canary = snapshot(&sandbox.canary);
        let plant = || {
            let fresh = sandbox.root.join("fresh");
            symlink("../../canary/src/a.txt", &fresh).unwrap();
            fs::rename(&fresh, sandbox.root.join("src/a.txt")).unwrap();
        };
        let answer = sandbox.replace(&AtStep::new(step, StepAction::Run(&plant)));
        assert_eq!(snapshot(&sandbox.canary), canary, "step {step}");
        let link = fs::symlink_metadata(sandbox.root.join("src/a.txt")).unwrap();
        assert!(link.is_symlink(), "step {step}: {answer:?}");
    }
}

#[test]
fn thousands_of_changes_against_a_swapping_thread_never_lead_out() {
    let sandbox = Sandbox::new();
    let canary = snapshot(&sandbox.canary);
    let tree = Tree::open(&sandbox.root).unwrap();
    let stop = AtomicBool::new(false);
    let (mut changed, mut refused) = (0_u32, 0_u32);
    let mut now = b"old a\n".to_vec();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap(&sandbox.root);
            }
        });
        // Both outcomes must have occurred, or there was no race.
        while changed + refused < 5_000 || (changed == 0 || refused == 0) {
            let next = format!("content {changed} {refused}\n").into_bytes();
            let change = FileChange {
                path: "src/a.txt".to_owned(),
                before: Some(now.clone()),
                after: Some(NewContent {
                    content: next.clone(),
                    mode: None,
                }),
            };
            match tree.replace(&[change], &sandbox.journal) {
                Ok(()) => {
                    now = next;
                    changed += 1;
                }
                Err(TreeError::Escape { .. } | TreeError::NotADirectory { .. }) => refused += 1,
                Err(other) => {
                    stop.store(true, Ordering::Relaxed);
                    panic!("{other}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(snapshot(&sandbox.canary), canary);
    if !fs::symlink_metadata(sandbox.root.join("src"))
        .unwrap()
        .is_dir()
    {
        swap(&sandbox.root);
    }
    assert_eq!(fs::read(sandbox.root.join("src/a.txt")).unwrap(), now);
    assert_eq!(fs::read_dir(sandbox.root.join("src")).unwrap().count(), 2);
}
