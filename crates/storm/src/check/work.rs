//! Rules of everything that outlasts a turn: an item exists once with its plan and is reported once, every slot of a
//! timer comes once, every wait ends, and every wake is told.

use super::Evidence;
use super::token::{Call, calls, count, repeated};
use crate::lasting;
use crate::record::WakeCounts;
use crate::rows::{LastingRow, Rows, SlotEvent, SummaryRow};
use std::collections::{BTreeMap, BTreeSet};

/// Start of the message that reports wakes of an operator.
const WOKEN: &str = "You were woken";

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let rows = &evidence.rows;
    let calls = calls(rows);
    let mut found = created_once(rows, &calls);
    found.extend(plans(evidence));
    found.extend(reports(rows));
    found.extend(waits(rows));
    found.extend(timers(rows));
    found.extend(wakes(rows, &evidence.wakes));
    let left = rows.work.outstanding();
    found.extend(
        left.map(|(agent, words)| format!("{}: {words} and nothing came of it", rows.name(agent))),
    );
    found
}

/// Each successful call made one row, and each row comes from one such call.
fn created_once(rows: &Rows, calls: &[Call<'_>]) -> Vec<String> {
    type TokenReader = fn(&str) -> Option<&str>;
    let kinds: [(&str, &str, TokenReader); 3] = [
        ("item", "objective", lasting::token_of_objective),
        ("wait", "reason", lasting::token_of_wait),
        ("timer", "summary", lasting::token_of_timer),
    ];
    let work = &rows.work;
    let items = work.items.iter().map(|row| &row.record["objective"]);
    let waits = work.waits.iter().map(|row| &row.record["waiting_for"]);
    let timers = work.timers.iter().map(|row| &row.record["summary"]);
    let stored = [items.collect::<Vec<_>>(), waits.collect(), timers.collect()];
    let mut found = Vec::new();
    for ((kind, field, token_of), texts) in kinds.into_iter().zip(stored) {
        let texts = texts.iter().filter_map(|text| text.as_str());
        let stored = count(texts.filter_map(token_of));
        found.extend(
            repeated(&stored)
                .iter()
                .map(|words| format!("{kind} {words}")),
        );
        let made = calls.iter().filter(|call| call.has_succeeded());
        let made: BTreeMap<&str, &str> = made
            .filter_map(|call| Some((token_of(call.input[field].as_str()?)?, call.source.as_str())))
            .collect();
        let lost = made
            .iter()
            .filter(|(token, _)| !stored.contains_key(*token));
        found.extend(lost.map(|(token, source)| {
            format!("{kind} {token} has no row, and {source} says it was made")
        }));
        let strangers = stored.keys().filter(|token| !made.contains_key(*token));
        found.extend(
            strangers.map(|token| format!("{kind} {token} has a row, and no call made it")),
        );
    }
    found
}

/// Each item has its plan file, unless a command emptied the home of its agent, and each plan folder has an item.
fn plans(evidence: &Evidence) -> Vec<String> {
    let rows = &evidence.rows;
    let emptied = emptied_homes(rows);
    let mut found = Vec::new();
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    for item in &rows.work.items {
        let agent = rows.name(item.agent);
        known.insert((agent, &item.id));
        let objective = item.record["objective"].as_str().unwrap_or_default();
        let Some(token) = lasting::token_of_objective(objective) else {
            continue;
        };
        let plan = evidence.plans.get(&(agent.to_owned(), item.id.clone()));
        match plan {
            Some(text) if *text == lasting::plan(token) => {}
            Some(text) => found.push(format!("{agent}: the plan of {} is {text:?}", item.id)),
            None if emptied.contains(&item.agent) => {}
            None => found.push(format!("{agent}: {} has no plan file", item.id)),
        }
    }
    let orphans = evidence.plans.keys();
    let orphans = orphans.filter(|(agent, item)| !known.contains(&(agent.as_str(), item.as_str())));
    found.extend(
        orphans.map(|(agent, item)| format!("{agent}: a plan is left of {item}, which is no item")),
    );
    found
}

/// Agents with a command that removed everything in their home.
fn emptied_homes(rows: &Rows) -> BTreeSet<i64> {
    let entries = rows.log.iter();
    let emptying =
        entries.filter(|row| row.entry["blocks"].to_string().contains("HOLON_AGENT_HOME"));
    emptying.map(|row| row.agent).collect()
}

/// Each completed item has exactly one delivery summary, with its report, and exactly one brief that points to it. A brief
/// that settles messages may repeat it: the report is then the outcome of a turn without last words.
fn reports(rows: &Rows) -> Vec<String> {
    let rounds: BTreeMap<(i64, i64), String> = rows
        .log
        .iter()
        .filter(|row| row.entry["blocks"].is_array())
        .map(|row| ((row.agent, row.seq), row.entry["blocks"].to_string()))
        .collect();
    let summaries = rows.work.summaries.iter();
    let texts: BTreeMap<(i64, &str), &str> = summaries
        .filter_map(|row| Some(((row.agent, row.id.as_str()), text_of(row, &rounds)?)))
        .collect();
    let briefs = rows.briefs.iter().filter(|brief| brief.settles.is_empty());
    let told = briefs.filter_map(|brief| texts.get(&(brief.agent, brief.report.as_deref()?)));
    let told = count(told.copied().flat_map(lasting::reports_in));
    let mut found = Vec::new();
    for item in rows.work.items.iter().filter(|item| item.completed) {
        let objective = item.record["objective"].as_str().unwrap_or_default();
        let Some(token) = lasting::token_of_objective(objective) else {
            continue;
        };
        let (name, id) = (rows.name(item.agent), &item.id);
        let times = told.get(token).copied().unwrap_or_default();
        if times != 1 {
            found.push(format!(
                "{name}: the completion of {id} is reported {times} times"
            ));
        }
        let own = rows.work.summaries.iter();
        let own = own.filter(|row| row.agent == item.agent && row.item == *id);
        let kept: Vec<&SummaryRow> = own.collect();
        let holds_it = |row: &&SummaryRow| {
            let text = text_of(row, &rounds).unwrap_or_default();
            lasting::reports_in(text) == [token] && item.record["delivery_summary_id"] == row.id
        };
        if kept.len() != 1 || !kept.iter().all(holds_it) {
            let rows = kept.len();
            found.push(format!(
                "{name}: {id} has {rows} delivery summaries, or one without its report"
            ));
        }
    }
    found
}

/// Returns the text of a delivery summary: its own words, or those of a round.
fn text_of<'a>(row: &'a SummaryRow, rounds: &'a BTreeMap<(i64, i64), String>) -> Option<&'a str> {
    let round = row.round.and_then(|round| rounds.get(&(row.agent, round)));
    let in_log = round.map(String::as_str);
    row.words.as_deref().or(in_log)
}

/// A wait that expired is told once, and each wait that ended says what ended it.
fn waits(rows: &Rows) -> Vec<String> {
    let ticks = rows.messages.iter().filter(|row| row.kind == "system_tick");
    let told = count(ticks.filter_map(|row| lasting::token_of_wait(&row.text)));
    let mut found = Vec::new();
    for wait in rows.work.waits.iter().filter(|wait| !wait.active) {
        let (name, id) = (rows.name(wait.agent), &wait.id);
        let reason = wait.record["waiting_for"].as_str().unwrap_or_default();
        let token = lasting::token_of_wait(reason).unwrap_or_default();
        let times = told.get(token).copied().unwrap_or_default();
        let status = wait.record["status"].as_str().unwrap_or_default();
        if status == "expired" && times != 1 {
            found.push(format!("{name}: {id} expired and was told {times} times"));
        }
        if times > 1 {
            found.push(format!("{name}: the end of {id} was told {times} times"));
        }
        if wait.record["ended_by"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
        {
            found.push(format!("{name}: {id} is {status} and does not say by what"));
        }
    }
    found
}

/// Each slot of a timer comes once, in order, and its message is there.
fn timers(rows: &Rows) -> Vec<String> {
    let ticks = rows.messages.iter().filter(|row| row.kind == "timer_tick");
    let told = count(ticks.filter_map(|row| lasting::token_of_timer(&row.text)));
    let mut found = Vec::new();
    for timer in rows.work.timers.iter().filter(|timer| !timer.active) {
        let (name, id) = (rows.name(timer.agent), &timer.id);
        let summary = timer.record["summary"].as_str().unwrap_or_default();
        let token = lasting::token_of_timer(summary).unwrap_or_default();
        let messages = u64::from(told.get(token).copied().unwrap_or_default());
        let fires = timer.record["fire_count"].as_u64().unwrap_or_default();
        if messages != fires {
            found.push(format!(
                "{name}: {id} fired {fires} times and has {messages} messages"
            ));
        }
        let once = timer.record["schedule"]["kind"] == "once";
        if once && fires != 1 {
            found.push(format!("{name}: {id} fires once and fired {fires} times"));
        }
        found.extend(chain(rows, timer).map(|words| format!("{name}: {id} {words}")));
    }
    found
}

/// Follows the slots of a timer: each comes when the one before it has named it.
fn chain(rows: &Rows, timer: &LastingRow) -> Option<String> {
    let mut events = rows.work.slots.iter();
    let own = |event: &&SlotEvent| event.agent == timer.agent && event.timer == timer.id;
    // Events that retention removed are not followed.
    let mut expected = events
        .find(own)
        .filter(|event| event.planned_at.is_none())?
        .next_fire_at
        .as_ref();
    let mut fires = 0;
    for event in events.filter(own) {
        if event.planned_at.as_ref() != expected {
            return Some(format!(
                "fired for {:?} and {expected:?} was next",
                event.planned_at
            ));
        }
        expected = event.next_fire_at.as_ref();
        fires += u64::from(event.queued);
    }
    let counted = timer.record["fire_count"].as_u64().unwrap_or_default();
    (fires != counted).then(|| format!("has {fires} fires on record and counts {counted}"))
}

/// Every acknowledged wake is told, alone or merged with others, and none is told that was not sent.
fn wakes(rows: &Rows, sent: &BTreeMap<String, WakeCounts>) -> Vec<String> {
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows.messages.iter().filter(|row| row.kind == "system_tick") {
        *told.entry(rows.name(row.agent)).or_default() += wakes_in(&row.text);
    }
    let mut found = Vec::new();
    for (agent, counts) in sent {
        let told = told.get(agent.as_str()).copied().unwrap_or_default();
        if told < counts.acknowledged || told > counts.sent {
            found.push(format!(
                "{agent}: {told} wakes were told, {} acknowledged and {} sent",
                counts.acknowledged, counts.sent
            ));
        }
    }
    found
}

/// Number of wakes that a message stands for.
fn wakes_in(text: &str) -> u64 {
    let parts = text.split(WOKEN).skip(1);
    let times = parts.map(|part| {
        let count = part
            .strip_prefix(" (")
            .and_then(|rest| rest.split_once(" times)"));
        count.and_then(|(count, _)| count.parse().ok()).unwrap_or(1)
    });
    times.sum()
}

#[cfg(test)]
mod tests;
