//! The part that touches the world: it owns the terminal and runs one task per source of messages.
//!
//! Keys come from a thread, the events of the agent and the replies of the host from tasks. All of them end up in one
//! bounded queue. The loop takes what is there, updates the model and draws once, at once after a key and otherwise at a
//! bounded rate, so that a flood of events costs frames and not keys.

mod ask;
mod connect;
mod feed;
mod input;
mod keys;
mod record;
mod signals;
mod terminal;

use crate::model::{Model, OpenRequests, Setup};
use crate::msg::{Command, Msg};
use crate::theme::Theme;
use crate::update::{start, update};
use crate::view::view;
use connect::{ConnectScreen, signal_of_loss};
use holon_client::Client;
use holon_domain::AgentId;
use holon_domain::time::Timestamp;
use holon_presentation::DisplayMode;
use signals::{SignalRequest, Signals};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;
use terminal::Screen;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// Messages that wait for the loop. A feed that is faster waits, and resumes by its cursor if the host gives it up.
const QUEUE_LENGTH: usize = 1_024;
/// Most messages between two frames.
const BATCH: usize = 512;
/// Time between two frames while no key is pressed.
const FRAME: Duration = Duration::from_millis(33);
/// Time between two ticks.
const TICK: Duration = Duration::from_millis(250);

/// Longest wait at the end for the input history to be written.
const LAST_WAIT: Duration = Duration::from_secs(3);
/// Time in which the host may answer before the terminal is taken: an absent one is reported without a screen.
const GRACE: Duration = Duration::from_millis(250);
/// Longest wait for the signal that says that the terminal is gone. It may pass through a shell first.
const SIGNAL_WAIT: Duration = Duration::from_secs(1);

/// How a console is shown.
#[derive(Debug, Clone)]
pub struct Options {
    /// True if the console has a screen of its own, which is gone when it is closed.
    pub alternate_screen: bool,
    pub theme: Theme,
    pub mode: DisplayMode,
    /// Tells the time of the wall.
    pub clock: fn() -> Timestamp,
    /// File that keeps the input history over restarts. Absent: it is kept for this console alone.
    pub history: Option<PathBuf>,
    /// What to do if the host refuses the token. Absent for a host that asks for none.
    pub token_advice: Option<String>,
}

/// Failure of the terminal or of the console itself.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] std::io::Error),
    #[error("a task of the console failed: {0}")]
    Task(String),
}

/// Reason for which there is no console.
#[derive(Debug)]
pub enum StartFailure<E> {
    /// The host did not say which agent is shown.
    Host(E),
    Console(Error),
}

impl<E> From<std::io::Error> for StartFailure<E> {
    fn from(error: std::io::Error) -> Self {
        Self::Console(Error::Terminal(error))
    }
}

/// How a console ended.
#[derive(Debug)]
#[must_use = "what the host has not answered is to be said"]
pub struct ConsoleEnd {
    pub open: OpenRequests,
    /// Number of the signal that closed it.
    ended_by: Option<i32>,
    result: Result<(), Error>,
}

impl ConsoleEnd {
    /// Ends the program by the signal that closed the console, if one did.
    ///
    /// # Errors
    /// What failed in the console. A terminal that is closed fails too.
    pub fn end(self) -> Result<(), Error> {
        if let Some(number) = self.ended_by {
            signals::end_by(number);
        }
        self.result
    }
}

/// Runs a console until it is closed. The terminal is restored in every case. While the host has not said which agent is
/// shown, the console says so and can be closed.
///
/// # Errors
/// When the host does not name the agent, or the terminal cannot be taken.
pub async fn run<E>(
    client: Client,
    agent: impl Future<Output = Result<AgentId, E>>,
    options: Options,
) -> Result<ConsoleEnd, StartFailure<E>> {
    let mut agent = pin!(agent);
    let early = tokio::time::timeout(GRACE, &mut agent).await.ok();
    let early = early.transpose().map_err(StartFailure::Host)?;
    // A history that cannot be read is as good as none.
    let path = options.history.clone();
    let history = path.and_then(|path| record::load(&path).ok());
    let (sender, messages) = mpsc::channel(QUEUE_LENGTH);
    let signals = Signals::listen()?;
    let mut screen = Screen::open(options.alternate_screen)?;
    // Whoever leaves early closes the messages first, then the keyboard and last the screen.
    let keyboard = input::Keyboard::listen(sender.clone())?;
    let mut sources = Sources { messages, signals };
    let host = client.endpoint();
    let connecting = ConnectScreen {
        host: &host,
        theme: options.theme,
        clock: options.clock,
    };
    let agent = match early {
        Some(agent) => agent,
        None => match connecting.wait(agent, &mut screen, &mut sources).await {
            Ok(answer) => answer.map_err(StartFailure::Host)?,
            Err(closed) => return Ok(closed),
        },
    };
    let (columns, rows) = Screen::size()?;
    let model = Model::new(Setup {
        host,
        agent,
        mode: options.mode,
        theme: options.theme,
        columns,
        rows,
        history: history.unwrap_or_default(),
        token_advice: options.token_advice,
        key: holon_client::new_key(),
    });
    let console = Console {
        model,
        client,
        sender,
        tasks: JoinSet::new(),
        feed: JoinSet::new(),
        records: JoinSet::new(),
        history: options.history,
        wants_stop: false,
        wants_redraw: false,
        is_stopped: false,
        ended_by: None,
    };
    let closed = console.run(&mut screen, sources, options.clock).await;
    drop(keyboard);
    drop(screen);
    Ok(closed)
}

/// Where messages come from.
struct Sources {
    messages: mpsc::Receiver<Msg>,
    signals: Signals,
}

struct Console {
    model: Model,
    client: Client,
    sender: mpsc::Sender<Msg>,
    /// Requests that are under way.
    tasks: JoinSet<()>,
    /// The one feed. Dropping it ends its task.
    feed: JoinSet<()>,
    /// Entries of the input history that are being written.
    records: JoinSet<()>,
    /// File of the input history.
    history: Option<PathBuf>,
    /// True if the operator asked for a stop that was not made yet.
    wants_stop: bool,
    /// True if the next frame is to be drawn on an empty terminal.
    wants_redraw: bool,
    /// True from a stop until the shell continues the process. Nothing is drawn then.
    is_stopped: bool,
    /// Number of the signal that ends the console.
    ended_by: Option<i32>,
}

impl Console {
    /// Runs until the console is closed.
    async fn run(
        mut self,
        screen: &mut Screen,
        mut sources: Sources,
        clock: fn() -> Timestamp,
    ) -> ConsoleEnd {
        self.take(Msg::Tick(clock()));
        let first = start(&mut self.model);
        self.perform(first);
        let result = self.serve(screen, &mut sources, clock).await;
        if result.is_err() {
            // What was sent may still be answered. Nothing is drawn any more, and the first failure is the one that counts.
            self.take(Msg::Quit);
            self.serve(screen, &mut sources, clock).await.ok();
        }
        let written = async { while self.records.join_next().await.is_some() {} };
        tokio::time::timeout(LAST_WAIT, written).await.ok();
        if self.ended_by.is_none() {
            self.ended_by = signal_of_loss(&mut sources.signals).await;
        }
        let has_history = self.history.is_some();
        let is_kept = |text: &str| has_history && text.len() <= record::ENTRY_BYTES;
        ConsoleEnd {
            open: self.model.open_requests(is_kept),
            ended_by: self.ended_by,
            result,
        }
    }

    /// Takes messages and draws until the console is closed.
    async fn serve(
        &mut self,
        screen: &mut Screen,
        sources: &mut Sources,
        clock: fn() -> Timestamp,
    ) -> Result<(), Error> {
        let mut ticks = tokio::time::interval(TICK);
        let mut frames = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let Sources { messages, signals } = sources;
        let mut is_old = true;
        loop {
            let mut is_urgent = false;
            tokio::select! {
                heard = signals.next() => {
                    self.hear(heard, screen)?;
                    (is_old, is_urgent) = (true, true);
                }
                message = messages.recv() => {
                    if let Some(message) = message {
                        is_urgent |= is_key(&message);
                        self.take(message);
                    }
                    for _ in 1..BATCH {
                        let Ok(message) = messages.try_recv() else { break };
                        is_urgent |= is_key(&message);
                        self.take(message);
                    }
                    is_old = true;
                }
                _ = ticks.tick() => {
                    self.take(Msg::Tick(clock()));
                    is_old = true;
                }
                _ = frames.tick(), if is_old => is_urgent = true,
                ended = self.tasks.join_next(), if !self.tasks.is_empty() => check(ended)?,
                ended = self.feed.join_next(), if !self.feed.is_empty() => check(ended)?,
            }
            if self.model.has_quit() {
                return Ok(());
            }
            if std::mem::take(&mut self.wants_stop) {
                self.stop(screen, true)?;
            }
            // A terminal that may be gone is not drawn on.
            if is_urgent && is_old && !self.is_stopped && !self.model.must_leave() {
                self.draw(screen)?;
                is_old = false;
            }
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<(), Error> {
        // The word of another size may be lost among keys.
        let (columns, rows) = Screen::size()?;
        if (columns, rows) != (self.model.columns, self.model.rows) {
            self.take(Msg::Resize { columns, rows });
        }
        if std::mem::take(&mut self.wants_redraw) || !screen.has_size(columns, rows) {
            screen.clear()?;
        }
        screen.draw(|frame| view(&self.model, frame))?;
        Ok(())
    }

    fn hear(&mut self, heard: SignalRequest, screen: &mut Screen) -> Result<(), Error> {
        match heard {
            SignalRequest::End(number) => {
                self.ended_by = Some(number);
                self.take(Msg::Quit);
            }
            SignalRequest::Suspend => self.stop(screen, false)?,
            SignalRequest::Resize => {
                let (columns, rows) = Screen::size()?;
                self.take(Msg::Resize { columns, rows });
            }
            SignalRequest::Continue => {
                self.is_stopped = false;
                screen.take_again()?;
                let (columns, rows) = Screen::size()?;
                self.take(Msg::Resize { columns, rows });
            }
        }
        Ok(())
    }

    /// Gives the terminal back and stops. The signal that continues the process takes the terminal again.
    fn stop(&mut self, screen: &mut Screen, with_group: bool) -> Result<(), Error> {
        if !signals::can_be_continued() {
            self.take(Msg::NotSuspended);
            return Ok(());
        }
        screen.leave();
        self.is_stopped = true;
        if signals::stop(with_group).is_err() {
            self.hear(SignalRequest::Continue, screen)?;
        }
        Ok(())
    }

    fn take(&mut self, message: Msg) {
        let commands = update(&mut self.model, message);
        self.perform(commands);
    }

    fn perform(&mut self, commands: Vec<Command>) {
        for command in commands {
            let (client, sender) = (self.client.clone(), self.sender.clone());
            match command {
                Command::Follow { feed, agent } => {
                    self.feed = JoinSet::new();
                    self.feed.spawn(feed::follow(client, agent, feed, sender));
                }
                Command::Ask { ticket, request } => {
                    self.tasks.spawn(async move {
                        let reply = ask::ask(&client, request).await;
                        // The console may be closed before the reply comes.
                        sender.send(Msg::Reply { ticket, reply }).await.ok();
                    });
                }
                Command::Remember { text } => {
                    if let Some(path) = self.history.clone() {
                        // The entry stays in this console if it cannot be kept.
                        self.records
                            .spawn_blocking(move || record::append(&path, &text).unwrap_or(()));
                    }
                }
                Command::Redraw => self.wants_redraw = true,
                Command::Suspend => self.wants_stop = true,
                Command::Quit => {}
            }
        }
    }
}

const fn is_key(message: &Msg) -> bool {
    matches!(message, Msg::Key(_) | Msg::Paste(_) | Msg::Resize { .. })
}

/// Passes on a panic of a task: its message was shown, and the console cannot be trusted any more.
fn check(ended: Option<Result<(), tokio::task::JoinError>>) -> Result<(), Error> {
    match ended {
        Some(Err(error)) if error.is_panic() => Err(Error::Task(error.to_string())),
        Some(Ok(()) | Err(_)) | None => Ok(()),
    }
}
