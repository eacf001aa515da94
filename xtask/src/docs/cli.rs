//! The page of commands: what `holon --help` says, of every command and subcommand.
//!
//! It needs the built program, so it is checked in its own step after the tests and not by `tidy`.

use super::page;
use crate::Failure;
use crate::build::{Build, printed};
use crate::repo::Generated;

/// Deepest nesting of subcommands that is followed.
const DEPTH: usize = 4;

/// The page, or none while the program has no commands.
pub(crate) fn generate(build: &Build) -> Result<Option<Generated>, Failure> {
    let program = build.program("holon");
    let help = |words: &[String]| {
        let words = words.iter().map(String::as_str).chain(["--help"]);
        // Without a terminal to measure, the width is this one.
        printed(&program, &words.collect::<Vec<_>>(), &[("COLUMNS", "100")])
    };
    Ok(render(&help)?.map(|body| page("cli", &body)))
}

/// Every command's help, parents before children.
fn render(help: &dyn Fn(&[String]) -> Result<String, Failure>) -> Result<Option<String>, Failure> {
    let mut sections = String::new();
    let mut open: Vec<Vec<String>> = vec![Vec::new()];
    while let Some(words) = open.pop() {
        let text = help(&words)?;
        let children = subcommands(&text);
        if words.is_empty() && children.is_empty() {
            return Ok(None);
        }
        let name = ["holon"]
            .into_iter()
            .chain(words.iter().map(String::as_str));
        let name: Vec<&str> = name.collect();
        sections.push_str(&format!(
            "\n## `{}`\n\n```text\n{}\n```\n",
            name.join(" "),
            trimmed(&text)
        ));
        if words.len() < DEPTH {
            let deeper = children.iter().rev().map(|child| {
                let mut longer = words.clone();
                longer.push((*child).to_owned());
                longer
            });
            open.extend(deeper);
        }
    }
    Ok(Some(format!("# Commands\n{sections}")))
}

/// Lines without their trailing blanks.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n")
}

/// The names under `Commands:`, without `help`, which only says all this again.
fn subcommands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| line.trim_end() != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "Usage: holon\n\nCommands:\n  agent  Agents,\n         wrapped\n  run    One\n  help   This\n\nOptions:\n  -h\n";

    #[test]
    fn names_are_read_from_the_list_and_nowhere_else() {
        assert_eq!(subcommands(TOP), ["agent", "run"]);
        assert!(subcommands("Usage: holon run\n\nOptions:\n  -h\n").is_empty());
    }

    #[test]
    fn every_command_gets_a_section_parents_first() {
        let help = |words: &[String]| {
            let path: Vec<&str> = words.iter().map(String::as_str).collect();
            Ok(match path.as_slice() {
                [] => TOP.to_owned(),
                ["agent"] => "Commands:\n  list  All  \n".to_owned(),
                _ => "leaf".to_owned(),
            })
        };
        let page = render(&help).expect("renders").expect("has commands");
        let heads: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(
            heads,
            [
                "## `holon`",
                "## `holon agent`",
                "## `holon agent list`",
                "## `holon run`"
            ]
        );
    }

    #[test]
    fn a_program_without_commands_has_no_page() {
        assert_eq!(render(&|_| Ok(String::new())), Ok(None));
    }
}
