//! Keys and pastes from the terminal, read by a thread. `keys` makes them out of bytes.
//!
//! The bytes are read here and not by crossterm, because its parser holds the keyboard for ever once the end of a paste
//! is lost, and nothing can empty it. Sizes are not read: the terminal tells of them by a signal.

use super::keys::{Chunk, Keys, SILENCE};
use crate::msg::Msg;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::isatty;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;
use tokio::sync::mpsc;

/// Longest wait for a key before the thread looks whether it is still wanted. Silences are counted in it.
const POLL: Duration = Duration::from_millis(50);

/// Most bytes of one read.
const READ_BYTES: usize = 4_096;

/// Longest wait for the end of the thread. It may be held by a read of a terminal that another program reads too.
const LAST_LOOK: Duration = Duration::from_millis(500);

/// The thread that reads the terminal. Dropping this ends the thread, so that it takes no input that is meant for the
/// program after the console. Its messages must have no receiver any more then, or it may wait for room among them.
#[derive(Debug)]
pub(super) struct Keyboard {
    is_closed: Arc<AtomicBool>,
    /// Disconnected by the end of the thread.
    ended: Receiver<Infallible>,
}

impl Keyboard {
    pub(super) fn listen(sender: mpsc::Sender<Msg>) -> io::Result<Self> {
        Self::start(move |closed| read(&sender, closed))
    }

    /// Starts the thread with what it does until it is closed.
    fn start(read: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Self> {
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let (held, ended) = sync_channel::<Infallible>(0);
        std::thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || {
                read(&closed);
                drop(held);
            })?;
        Ok(Self { is_closed, ended })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // Nothing is sent: this waits for the end of the thread.
        self.ended.recv_timeout(LAST_LOOK).ok();
    }
}

/// The terminal that is read: the standard input, or that of the session if the standard input is none.
struct Input {
    own: Option<OwnedFd>,
    stdin: io::Stdin,
}

impl Input {
    fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        let own = match isatty(&stdin) {
            true => None,
            false => {
                let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
                Some(rustix::fs::open("/dev/tty", flags, Mode::empty())?)
            }
        };
        Ok(Self { own, stdin })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match &self.own {
            Some(own) => own.as_fd(),
            None => self.stdin.as_fd(),
        }
    }
}

fn read(sender: &mpsc::Sender<Msg>, closed: &AtomicBool) {
    let Ok(input) = Input::open() else {
        // The console cannot be left without a keyboard.
        sender.blocking_send(Msg::Quit).ok();
        return;
    };
    read_until(input.fd(), closed, &|message| {
        sender.blocking_send(message).is_ok()
    });
}

/// Reads keys until the thread is closed, the terminal is gone or a message is not taken.
fn read_until(terminal: BorrowedFd<'_>, closed: &AtomicBool, send: &dyn Fn(Msg) -> bool) {
    let mut keys = Keys::default();
    let mut buffer = [0; READ_BYTES];
    let mut silence = Duration::ZERO;
    while !closed.load(Ordering::SeqCst) {
        let found = match next_bytes(terminal, &mut buffer) {
            Ok(NextBytes::Silence) => {
                silence = silence.saturating_add(POLL);
                let is_over = silence >= SILENCE;
                let shown = is_over.then(|| keys.flush()).flatten();
                shown.into_iter().collect()
            }
            Ok(NextBytes::Interrupted) => Vec::new(),
            Ok(NextBytes::Read(bytes)) => {
                let is_full = bytes.len() == READ_BYTES;
                keys.take(Chunk {
                    bytes,
                    is_full,
                    silence: std::mem::take(&mut silence),
                })
            }
            // The terminal is gone.
            Err(_) => vec![Msg::Quit],
        };
        for message in found {
            let is_last = matches!(message, Msg::Quit);
            if !send(message) || is_last {
                return;
            }
        }
    }
}

/// Result of a look at the terminal.
enum NextBytes<'a> {
    Read(&'a [u8]),
    /// Nothing came while the look lasted.
    Silence,
    /// A signal broke the look off, or another reader was faster.
    Interrupted,
}

/// Waits for bytes, at most for the length of a poll.
fn next_bytes<'a>(
    terminal: BorrowedFd<'_>,
    buffer: &'a mut [u8; READ_BYTES],
) -> io::Result<NextBytes<'a>> {
    let mut looked = [PollFd::new(&terminal, PollFlags::IN)];
    let patience = Timespec::try_from(POLL).map_err(io::Error::other)?;
    match poll(&mut looked, Some(&patience)) {
        Ok(0) => return Ok(NextBytes::Silence),
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(NextBytes::Interrupted),
        Err(error) => return Err(error.into()),
    }
    match rustix::io::read(terminal, &mut buffer[..]) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => Ok(NextBytes::Read(buffer.get(..count).unwrap_or_default())),
        Err(Errno::INTR | Errno::AGAIN) => Ok(NextBytes::Interrupted),
        Err(error) => Err(error.into()),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyModifiers;
    use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

    #[test]
    fn nothing_reads_the_terminal_after_the_keyboard_was_dropped() {
        let reads = Arc::new(AtomicBool::new(true));
        let ends = Arc::clone(&reads);
        let (began, begin) = sync_channel(1);
        let keyboard = Keyboard::start(move |closed| {
            began.send(()).expect("the test waits");
            while !closed.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            ends.store(false, Ordering::SeqCst);
        });
        begin.recv().expect("it reads");
        drop(keyboard.expect("a thread"));
        assert!(!reads.load(Ordering::SeqCst));
    }

    #[test]
    fn a_thread_that_the_library_holds_does_not_hold_the_console() {
        let (let_go, held) = sync_channel::<()>(0);
        let keyboard = Keyboard::start(move |_| {
            held.recv().ok();
        });
        drop(keyboard.expect("a thread"));
        drop(let_go);
    }

    /// Opens a terminal in raw mode and returns its keyboard and the end of the program.
    fn terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keyboard = openpt(flags)?;
        grantpt(&keyboard)?;
        unlockpt(&keyboard)?;
        let terminal = ioctl_tiocgptpeer(&keyboard, flags)?;
        let mut modes = tcgetattr(&terminal)?;
        modes.make_raw();
        tcsetattr(&terminal, OptionalActions::Now, &modes)?;
        Ok((keyboard, terminal))
    }

    #[test]
    fn a_paste_without_end_is_shown_and_the_next_key_works_until_the_terminal_is_gone() {
        let (keyboard, terminal) = terminal().expect("a terminal");
        let closed = AtomicBool::new(false);
        let (sender, messages) = sync_channel(8);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let send = |message| sender.send(message).is_ok();
                read_until(terminal.as_fd(), &closed, &send);
            });
            let press = |keys: &[u8]| rustix::io::write(&keyboard, keys).expect("keys");
            let next = || messages.recv().expect("a message");
            press(b"\x1b[200~one\rtwo");
            assert!(matches!(next(), Msg::Paste(text) if text == "one\rtwo"));
            press(b"\x03");
            let key = next();
            assert!(
                matches!(&key, Msg::Key(key) if key.modifiers == KeyModifiers::CONTROL),
                "{key:?}"
            );
            drop(keyboard);
            assert!(matches!(next(), Msg::Quit));
        });
    }
}
