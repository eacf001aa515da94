//! Calls about work items, waits and timers that a simulated model makes.

use crate::calls::{active, call};
use crate::plan::Fault;
use crate::request::ModelQuery;
use crate::rng::Rng;
use holon_domain::model::ReplyBlock;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::{TimerId, WaitId, WorkItemId};
use holon_store::OutstandingWork;
use serde_json::{Value, json};

/// Sources of events and hints that waits name. Messages of simulated senders come from the first two.
pub(crate) const SOURCES: [&str; 3] = ["street", "forge", "weather"];

/// Cron expressions with their zones. The hours of the first two lie in the hour that a clock change skips or repeats.
const CRONS: [(&str, &str); 6] = [
    ("30 2 * * *", "Europe/Berlin"),
    ("*/20 2 * * *", "Europe/Berlin"),
    ("30 * * * *", "Europe/Berlin"),
    ("0 9 * * *", "America/New_York"),
    ("15 14 * * *", "UTC"),
    ("*/30 * * * *", "Asia/Kolkata"),
];

/// Ids that a call about work may name.
#[derive(Debug, Default)]
pub(crate) struct WorkNames {
    pub(crate) items: Vec<WorkItemId>,
    pub(crate) waits: Vec<WaitId>,
    pub(crate) timers: Vec<TimerId>,
}

impl WorkNames {
    /// Lists the open items, active waits and active timers of an agent.
    pub(crate) fn of(outstanding: &OutstandingWork) -> Self {
        let open = outstanding.items.iter();
        let open = open.filter(|item| item.state == holon_domain::work_item::WorkItemState::Open);
        Self {
            items: open.map(|item| item.id.clone()).collect(),
            waits: outstanding
                .waits
                .iter()
                .map(|wait| wait.id.clone())
                .collect(),
            timers: outstanding
                .timers
                .iter()
                .map(|timer| timer.id.clone())
                .collect(),
        }
    }
}

/// Generates the blocks of a round about work. A wait stands alone.
pub(crate) fn round(asked: ModelQuery<'_>, dice: &mut Rng) -> Vec<ReplyBlock> {
    if dice.percent(30) {
        return vec![wait_for(asked, dice)];
    }
    (0..=dice.below(3))
        .map(|_| work_call(asked, dice))
        .collect()
}

/// Generates one call about work.
pub(crate) fn work_call(asked: ModelQuery<'_>, dice: &mut Rng) -> ReplyBlock {
    let items = &asked.work.items;
    if items.is_empty() && dice.percent(70) || items.len() < 3 && dice.percent(25) {
        return create(dice);
    }
    let item = pick_id(items, "work_nowhere", dice);
    match dice.below(11) {
        0..=2 => {
            let reason = dice.percent(50).then_some("it is due");
            call(
                "PickWorkItem",
                json!({ "work_item_id": item, "reason": reason }),
            )
        }
        3 => call("CompleteWorkItem", json!({ "work_item_id": item })),
        4 | 5 => call("UpdateWorkItem", block(&item, dice)),
        6 => call(
            "UpdateWorkItem",
            json!({ "work_item_id": item, "blocked_by": null }),
        ),
        7 => call("UpdateWorkItem", change(&item, dice)),
        8 => call("GetWorkItem", json!({ "work_item_id": item })),
        9 => call("ListWorkItems", json!({})),
        _ => {
            let wait = pick_id(&asked.work.waits, "wait_nowhere", dice);
            call("CancelWait", json!({ "wait_id": wait }))
        }
    }
}

/// Generates one call about timers.
pub(crate) fn timer_call(asked: ModelQuery<'_>, dice: &mut Rng) -> ReplyBlock {
    if asked.work.timers.len() > 3 || dice.percent(15) {
        let timer = pick_id(&asked.work.timers, "timer_nowhere", dice);
        return call("CancelTimer", json!({ "timer_id": timer }));
    }
    if dice.percent(10) {
        return call("ListTimers", json!({}));
    }
    let missed = dice.pick(&["skip", "once", "all"]);
    let mut input = match dice.below(4) {
        0 => json!({ "after_ms": short_or_long(dice) }),
        1 | 2 => json!({ "every_ms": 60_000 + short_or_long(dice) }),
        _ => {
            let (cron, zone) = dice.pick(&CRONS).unwrap_or(("0 * * * *", "UTC"));
            json!({ "cron": cron, "time_zone": zone })
        }
    };
    input["summary"] = json!("look again");
    if let (Some(fields), Some(missed)) = (input.as_object_mut(), missed) {
        fields.insert("missed".to_owned(), json!(missed));
    }
    call("CreateTimer", input)
}

/// Draws the schedule of a timer that an operator creates, with its policy.
pub(crate) fn schedule(
    now: holon_domain::Timestamp,
    dice: &mut Rng,
) -> (TimerSchedule, MissedSlotPolicy) {
    let policies = [
        MissedSlotPolicy::Skip,
        MissedSlotPolicy::Once,
        MissedSlotPolicy::All,
    ];
    let schedule = match dice.below(4) {
        0 => TimerSchedule::Once {
            at: now.plus_millis(short_or_long(dice)),
        },
        1 => TimerSchedule::Every {
            first_at: now.plus_millis(short_or_long(dice)),
            interval_ms: 60_000 + short_or_long(dice),
        },
        _ => {
            let (cron, zone) = dice.pick(&CRONS).unwrap_or(("0 * * * *", "UTC"));
            TimerSchedule::Cron {
                expression: cron.to_owned(),
                time_zone: zone.to_owned(),
            }
        }
    };
    (schedule, dice.pick(&policies).unwrap_or_default())
}

fn create(dice: &mut Rng) -> ReplyBlock {
    let status = dice.pick(&["draft", "ready", "ready", "needs_input"]);
    call(
        "CreateWorkItem",
        json!({
            "objective": format!("reach {}", dice.below(1_000)),
            "plan_status": status,
            "plan": "look, then do",
        }),
    )
}

fn block(item: &str, dice: &mut Rng) -> Value {
    json!({
        "work_item_id": item,
        "blocked_by": format!("the road is closed {}", dice.below(3)),
        "recheck_after": short_or_long(dice),
    })
}

fn change(item: &str, dice: &mut Rng) -> Value {
    match dice.below(3) {
        0 => json!({ "work_item_id": item, "objective": format!("reach {}", dice.below(1_000)) }),
        1 => json!({ "work_item_id": item, "plan_status": "ready" }),
        _ => json!({
            "work_item_id": item,
            "todo_list": [{ "text": format!("step {}", dice.below(9)), "state": "pending" }],
        }),
    }
}

/// Generates a wait, mostly for an active task if there is one.
pub(crate) fn wait_for(asked: ModelQuery<'_>, dice: &mut Rng) -> ReplyBlock {
    let tasks = active(asked);
    let on = |dice: &mut Rng| match tasks.get(dice.index(tasks.len())) {
        Some(task) if dice.percent(70) => json!({ "task": task }),
        _ => match dice.below(4) {
            0 => json!("operator"),
            1 => json!({ "external": dice.pick(&SOURCES) }),
            2 => json!("external"),
            _ => json!({ "after_ms": short_or_long(dice) }),
        },
    };
    let wake_on: Vec<Value> = (0..=dice.below(2)).map(|_| on(dice)).collect();
    let recheck = dice.percent(30).then(|| short_or_long(dice));
    let item = dice
        .percent(40)
        .then(|| pick_id(&asked.work.items, "work_nowhere", dice));
    call(
        "WaitFor",
        json!({
            "reason": "until it is there",
            "wake_on": wake_on,
            "recheck_after": recheck,
            "work_item_id": item,
        }),
    )
}

/// Draws a length of time: minutes, hours or days.
pub(crate) fn short_or_long(dice: &mut Rng) -> u64 {
    let bound = dice
        .pick(&[60_000_u64, 3_600_000, 3_600_000, 86_400_000])
        .unwrap_or(60_000);
    1 + dice.below(bound)
}

fn pick_id<T: ToString>(ids: &[T], none: &str, dice: &mut Rng) -> String {
    if dice.percent(5) {
        return none.to_owned();
    }
    let found = ids.get(dice.index(ids.len()));
    found.map_or_else(|| none.to_owned(), ToString::to_string)
}

/// Returns how often a model works on its items.
pub(crate) fn percent(asked: ModelQuery<'_>) -> u64 {
    if asked.plan.has(Fault::Spin) { 15 } else { 50 }
}
