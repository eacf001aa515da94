//! Pages of the guide that are scripts: their commands are run, and what they print is written into them.
//!
//! A page stays text that people write. Its `sh` blocks are run in order; the `text` block after one gets the output,
//! and comments tell what is done in a terminal. Everything that another run would print otherwise is replaced by fixed
//! words, so that a page differs only if the program or the page has changed.

mod ansi;
mod page;
mod replace;
mod stage;
mod svg;
mod terminal;

use crate::Failure;
use crate::repo::{Generated, Repo};
use page::{Part, Step};
use replace::Replacer;
use stage::Stage;
use std::path::Path;
use terminal::Terminal;

/// The page that is run; its pictures are beside the guide.
const PAGE: &str = "docs/guide/first-hour.md";

/// Runs the page with a built program, and returns it with its pictures as they are now.
pub(crate) fn files(repo: &Repo, program: &Path) -> Result<Vec<Generated>, Failure> {
    terminal::require_tmux()?;
    let text = repo.read(PAGE)?;
    let mut parts = page::parse(&text).map_err(|failure| format!("{PAGE}: {failure}"))?;
    let mut play = Play::begin(program)?;
    for part in &mut parts {
        play.part(part)
            .map_err(|failure| format!("{PAGE}:{}: {failure}", part.line()))?;
    }
    let mut files = play.pictures;
    files.push(Generated {
        path: PAGE.to_owned(),
        content: page::render(&parts),
    });
    Ok(files)
}

/// One run of a page. The terminal is closed before the stage is cleared, whatever came of the run.
struct Play {
    terminal: Option<Terminal>,
    stage: Stage,
    replacer: Replacer,
    /// What the last block printed.
    printed: String,
    /// Columns and rows of the terminal in which the next block runs.
    size: Option<(u16, u16)>,
    pictures: Vec<Generated>,
}

impl Play {
    fn begin(program: &Path) -> Result<Self, Failure> {
        let stage = Stage::open(program)?;
        Ok(Self {
            terminal: None,
            replacer: Replacer::new(stage.root())?,
            stage,
            printed: String::new(),
            size: None,
            pictures: Vec::new(),
        })
    }

    fn part(&mut self, part: &mut Part) -> Result<(), Failure> {
        match part {
            Part::Prose { .. } => Ok(()),
            Part::Commands { text, .. } => self.commands(text),
            Part::Output { text, .. } => {
                *text = std::mem::take(&mut self.printed);
                Ok(())
            }
            Part::Step { step, .. } => self.step(step),
        }
    }

    fn commands(&mut self, text: &str) -> Result<(), Failure> {
        if let Some((columns, rows)) = self.size.take() {
            self.terminal = Some(Terminal::start(&self.stage, columns, rows, text)?);
            return Ok(());
        }
        let printed = self.stage.run(text)?;
        self.printed = self.replacer.replace(&printed);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Terminal { columns, rows } => self.size = Some((*columns, *rows)),
            Step::Type(text) => self.terminal()?.enter(text)?,
            Step::Key(name) => self.terminal()?.key(name)?,
            Step::See(words) => self.terminal()?.see(words)?,
            Step::Until(command) => self.stage.until(command)?,
            Step::Picture(name) => {
                let screen = self.terminal()?.coloured_screen()?;
                self.picture(name, &screen);
            }
            Step::Show {
                name,
                columns,
                command,
            } => {
                let screen = terminal::show(&self.stage, *columns, command)?;
                self.picture(name, &screen);
            }
        }
        Ok(())
    }

    fn terminal(&self) -> Result<&Terminal, Failure> {
        let terminal = self.terminal.as_ref();
        terminal.ok_or_else(|| "no terminal is open; write `<!-- terminal 80x24 -->`".to_owned())
    }

    fn picture(&mut self, name: &str, screen: &str) {
        let rows = ansi::rows(&self.replacer.replace(screen));
        self.pictures.push(Generated {
            path: format!("docs/pictures/{name}.svg"),
            content: svg::render(&rows),
        });
    }
}
