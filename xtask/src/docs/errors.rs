//! The page of error codes: every code that the program prints, as it explains them itself.

use super::{cell, page};
use crate::Failure;
use crate::build::{Build, printed};
use crate::repo::Generated;

const HEAD: &str = "# Error codes

`holon explain-error CODE` prints one row of this page.
A code with an HTTP status comes from a host ([more](refusals.md)); the others are of the program itself.

| code | HTTP | cause | cure |
|---|---|---|---|
";

/// Builds the page from the list that the program prints.
pub(crate) fn generate(build: &Build) -> Result<Generated, Failure> {
    let text = printed(&build.program("holon"), &["--json", "explain-error"], &[])?;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&text)
        .map_err(|error| format!("the list of errors is not JSON: {error}"))?;
    let rows: String = entries.iter().map(row).collect();
    Ok(page("errors", &format!("{HEAD}{rows}")))
}

fn row(entry: &serde_json::Value) -> String {
    let word = |key: &str| cell(entry[key].as_str().unwrap_or_default());
    let status = entry["http_status"].as_u64();
    let status = status.map(|status| status.to_string()).unwrap_or_default();
    format!(
        "| `{}` | {status} | {} | {} |\n",
        word("code"),
        word("meaning"),
        word("next_step")
    )
}
