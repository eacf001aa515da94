//! The time before the console: the host has not said yet which agent is shown. The terminal is taken, the keys that
//! close the console work, and a silent host is named.

use super::signals::{self, SignalRequest, Signals};
use super::terminal::Screen;
use super::{ConsoleEnd, Error, SIGNAL_WAIT, Sources, TICK};
use crate::model::OpenRequests;
use crate::msg::Msg;
use crate::theme::Theme;
use crate::view::connecting;
use holon_domain::time::Timestamp;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io;
use std::pin::Pin;
use tokio::time::MissedTickBehavior;

/// How the wait for the host ended.
enum WaitEnd<T> {
    Answered(T),
    /// The operator closed the console, or the terminal is gone.
    Closed,
    /// The signal of this number ends the program.
    Ended(i32),
}

/// What is drawn, and by which clock.
pub(super) struct ConnectScreen<'a> {
    pub(super) host: &'a str,
    pub(super) theme: Theme,
    pub(super) clock: fn() -> Timestamp,
}

impl ConnectScreen<'_> {
    /// Waits for the answer of the host, unless the console is closed before.
    pub(super) async fn wait<F: Future>(
        &self,
        answer: Pin<&mut F>,
        screen: &mut Screen,
        sources: &mut Sources,
    ) -> Result<F::Output, ConsoleEnd> {
        let (ended_by, result) = match self.serve(answer, screen, sources).await {
            Ok(WaitEnd::Answered(answer)) => return Ok(answer),
            Ok(WaitEnd::Ended(number)) => (Some(number), Ok(())),
            Ok(WaitEnd::Closed) => (signal_of_loss(&mut sources.signals).await, Ok(())),
            Err(error) => (signal_of_loss(&mut sources.signals).await, Err(error)),
        };
        Err(ConsoleEnd {
            open: OpenRequests::default(),
            ended_by,
            result,
        })
    }

    /// Draws and takes keys until the answer is there or the console is closed.
    async fn serve<F: Future>(
        &self,
        mut answer: Pin<&mut F>,
        screen: &mut Screen,
        sources: &mut Sources,
    ) -> Result<WaitEnd<F::Output>, Error> {
        let began = (self.clock)();
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut is_stopped = false;
        loop {
            if !is_stopped {
                self.draw(screen, (self.clock)().millis_since(began))?;
            }
            let Sources { messages, signals } = sources;
            let pressed = tokio::select! {
                answered = &mut answer => return Ok(WaitEnd::Answered(answered)),
                heard = signals.next() => match heard {
                    SignalRequest::End(number) => return Ok(WaitEnd::Ended(number)),
                    SignalRequest::Suspend => KeyAction::Suspend { with_group: false },
                    SignalRequest::Resize => KeyAction::Other,
                    SignalRequest::Continue => {
                        is_stopped = false;
                        screen.take_again()?;
                        KeyAction::Other
                    }
                },
                message = messages.recv() => match message {
                    Some(Msg::Key(key)) => pressed(key),
                    Some(Msg::Quit) | None => KeyAction::Close,
                    Some(_) => KeyAction::Other,
                },
                _ = ticks.tick() => KeyAction::Other,
            };
            match pressed {
                KeyAction::Close => return Ok(WaitEnd::Closed),
                KeyAction::Suspend { with_group } if signals::can_be_continued() => {
                    screen.leave();
                    is_stopped = signals::stop(with_group).is_ok();
                    if !is_stopped {
                        screen.take_again()?;
                    }
                }
                KeyAction::Suspend { .. } | KeyAction::Other => {}
            }
        }
    }

    fn draw(&self, screen: &mut Screen, waited_ms: u64) -> io::Result<()> {
        let (columns, rows) = Screen::size()?;
        if !screen.has_size(columns, rows) {
            screen.clear()?;
        }
        screen.draw(|frame| connecting::draw(self.host, self.theme, waited_ms, frame))
    }
}

/// What a key or a signal asks for.
enum KeyAction {
    Close,
    Suspend { with_group: bool },
    Other,
}

fn pressed(key: KeyEvent) -> KeyAction {
    let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if !ctrl || key.kind == KeyEventKind::Release => KeyAction::Other,
        KeyCode::Char('c' | 'd') => KeyAction::Close,
        KeyCode::Char('z') => KeyAction::Suspend { with_group: true },
        _ => KeyAction::Other,
    }
}

/// Returns the signal that says that the terminal is gone, if it is.
pub(super) async fn signal_of_loss(signals: &mut Signals) -> Option<i32> {
    if Screen::size().is_ok() {
        return None;
    }
    let end = tokio::time::timeout(SIGNAL_WAIT, signals.end());
    end.await.ok()
}
