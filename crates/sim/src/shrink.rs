//! Shrinks a failing plan: fewer steps, fault classes and agents, as long as it still fails.

use crate::plan::Plan;
use crate::run::{RunFailure, play};
use crate::trace::TraceDetail;

/// Returns the smallest plan found that still breaks a rule, with its failure; `None` if the plan holds.
#[must_use]
pub fn shrink(plan: &Plan) -> Option<(Plan, Box<RunFailure>)> {
    let mut best = (plan.clone(), play(plan, TraceDetail::Lines).err()?);
    loop {
        let smaller = candidates(&best.0, best.1.step)
            .into_iter()
            .find_map(|plan| {
                play(&plan, TraceDetail::Lines)
                    .err()
                    .map(|broken| (plan, broken))
            });
        match smaller {
            Some(found) => best = found,
            None => return Some(best),
        }
    }
}

/// Lists the plans that are smaller in one way, the largest reduction first.
fn candidates(plan: &Plan, broke_at: u64) -> Vec<Plan> {
    let mut found = Vec::new();
    let with_steps = |steps| Plan {
        steps,
        ..plan.clone()
    };
    if broke_at < plan.steps {
        found.push(with_steps(broke_at));
    }
    for at in 0..plan.faults.len() {
        let mut fewer = plan.clone();
        fewer.faults.remove(at);
        found.push(fewer);
    }
    if plan.agents > 1 {
        found.push(Plan {
            agents: plan.agents - 1,
            ..plan.clone()
        });
    }
    if plan.steps > 1 {
        found.push(with_steps(plan.steps / 2));
        found.push(with_steps(plan.steps - 1));
    }
    found
}
