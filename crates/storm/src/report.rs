//! Formats the figures of a storm as text.

use crate::check::Evidence;
use crate::record::Records;
use crate::rows::LastingRow;
use crate::storm::KillCounts;
use std::collections::BTreeMap;
use std::time::Duration;

/// The figures that are printed when a storm is over.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) counts: &'a KillCounts,
    pub(crate) records: &'a Records,
    pub(crate) evidence: &'a Evidence,
    pub(crate) lasted: Duration,
    pub(crate) until_rest: Duration,
}

impl Report<'_> {
    pub(crate) fn lines(&self) -> Vec<String> {
        let (counts, records) = (self.counts, self.records);
        let rows = &self.evidence.rows;
        let prompts = rows.messages.iter();
        let prompts = prompts.filter(|row| row.kind == "operator_prompt");
        let answered = prompts.filter(|row| row.outcome.is_some()).count();
        let mut healthy = counts.healthy_after.clone();
        healthy.sort();
        vec![
            format!(
                "kills       host {}, of them during recovery {} (before it served {}), while it went down {}, while agents stopped {}; shim {} (none to kill {})",
                counts.host_kills,
                counts.recovery_kills,
                counts.start_kills,
                counts.shutdown_kills,
                counts.stop_kills,
                counts.shim_kills,
                counts.shims_missed
            ),
            format!(
                "prompts     sent {}, acknowledged {}, refused by a stopped agent {}, answered {answered}",
                records.prompts_sent,
                records.acknowledged.len(),
                records.prompts_refused
            ),
            format!(
                "outcomes    {}",
                counted(
                    rows.briefs
                        .iter()
                        .filter(|brief| !brief.settles.is_empty())
                        .map(|brief| brief.kind.as_str())
                )
            ),
            format!("tool calls  {}", counted(self.results())),
            format!(
                "commands    begun {}, ended {}",
                self.marks(".b"),
                self.marks(".e")
            ),
            format!(
                "patches     applied {}",
                self.evidence
                    .workspaces
                    .values()
                    .map(|left| left.lines.len())
                    .sum::<usize>()
            ),
            format!(
                "tasks       {}",
                counted(
                    rows.tasks
                        .iter()
                        .filter_map(|task| task.record["status"].as_str())
                )
            ),
            self.lasting(),
            format!(
                "runs        sent {}, completed {}, failed {}, left by their client {}, cut off {}",
                records.runs_sent,
                records.runs_completed.len(),
                records.runs_failed.len(),
                records.runs_left,
                records.runs_cut_off
            ),
            self.provider(),
            self.budgets(),
            format!(
                "agents      stopped {} times, started {} times, backed up {} times",
                records.stops, records.starts, records.backups
            ),
            format!(
                "restarts    {}, time to healthy p50 {} ms, p99 {} ms",
                healthy.len(),
                percentile(&healthy, 50),
                percentile(&healthy, 99)
            ),
            format!(
                "duration    {:.1} s, of them until all was at rest {:.1} s",
                self.lasted.as_secs_f64(),
                self.until_rest.as_secs_f64()
            ),
        ]
    }

    /// Counts of provider failures, and the host's reactions for agents that are not temporary.
    fn provider(&self) -> String {
        let failures = &self.evidence.failures;
        let kinds = failures
            .kinds
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"));
        let kinds: Vec<String> = kinds.collect();
        let events = |kind: &str| {
            let events = self.evidence.rows.pauses.iter();
            events.filter(|event| event.kind == kind).count()
        };
        format!(
            "provider    failed {} of {} requests ({}) in {} outages and between them; retries {}, suspensions {}",
            failures.kinds.values().sum::<u64>(),
            failures.requests,
            kinds.join(", "),
            failures.outages,
            events("provider_retry_scheduled"),
            events("turn_suspended")
        )
    }

    /// Counts of what the budgets did.
    fn budgets(&self) -> String {
        let pauses = self.evidence.rows.pauses.iter();
        let reached = pauses.filter(|event| event.reason == "budget_reached");
        format!(
            "budgets     reached {} times, raised {} times, read {} times",
            reached.count(),
            self.records.budget_raises,
            self.records.budget_reads
        )
    }

    /// Counts of work items, waits, timers and wakes.
    fn lasting(&self) -> String {
        let work = &self.evidence.rows.work;
        let completed = work.items.iter().filter(|item| item.completed).count();
        let status = |rows: &'_ [LastingRow]| {
            let status = rows.iter().map(|row| row.record["status"].as_str());
            counted(status.map(Option::unwrap_or_default))
        };
        let fires = work.timers.iter();
        let fires = fires.filter_map(|row| row.record["fire_count"].as_u64());
        let wakes = self.records.wakes.values();
        let deliveries = self.records.deliveries.values();
        format!(
            "work        items {}, of them completed {completed}; waits {} ({}); timers {} ({}), fired {} times; wakes {}; deliveries {}, answered {} times",
            work.items.len(),
            work.waits.len(),
            status(&work.waits),
            work.timers.len(),
            status(&work.timers),
            fires.sum::<u64>(),
            wakes.map(|wakes| wakes.acknowledged).sum::<u64>(),
            self.records.deliveries.len(),
            deliveries.map(|sent| sent.message_ids.len()).sum::<usize>()
        )
    }

    fn marks(&self, half: &str) -> usize {
        let marks = self.evidence.marks.iter();
        marks.filter(|mark| mark.ends_with(half)).count()
    }

    /// Status or error kind of every tool call.
    fn results(&self) -> impl Iterator<Item = &str> {
        let log = self.evidence.rows.log.iter();
        let results = log.filter(|row| row.entry["entry"] == "tool_result");
        results.filter_map(|row| {
            let envelope = &row.entry["envelope"];
            let kind = envelope["error"]["kind"].as_str();
            kind.or_else(|| envelope["status"].as_str())
        })
    }
}

/// Counts each word, the most frequent first.
fn counted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> = counts
        .iter()
        .map(|(word, count)| format!("{word} {count}"))
        .collect();
    shown.join(", ")
}

/// Percentile of sorted times, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> u128 {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).map_or(0, Duration::as_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_and_the_most_frequent_comes_first() {
        assert_eq!(counted(["a", "b", "b"].into_iter()), "b 2, a 1");
        assert_eq!(counted([].into_iter()), "");
    }

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 50), 100);
        assert_eq!(percentile(&times, 99), 198);
        assert_eq!(percentile(&[], 50), 0);
    }
}
