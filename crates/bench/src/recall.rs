//! How well the search of memory finds what people look for, beside a plain FTS5 table. The set is the one of the test.

use holon_testkit::recall::{LEAST_RECALL, Recall, Script};
use serde_json::{Value, json};

/// Shares are told with three decimals.
fn share(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// Asks the labelled set and prints the share of queries with their document among the first five results.
pub(crate) fn labelled() -> Value {
    let recall = Recall::measure();
    let row = |script: Option<Script>| {
        let shares = recall.shares(script);
        json!({
            "queries": shares.queries,
            "recall_at_5": share(shares.found),
            "plain_fts5_recall_at_5": share(shares.found_plainly),
        })
    };
    let mut report = row(None);
    report["documents"] = json!(recall.documents);
    report["recall_at_5_aim"] = json!(LEAST_RECALL);
    for script in Script::ALL {
        report[script.as_str()] = row(Some(script));
    }
    let missed = recall.asked.iter().filter(|asked| !asked.found);
    report["missed"] = json!(missed.map(|asked| asked.query).collect::<Vec<_>>());
    report
}
