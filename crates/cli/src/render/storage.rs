//! Storage in words.

use crate::addressing::hint;
use holon_api::{AgentStorage, PruneResponse, StorageResponse};
use holon_domain::storage::{HistorySums, PassedOverRows, RowSum};

/// Renders the sizes of a host: the database, its history by kind, and its agents.
pub(crate) fn report(report: &StorageResponse) -> String {
    let used = report.database_bytes.saturating_sub(report.free_bytes);
    let days = match report.history_days {
        0 => "turns of any age are kept".to_owned(),
        days => format!("turns are kept for {days} days"),
    };
    let mut lines = vec![
        format!(
            "database: {} of {} used, {} free in the file, {} in the write-ahead log; {days}",
            size(used),
            size(report.budget_bytes),
            size(report.free_bytes),
            size(report.wal_bytes)
        ),
        format!(
            "{}, everything else {}",
            kinds(&report.history),
            size(used.saturating_sub(bytes(&report.history)))
        ),
        format!(
            "output files of commands: {}, {}",
            report.output_files,
            size(report.output_bytes)
        ),
    ];
    lines.extend(report.agents.iter().map(agent));
    lines.extend(unreadable(&report.unreadable_rows));
    super::join_lines(lines)
}

/// Names the rows that cannot be read, and the next step.
fn unreadable(rows: &PassedOverRows) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let count = rows.count;
    let mut lines = vec![format!(
        "{count} stored rows cannot be read and are passed over; check the database with: holon doctor"
    )];
    lines.extend(rows.first.iter().map(|row| format!("  {row}")));
    let rest = count.saturating_sub(rows.first.len() as u64);
    lines.extend((rest > 0).then(|| format!("  and {rest} more")));
    lines
}

fn bytes(history: &HistorySums) -> u64 {
    let kinds = [
        history.transcript,
        history.messages,
        history.briefs,
        history.events,
    ];
    kinds.iter().map(|kind| kind.bytes).sum()
}

fn kinds(history: &HistorySums) -> String {
    let kind =
        |name: &str, sum: &RowSum| format!("{name} {} in {} rows", size(sum.bytes), sum.rows);
    [
        kind("transcript", &history.transcript),
        kind("messages", &history.messages),
        kind("briefs", &history.briefs),
        kind("events", &history.events),
    ]
    .join(", ")
}

fn agent(agent: &AgentStorage) -> String {
    format!(
        "{}: {}; {}, output files {}",
        agent.agent_id,
        size(agent.bytes),
        kinds(&agent.history),
        size(agent.output_bytes)
    )
}

/// Says what was removed, or would be, and which rows cannot be read.
pub(crate) fn removed(answer: &PruneResponse) -> String {
    let mut lines = vec![sum(answer)];
    lines.extend(answer.failures.iter().map(|failure| {
        let see = hint("see: holon doctor");
        format!("{}: {}; {see}", failure.agent_id, failure.reason)
    }));
    super::join_lines(lines)
}

fn sum(answer: &PruneResponse) -> String {
    let removed = &answer.removed;
    let verb = match answer.dry_run {
        true => "would remove",
        false => "removed",
    };
    if removed.turns == 0 {
        return "nothing to remove: no turn is old enough, or those are the latest ones, which the next prompt shows"
            .to_owned();
    }
    format!(
        "{verb} {} turns with {} entries, {} messages, {} briefs and {} events: {}; and {} output files: {}",
        removed.turns,
        removed.entries,
        removed.messages,
        removed.briefs,
        removed.events,
        size(removed.row_bytes),
        removed.files,
        size(removed.file_bytes)
    )
}

/// Renders a number of bytes with a unit, to a tenth.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1 << 10 {
        return format!("{bytes} bytes");
    }
    let (mut whole, mut unit) = (bytes * 10 / 1_024, 0);
    while whole >= 10 * 1_024 && unit + 1 < UNITS.len() {
        whole /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", whole / 10, whole % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_cannot_be_read_are_counted_and_the_first_are_named() {
        assert!(unreadable(&PassedOverRows::default()).is_empty());
        let rows = PassedOverRows {
            count: 3,
            first: vec!["tokens, column 1: no text".to_owned()],
        };
        let lines = unreadable(&rows);
        assert!(lines[0].starts_with("3 stored rows cannot be read"));
        assert_eq!(lines[1..], ["  tokens, column 1: no text", "  and 2 more"]);
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!(size(900), "900 bytes");
        assert_eq!(size(1_536), "1.5 KiB");
        assert_eq!(size(4 << 30), "4.0 GiB");
        assert_eq!(size(5_000 << 40), "5000.0 TiB");
    }
}
