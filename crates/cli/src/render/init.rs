//! Renders the result of `holon init`.

use super::config::probe_lines;
use crate::report::InitReport;

/// Renders candidates, probes, the chosen model and the next steps.
pub(crate) fn report(report: &InitReport) -> String {
    let mut lines = Vec::new();
    for (number, candidate) in report.found.iter().enumerate() {
        let head = if number == 0 { "found" } else { "" };
        lines.push(format!(
            "{head:10}  {}, by {}",
            candidate.model, candidate.from
        ));
    }
    lines.extend(report.probes.iter().flat_map(probe_lines));
    match (&report.model, report.set) {
        (Some(model), true) => lines.push(format!("set         model.default = {model}")),
        (Some(model), false) if report.fallbacks.is_empty() => {
            lines.push(format!(
                "model.default is {model} already; nothing was changed"
            ));
        }
        (Some(model), false) => lines.push(format!("kept        model.default = {model}")),
        (None, _) if report.found.is_empty() => {
            lines.push(
                "no model was found on this machine; there are three ways to get one:".to_owned(),
            );
        }
        (None, _) => lines.push("no model answered; nothing was set".to_owned()),
    }
    if !report.fallbacks.is_empty() {
        let fallbacks = report.fallbacks.join(", ");
        lines.push(format!("set         model.fallbacks = {fallbacks}"));
    }
    for (number, way) in report.ways.iter().enumerate() {
        lines.push(format!("  {}. {way}", number + 1));
    }
    if let Some(remark) = report.applied.as_ref().and_then(|applied| applied.remark()) {
        lines.push(format!("host        {remark}"));
    }
    for (number, step) in report.next.iter().enumerate() {
        let head = if number == 0 { "next" } else { "" };
        lines.push(format!("{head:10}  {step}"));
    }
    lines.join("\n")
}
