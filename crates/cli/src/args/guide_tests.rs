//! Checks that the commands and settings of the guide page about prompts exist.

use super::Args;
use clap::Parser as _;

const PAGE: &str = include_str!("../../../../docs/guide/context.md");
const SETTINGS: &str = include_str!("../../../../docs/reference/settings.md");

/// Returns the commands of code blocks without their comments, and the texts between backticks.
fn code() -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in PAGE.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            let command = line.split_once(" #").map_or(line, |(command, _)| command);
            found.push(command.trim().to_owned());
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            found.extend(spans.map(str::to_owned));
        }
    }
    found
}

#[test]
fn every_command_of_the_page_is_one() {
    let code = code();
    let commands: Vec<&String> = code
        .iter()
        .filter(|text| text.starts_with("holon "))
        .collect();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let words = command.replace("TURN", "12");
        let parsed = Args::try_parse_from(words.split_whitespace());
        assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
    }
}

#[test]
fn every_setting_of_the_page_is_one() {
    let families = ["context.", "operator.", "model.", "models."];
    let code = code();
    let settings: Vec<&String> = code
        .iter()
        .filter(|text| families.iter().any(|family| text.starts_with(family)))
        .collect();
    assert!(settings.len() >= 6, "{settings:?}");
    for setting in settings {
        let row = format!("`{setting}`");
        assert!(SETTINGS.contains(&row), "{row} is not in the reference");
    }
}
