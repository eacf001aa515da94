//! The process ends at any step; `settle` then restores the old tree or completes the new one.

use super::*;

/// Interrupts a call at a step.
fn cut_off(step: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    assert!(
        crashes(|| sandbox.replace(&AtStep::new(step, StepAction::Crash))),
        "step {step}"
    );
    sandbox
}

fn expect(settled: &SettleOutcome, state: &Snapshot, old: &Snapshot, new: &Snapshot, when: &str) {
    let expected = match settled {
        SettleOutcome::Done => new,
        SettleOutcome::Nothing => old,
        SettleOutcome::Undone { left } => {
            assert_eq!(left, &[], "{when}");
            old
        }
    };
    assert_eq!(state, expected, "{settled:?} {when}");
}

#[test]
fn after_a_crash_at_any_step_the_tree_is_settled_whole_and_the_answer_stays() {
    let (old, new, steps) = reference();
    let mut answers = [0; 3];
    for step in 0..steps {
        let sandbox = cut_off(step);
        let canary = snapshot(&sandbox.canary);
        let settled = sandbox.settle(&NoHook).unwrap();
        expect(
            &settled,
            &sandbox.state(),
            &old,
            &new,
            &format!("at step {step}"),
        );
        assert_eq!(sandbox.settle(&NoHook).unwrap(), settled);
        assert_eq!(snapshot(&sandbox.canary), canary);
        answers[match settled {
            SettleOutcome::Nothing => 0,
            SettleOutcome::Undone { .. } => 1,
            SettleOutcome::Done => 2,
        }] += 1;
        super::super::forget(&sandbox.journal).unwrap();
        assert_eq!(sandbox.settle(&NoHook).unwrap(), SettleOutcome::Nothing);
    }
    assert!(answers.iter().all(|count| *count > 0), "{answers:?}");
}

#[test]
fn settling_may_itself_be_cut_off_at_any_step() {
    let (old, new, steps) = reference();
    for step in 0..steps {
        for within in 0.. {
            let sandbox = cut_off(step);
            if !crashes(|| sandbox.settle(&AtStep::new(within, StepAction::Crash))) {
                break;
            }
            let settled = sandbox.settle(&NoHook).unwrap();
            let when = format!("at step {step}, then {within}");
            expect(&settled, &sandbox.state(), &old, &new, &when);
        }
    }
}

#[test]
fn a_cut_off_call_is_settled_before_its_journal_is_used_again_or_forgotten() {
    let sandbox = cut_off(first("exchange"));
    for refused in [
        sandbox.replace(&NoHook).unwrap_err(),
        super::super::forget(&sandbox.journal).unwrap_err(),
    ] {
        assert!(refused.to_string().contains("settle it first"), "{refused}");
    }
    sandbox.settle(&NoHook).unwrap();
    super::super::forget(&sandbox.journal).unwrap();
}

/// Content that another program writes between the crash and the settling.
const FOREIGN: &[u8] = b"somebody else's\n";

#[test]
fn what_somebody_else_wrote_after_the_crash_is_kept_and_the_rest_is_whole() {
    let (old, new, steps) = reference();
    let mut reported = 0;
    for step in 0..steps {
        for path in [
            "src/a.txt",
            "src/b.txt",
            "gone.txt",
            "src/moved.txt",
            "new/deep/c.txt",
        ] {
            let sandbox = cut_off(step);
            let target = sandbox.root.join(path);
            if !target.parent().unwrap().exists() {
                continue;
            }
            fs::write(&target, FOREIGN).unwrap();
            let settled = sandbox.settle(&NoHook).unwrap();
            let when = format!("{path} at step {step}: {settled:?}");
            assert_eq!(fs::read(&target).unwrap(), FOREIGN, "{when}");
            reported += check_rest(&sandbox, path, &settled, &old, &new, &when);
        }
    }
    assert!(reported > 0);
}

/// Asserts that all but the foreign file is old or new as the answer says, and that leftovers are reported with their
/// content.
fn check_rest(
    sandbox: &Sandbox,
    path: &str,
    settled: &SettleOutcome,
    old: &Snapshot,
    new: &Snapshot,
    when: &str,
) -> usize {
    let mut state = sandbox.state();
    let mut expected = match settled {
        SettleOutcome::Done => new.clone(),
        SettleOutcome::Nothing | SettleOutcome::Undone { .. } => old.clone(),
    };
    let mut reported = 0;
    if let SettleOutcome::Undone { left } = settled {
        for left in left {
            let directory = sandbox.root.join(&left.path).is_dir();
            assert!(directory || left.path == path, "{when}");
            if let Some(kept) = &left.kept {
                let (_, bytes) = state.remove(kept).expect(when);
                assert_eq!(bytes, old[path].1, "{when}");
            }
            reported += 1;
        }
    }
    state.remove(path);
    expected.remove(path);
    // A directory that holds a foreign file stays.
    state.retain(|name, _| expected.contains_key(name) || !Path::new(path).starts_with(name));
    assert_eq!(state, expected, "{when}");
    reported
}

#[test]
fn a_file_taken_away_after_the_crash_is_not_brought_back_over_its_remover() {
    let (old, new, steps) = reference();
    for step in 0..steps {
        let sandbox = cut_off(step);
        fs::remove_file(sandbox.root.join("src/a.txt")).unwrap();
        let settled = sandbox.settle(&NoHook).unwrap();
        let when = format!("at step {step}: {settled:?}");
        assert!(!sandbox.root.join("src/a.txt").exists(), "{when}");
        check_rest(&sandbox, "src/a.txt", &settled, &old, &new, &when);
    }
}

#[test]
fn a_damaged_journal_decides_nothing() {
    let sandbox = cut_off(first("exchange") + 1);
    let journal = fs::read_to_string(&sandbox.journal).unwrap();
    let state = sandbox.state();
    for damaged in [
        String::new(),
        journal.chars().take(200).collect(),
        journal.replace("\"version\":1", "\"version\":2"),
        journal.replace("\"src\"", "\"..\""),
        journal.replace("\"src\"", "\".git\""),
    ] {
        fs::write(&sandbox.journal, damaged).unwrap();
        assert!(matches!(
            sandbox.settle(&NoHook),
            Err(TreeError::Journal { .. })
        ));
        assert_eq!(sandbox.state(), state);
    }
    // A torn phase line is ignored.
    fs::write(&sandbox.journal, journal + "\n{\"phase\":\"do").unwrap();
    let settled = sandbox.settle(&NoHook).unwrap();
    assert_ne!(settled, SettleOutcome::Nothing);
    assert_eq!(sandbox.settle(&NoHook).unwrap(), settled);
}
