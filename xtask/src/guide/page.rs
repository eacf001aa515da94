//! The page as a script: its blocks of commands, the blocks that hold their outputs, and the steps in comments.
//!
//! | in the page | is |
//! |---|---|
//! | a block `sh` | commands that are run; they must succeed |
//! | a block `text` | replaced by what the last block of commands printed |
//! | `<!-- terminal 80x24 -->` | the next block of commands runs in a terminal of this size |
//! | `<!-- type WORDS -->`, `<!-- key NAME -->` | typed into it, with Enter; one key by its name |
//! | `<!-- see WORDS -->` | waits until the terminal shows them |
//! | `<!-- until COMMAND -->` | waits until a command succeeds |
//! | `<!-- picture NAME -->` | a picture of the terminal |
//! | `<!-- show NAME 80: COMMAND -->` | a picture of a command and its output, so many columns wide |

use crate::Failure;

/// A piece of the page, with the number of its first line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// One line that is kept as it is.
    Prose {
        line: usize,
        text: String,
    },
    Commands {
        line: usize,
        text: String,
    },
    Output {
        line: usize,
        text: String,
    },
    Step {
        line: usize,
        text: String,
        step: Step,
    },
}

impl Part {
    pub(super) const fn line(&self) -> usize {
        match self {
            Self::Prose { line, .. }
            | Self::Commands { line, .. }
            | Self::Output { line, .. }
            | Self::Step { line, .. } => *line,
        }
    }
}

/// What a comment asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Terminal {
        columns: u16,
        rows: u16,
    },
    Type(String),
    Key(String),
    See(String),
    Until(String),
    Picture(String),
    Show {
        name: String,
        columns: u16,
        command: String,
    },
}

const FENCE: &str = "```";

/// Splits a page; everything that is neither a block to run or to fill nor a step is prose.
pub(super) fn parse(text: &str) -> Result<Vec<Part>, Failure> {
    let mut parts = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        let text = text.to_owned();
        let is_commands = match text.as_str() {
            "```sh" => Some(true),
            "```text" => Some(false),
            _ => None,
        };
        if let Some(is_commands) = is_commands {
            let mut body = String::new();
            loop {
                match lines.next() {
                    Some((FENCE, _)) => break,
                    Some((inside, _)) => body.extend([inside, "\n"]),
                    None => return Err(format!("the block of line {line} has no end")),
                }
            }
            parts.push(if is_commands {
                Part::Commands { line, text: body }
            } else {
                Part::Output { line, text: body }
            });
            continue;
        }
        let comment = text.strip_prefix("<!-- ");
        match comment.and_then(|rest| rest.strip_suffix(" -->")) {
            Some(words) => {
                let step = parse_step(words)
                    .ok_or_else(|| format!("line {line}: `{words}` is no step of a page"))?;
                parts.push(Part::Step { line, text, step });
            }
            None => parts.push(Part::Prose { line, text }),
        }
    }
    Ok(parts)
}

fn parse_step(words: &str) -> Option<Step> {
    let (verb, rest) = words.split_once(' ')?;
    let text = rest.to_owned();
    Some(match verb {
        "terminal" => {
            let (columns, rows) = rest.split_once('x')?;
            Step::Terminal {
                columns: columns.parse().ok()?,
                rows: rows.parse().ok()?,
            }
        }
        "type" => Step::Type(text),
        "key" => Step::Key(text),
        "see" => Step::See(text),
        "until" => Step::Until(text),
        "picture" => Step::Picture(text),
        "show" => {
            let (head, command) = rest.split_once(": ")?;
            let (name, columns) = head.split_once(' ')?;
            Step::Show {
                name: name.to_owned(),
                columns: columns.parse().ok()?,
                command: command.to_owned(),
            }
        }
        _ => return None,
    })
}

/// The text that [`parse`] reads into these parts.
pub(super) fn render(parts: &[Part]) -> String {
    parts
        .iter()
        .map(|part| match part {
            Part::Prose { text, .. } | Part::Step { text, .. } => format!("{text}\n"),
            Part::Commands { text, .. } => format!("{FENCE}sh\n{text}{FENCE}\n"),
            Part::Output { text, .. } => format!("{FENCE}text\n{text}{FENCE}\n"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Title\n\n```sh\necho a\necho b\n```\n\n```text\na\nb\n```\n<!-- see a b -->\n```json\n{}\n```\n";

    #[test]
    fn a_page_is_written_as_it_was_read() {
        let parts = parse(PAGE).expect("parses");
        assert_eq!(render(&parts), PAGE);
        let step = Step::See("a b".to_owned());
        assert!(
            parts
                .iter()
                .any(|part| matches!(part, Part::Step { step: found, .. } if *found == step))
        );
    }

    #[test]
    fn commands_and_outputs_are_blocks_and_other_blocks_are_prose() {
        let parts = parse(PAGE).expect("parses");
        let commands = Part::Commands {
            line: 3,
            text: "echo a\necho b\n".to_owned(),
        };
        let output = Part::Output {
            line: 8,
            text: "a\nb\n".to_owned(),
        };
        assert_eq!((&parts[2], &parts[4]), (&commands, &output));
        assert!(
            parts[6..]
                .iter()
                .all(|part| matches!(part, Part::Prose { .. }))
        );
    }

    #[test]
    fn steps_are_read_with_their_arguments() {
        for (words, expected) in [
            (
                "terminal 80x24",
                Some(Step::Terminal {
                    columns: 80,
                    rows: 24,
                }),
            ),
            (
                "show status 92: holon status --agent a",
                Some(Step::Show {
                    name: "status".to_owned(),
                    columns: 92,
                    command: "holon status --agent a".to_owned(),
                }),
            ),
            ("key C-c", Some(Step::Key("C-c".to_owned()))),
            ("terminal wide", None),
            ("show status", None),
            ("sing a song", None),
        ] {
            assert_eq!(parse_step(words), expected, "{words}");
        }
        assert_eq!(
            parse("<!-- sing a song -->\n"),
            Err("line 1: `sing a song` is no step of a page".to_owned())
        );
        assert_eq!(
            parse("\n```sh\necho\n"),
            Err("the block of line 2 has no end".to_owned())
        );
    }
}
