//! Runs the simulation as a test: known bugs stay fixed, fresh seeds hold, runs are repeatable, and every rule is
//! exercised.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod week;

use holon_sim::plan::{Fault, Plan};
use holon_sim::{Coverage, RunReport, TraceDetail, known_bugs, play};

/// Plays a plan. One that breaks a rule is played again for its trace.
fn held(plan: &Plan) -> RunReport {
    let played = play(plan, TraceDetail::Hash).or_else(|_| play(plan, TraceDetail::Lines));
    played.unwrap_or_else(|broken| {
        let trace = broken.trace.join("\n");
        panic!(
            "{trace}\n{plan}\nstep {}: {}",
            broken.step, broken.violation
        )
    })
}

#[test]
fn plans_that_once_broke_a_rule_hold() {
    for plan in known_bugs() {
        held(&plan);
    }
}

#[test]
fn a_seed_decides_everything() {
    for seed in [3, 14, 15] {
        let plan = Plan::of(seed);
        assert_eq!(held(&plan).hash, held(&plan).hash, "{plan}");
    }
}

/// Situations that seeds must reach.
const WANTED: &[&str] = &[
    "crash",
    "crash_in_recovery",
    "damaged:child",
    "paused_clock_set_back",
    "commit:several_agents",
    "commit_unknown:several_agents",
    "restart",
    "late_outcome",
    "delivered:accepted",
    "delivered:receiver_failed",
    "delivered:refused",
    "receiver:store_failed",
    "sent:accepted",
    "sent:not_run",
    "sent:refused:agent_not_found",
    "sent:refused:deleting",
    "sent:refused:receiver_failed",
    "sent:refused:stopped",
    "sent:to_itself",
    "trimmed",
    "history_trimmed",
    "text_trimmed",
    "aside:receiver",
    "taken_back",
    "unreadable:agents",
    "unreadable:log",
    "unreadable:messages",
    "command:completed",
    "command:found_again",
    "command:already_running",
    "restart:batch_cut",
    "restart:cancelling_task",
    "restart:running_task",
    "restart:unreported_end",
    "result:joined_turn",
    "result:opened_turn",
    "result:put_back",
    "patch:finished",
    "task:input_taken",
    "task:lost",
    "task:promoted",
    "task:stop_asked",
    "task:stop_forced",
    "task:taken_over",
    "result:held",
    "result:told_later",
    "effect_outcome_dropped",
    "interjected:AfterToolResults",
    "provider_retry_scheduled",
    "burst",
    "outage",
    "turn_suspended",
    "turn_suspension_ended",
    "suspension:ended_by_operator",
    "resumed:unstarted_calls",
    "system_tick_emitted",
    "paced",
    "tool_failed:outcome_unknown",
    "tool_failed:not_started",
    "aborted",
    "task:stopped_by_operator",
    "task:started_by_operator",
    "restart:queued_task",
    "turn_ended:AgentStopped",
    "turn_ended:OperatorAborted",
    "turn_ended:MaxRounds",
    "turn_ended:OutputLimit",
    "turn_ended:Poisoned",
    "turn_ended:RuntimeFault",
    "turn_ended:Slept",
    "downtime",
    "hint:coalesced",
    "callback:Triggered",
    "callback:Coalesced",
    "callback:Enqueued",
    "callback:repeated",
    "child:made",
    "worktree:cleaned",
    "delivery:accepted",
    "delivery:failed",
    "delivery:outage",
    "delivery:refused",
    "hint:spaced",
    "due:beside_noise",
    "tick:after_backoff",
    "tick:wait_over",
    "tick:wake_hint",
    "tick:work_item_recheck",
    "tick:work_queue",
    "timer:cron",
    "timer:every",
    "timer:made_up_for_at_start",
    "timer:missed:All",
    "timer:missed:Once",
    "timer:missed:Skip",
    "timer:once",
    "wait:External:Resolved",
    "wait:Operator:Resolved",
    "wait:Task:Resolved",
    "wait:Timer:Expired",
    "budget:agent",
    "budget:day",
    "budget:item",
    "budget:money",
    "budget:overshot",
    "budget:raised",
    "budget:tree",
    "work:stalled",
    "working_memory_updated",
    "episode:active_work_switched",
    "episode:hard_turn_cap",
    "episode:result_checkpoint",
    "episode:task_rejoined",
    "episode:wait_boundary",
];

/// Seeds whose runs have children with unreadable items, tasks and briefs, which other plans have too seldom.
const DAMAGED_CHILDREN: [u64; 4] = [2, 9, 10, 17];
/// Seeds whose runs have an agent that rests until blocked work is to be looked at again. In other plans something else
/// nearly always wakes it first.
const RESTING_WORKERS: [u64; 4] = [1, 7, 15, 16];

/// Returns plans for situations that the plans of seeds reach too seldom.
fn rare_plans() -> impl Iterator<Item = Plan> {
    let with_children = DAMAGED_CHILDREN.into_iter().map(|seed| Plan {
        seed,
        steps: 200,
        agents: 2,
        faults: vec![
            Fault::Crash,
            Fault::Restart,
            Fault::Long,
            Fault::Damage,
            Fault::Work,
            Fault::Spawn,
        ],
    });
    let at_work = RESTING_WORKERS.into_iter().map(|seed| Plan {
        seed,
        steps: 150,
        agents: 1,
        faults: vec![Fault::Work],
    });
    with_children.chain(at_work)
}

/// Fewest seeds that are played.
const FEWEST_SEEDS: u64 = 100;
/// Most seeds that are played until every situation is reached.
const MOST_SEEDS: u64 = 400;

#[test]
fn seeds_hold_and_reach_every_situation() {
    let mut reached = Coverage::default();
    let mut missed = WANTED.to_vec();
    for plan in rare_plans() {
        reached.add(&held(&plan).coverage);
    }
    for played in 1..=MOST_SEEDS {
        reached.add(&held(&Plan::of(played - 1)).coverage);
        missed.retain(|name| reached.of(name) == 0);
        if missed.is_empty() && played >= FEWEST_SEEDS {
            println!("reached by {played} seeds");
            return;
        }
    }
    panic!("never reached: {missed:?}\n{reached}");
}
