//! Rule: every operator message has exactly one visible outcome, and no acknowledged message is lost.

use super::Evidence;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let rows = &evidence.rows;
    let mut settled: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for brief in &rows.briefs {
        for message in &brief.settles {
            settled.entry(message).or_default().push(brief.seq);
        }
    }
    let mut found = Vec::new();
    let prompts = rows
        .messages
        .iter()
        .filter(|row| row.kind == "operator_prompt");
    let mut known = BTreeSet::new();
    for row in prompts {
        let name = rows.name(row.agent);
        if !known.insert(row.id.as_str()) {
            found.push(format!("{name}: {} was admitted twice", row.id));
        }
        let briefs = settled.remove(row.id.as_str()).unwrap_or_default();
        match briefs.as_slice() {
            [seq] if row.outcome == Some(*seq) => {}
            [seq] => found.push(format!(
                "{name}: {} was settled by brief {seq} and its row names {:?}",
                row.id, row.outcome
            )),
            [] => found.push(format!("{name}: {} has no outcome", row.id)),
            several => found.push(format!("{name}: {} has outcomes {several:?}", row.id)),
        }
    }
    for prompt in &evidence.acknowledged {
        if !known.contains(prompt.message_id.as_str()) {
            let (agent, job) = (&prompt.agent, prompt.job);
            found.push(format!(
                "{agent}: {} (job {job}) was acknowledged and is lost",
                prompt.message_id
            ));
        }
    }
    let strangers = settled.iter();
    found.extend(strangers.map(|(message, briefs)| {
        format!("briefs {briefs:?} settle {message}, which is no operator's message")
    }));
    found
}
