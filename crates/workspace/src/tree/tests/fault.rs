//! Steps that fail: the call is undone, or reports that it could not be.

use super::*;

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let (old, new, steps) = reference();
    let mut refused = 0;
    for step in 0..steps {
        let sandbox = Sandbox::new();
        match sandbox.replace(&AtStep::new(step, StepAction::FullFromHere)) {
            Ok(()) => assert_eq!(sandbox.state(), new, "step {step}"),
            Err(TreeError::Full { .. }) => {
                assert_eq!(sandbox.state(), old, "step {step}");
                assert_eq!(
                    fs::read_dir(sandbox.journal.parent().unwrap())
                        .unwrap()
                        .count(),
                    0
                );
                refused += 1;
            }
            Err(other) => panic!("step {step}: {other}"),
        }
    }
    assert!(refused > steps / 2);
}

#[test]
fn one_step_that_fails_is_taken_back_whole() {
    let (old, new, steps) = reference();
    let mut refused = 0;
    for step in 0..steps {
        let sandbox = Sandbox::new();
        match sandbox.replace(&AtStep::new(step, StepAction::Fail(Errno::IO))) {
            // Former contents that could not be removed at once are removed later.
            Ok(()) => {
                assert_eq!(sandbox.settle(&NoHook).unwrap(), SettleOutcome::Done);
                assert_eq!(sandbox.state(), new, "step {step}");
            }
            Err(TreeError::Io { .. }) => {
                assert_eq!(sandbox.settle(&NoHook).unwrap(), SettleOutcome::Nothing);
                assert_eq!(sandbox.state(), old, "step {step}");
                refused += 1;
            }
            Err(other) => panic!("step {step}: {other}"),
        }
    }
    assert!(refused > steps / 2);
}

#[test]
fn a_disk_that_fails_for_good_leaves_a_journal_that_settles_later() {
    let (old, new, steps) = reference();
    let mut unsettled = 0;
    for step in 0..steps {
        let sandbox = Sandbox::new();
        let answer = sandbox.replace(&AtStep::new(step, StepAction::FailFromHere(Errno::IO)));
        unsettled += usize::from(matches!(answer, Err(TreeError::Unsettled { .. })));
        let settled = sandbox.settle(&NoHook).unwrap();
        let expected = match (&settled, answer) {
            (SettleOutcome::Done, Ok(()) | Err(TreeError::Unsettled { .. })) => &new,
            (SettleOutcome::Nothing | SettleOutcome::Undone { .. }, Err(_)) => &old,
            (settled, answer) => panic!("step {step}: {answer:?}, then {settled:?}"),
        };
        assert_eq!(&sandbox.state(), expected, "step {step}: {settled:?}");
    }
    assert!(unsettled > 0);
}

#[test]
fn settling_that_fails_can_be_tried_again() {
    let (old, new, steps) = reference();
    for step in 0..steps {
        for within in 0.. {
            let sandbox = Sandbox::new();
            assert!(crashes(
                || sandbox.replace(&AtStep::new(step, StepAction::Crash))
            ));
            let hook = AtStep::new(within, StepAction::Fail(Errno::IO));
            let first = sandbox.settle(&hook);
            let settled = sandbox.settle(&NoHook).unwrap();
            let expected = match settled {
                SettleOutcome::Done => &new,
                SettleOutcome::Nothing | SettleOutcome::Undone { .. } => &old,
            };
            assert_eq!(&sandbox.state(), expected, "step {step}, then {within}");
            assert!(
                first.is_err() || first.unwrap() == settled,
                "step {step}, then {within}"
            );
            if hook.passed() <= within {
                break;
            }
        }
    }
}

#[test]
fn a_call_cut_off_while_it_is_taken_back_is_settled_whole() {
    let (old, new, steps) = reference();
    let mut cut_off = 0;
    for step in 0..steps {
        for later in step + 1.. {
            let sandbox = Sandbox::new();
            let hook = AtStep::new(step, StepAction::Fail(Errno::IO)).and(later, StepAction::Crash);
            if !crashes(|| sandbox.replace(&hook)) {
                break;
            }
            cut_off += 1;
            let settled = sandbox.settle(&NoHook).unwrap();
            let expected = match &settled {
                SettleOutcome::Done => &new,
                SettleOutcome::Nothing => &old,
                SettleOutcome::Undone { left } => {
                    assert_eq!(left, &[]);
                    &old
                }
            };
            let when = format!("step {step}, then {later}: {settled:?}");
            assert_eq!(&sandbox.state(), expected, "{when}");
        }
    }
    assert!(cut_off > steps);
}

/// Fails a call at `step` and its undoing at `later`; returns the error, or `None` if the second fault came too late.
fn fails_twice(
    sandbox: &Sandbox,
    step: usize,
    later: usize,
    action: StepAction<'_>,
) -> Option<TreeError> {
    let hook = AtStep::new(step, StepAction::Fail(Errno::IO)).and(later, action);
    let answer = sandbox.replace(&hook);
    (hook.passed() > later).then(|| answer.err()).flatten()
}

#[test]
fn a_call_that_failed_goes_only_backward_and_names_the_files_that_are_not_as_they_were() {
    let (old, _, steps) = reference();
    let mut unsettled = 0;
    for step in 0..steps {
        // Turning back takes two steps, so it is recorded before a disk that breaks after them.
        for (later, broken) in (1..40).flat_map(|gap| [(step + gap, false), (step + gap, gap > 2)])
        {
            let sandbox = Sandbox::new();
            let action = if broken {
                StepAction::FailFromHere(Errno::IO)
            } else {
                StepAction::Fail(Errno::IO)
            };
            let Some(error) = fails_twice(&sandbox, step, later, action) else {
                continue;
            };
            let when = format!("step {step}, then {later} ({broken}): {error}");
            if let TreeError::Unsettled { left, .. } = &error {
                unsettled += 1;
                let named = |left: &super::super::Leftover| error.to_string().contains(&left.path);
                assert!(left.iter().all(named), "{when}");
                assert!(!left.is_empty() || sandbox.state() == old, "{when}");
            }
            let settled = sandbox.settle(&NoHook).unwrap();
            assert_ne!(settled, SettleOutcome::Done, "{when}");
            assert_eq!(sandbox.state(), old, "{when}");
        }
    }
    assert!(unsettled > steps, "{unsettled}");
}

#[test]
fn an_owner_the_system_will_not_set_is_no_error() {
    let (_, new, _) = reference();
    // In a user namespace, an unmapped owner is an invalid argument.
    for errno in [Errno::PERM, Errno::INVAL] {
        let sandbox = Sandbox::new();
        let hook = AtStep::new(first("change owner"), StepAction::Fail(errno));
        sandbox.replace(&hook).unwrap();
        assert_eq!(sandbox.state(), new, "{errno}");
    }
    let sandbox = Sandbox::new();
    let hook = AtStep::new(first("change owner"), StepAction::Fail(Errno::IO));
    assert!(sandbox.replace(&hook).is_err());
}
