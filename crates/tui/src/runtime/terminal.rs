//! The terminal of a console: taken at the start and given back in every case, also after a panic.
//!
//! The terminal is never asked for anything, because one that does not answer would hold the console up. So the area
//! that is drawn is fixed, and a screen of another size begins with an empty terminal.

use crate::size;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::terminal::{
    self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen,
};
use ratatui::crossterm::{cursor, execute, style};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::termios::tcgetwinsize;
use std::io::{self, Stdout, Write as _};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

/// The terminal while the console has it.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Columns and rows that `terminal` draws.
    size: (u16, u16),
    lease: Arc<Lease>,
}

/// What must be undone, once.
#[derive(Debug)]
struct Lease {
    alternate_screen: bool,
    is_taken: AtomicBool,
}

impl Lease {
    /// Gives the terminal back. Does nothing the second time. Failures are not reported: there is no terminal to show
    /// them on.
    fn end(&self) {
        if !self.is_taken.swap(false, Ordering::SeqCst) {
            return;
        }
        let mut out = io::stdout();
        execute!(out, DisableBracketedPaste, style::ResetColor, cursor::Show).ok();
        if self.alternate_screen {
            execute!(out, LeaveAlternateScreen).ok();
        } else {
            // The last frame stays; the shell goes on below it.
            let bottom = Screen::size().map_or(0, |(_, rows)| rows.saturating_sub(1));
            execute!(out, cursor::MoveTo(0, bottom)).ok();
            out.write_all(b"\r\n").ok();
        }
        out.flush().ok();
        terminal::disable_raw_mode().ok();
    }
}

impl Screen {
    /// Puts the terminal into raw mode and, if asked for, on its alternate screen.
    pub(super) fn open(alternate_screen: bool) -> io::Result<Self> {
        let lease = Arc::new(Lease {
            alternate_screen,
            is_taken: AtomicBool::new(false),
        });
        restore_on_panic(Arc::clone(&lease));
        let size = Self::size()?;
        // From here on, dropping the screen undoes what was done.
        let mut screen = Self {
            terminal: empty(size)?,
            size,
            lease,
        };
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&mut self) -> io::Result<()> {
        self.lease.is_taken.store(true, Ordering::SeqCst);
        // In the background this stops the process until the shell brings it to the front.
        terminal::enable_raw_mode()?;
        let mut out = io::stdout();
        if self.lease.alternate_screen {
            execute!(out, EnterAlternateScreen)?;
        } else {
            // What is on the screen moves into the scrollback.
            let rows = Self::size()?.1;
            execute!(out, cursor::MoveTo(0, rows.saturating_sub(1)))?;
            out.write_all("\n".repeat(usize::from(rows)).as_bytes())?;
        }
        execute!(out, EnableBracketedPaste)?;
        self.clear()
    }

    /// Empties the terminal and forgets what was on it, so that the next frame draws all of it.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.size = Self::size()?;
        self.terminal = empty(self.size)?;
        execute!(io::stdout(), Clear(ClearType::All))
    }

    /// Gives the terminal back while the console is stopped.
    pub(super) fn leave(&self) {
        self.lease.end();
    }

    /// Takes the terminal again after a stop, in which the shell may have changed its modes. What was on the screen is
    /// forgotten, so that the next frame draws all of it.
    pub(super) fn take_again(&mut self) -> io::Result<()> {
        terminal::disable_raw_mode()?;
        self.enter()
    }

    /// Columns and rows that are drawn. Fails if the terminal is gone.
    pub(super) fn size() -> io::Result<(u16, u16)> {
        let stated = tcgetwinsize(io::stdout())?;
        Ok(size::drawn(stated.ws_col, stated.ws_row))
    }

    /// Returns true if frames have this size.
    pub(super) fn has_size(&self, columns: u16, rows: u16) -> bool {
        self.size == (columns, rows)
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.lease.end();
    }
}

/// A terminal of this size with nothing on it.
fn empty((columns, rows): (u16, u16)) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
    Terminal::with_options(
        CrosstermBackend::new(io::stdout()),
        TerminalOptions { viewport },
    )
}

/// Gives the terminal back before a panic is reported, so that the report is readable.
fn restore_on_panic(lease: Arc<Lease>) {
    let report: PanicHook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        lease.end();
        report(panic);
    }));
}
