//! Keys, pastes and sizes from the terminal, read by a thread.

use crate::msg::Msg;
use ratatui::crossterm::event::{self, Event};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Longest wait for a key before the thread looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(50);

/// The thread that reads the terminal. It ends soon after this is dropped.
#[derive(Debug)]
pub(super) struct Keyboard {
    is_closed: Arc<AtomicBool>,
}

impl Keyboard {
    pub(super) fn listen(sender: mpsc::Sender<Msg>) -> io::Result<Self> {
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        std::thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || read(&sender, &closed))?;
        Ok(Self { is_closed })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }
}

fn read(sender: &mpsc::Sender<Msg>, closed: &AtomicBool) {
    while !closed.load(Ordering::SeqCst) {
        let message = match event::poll(POLL) {
            Ok(false) => continue,
            Ok(true) => match event::read() {
                Ok(Event::Key(key)) => Msg::Key(key),
                Ok(Event::Paste(text)) => Msg::Paste(text),
                Ok(Event::Resize(columns, rows)) => Msg::Resize { columns, rows },
                Ok(Event::FocusGained | Event::FocusLost | Event::Mouse(_)) => continue,
                Err(_) => Msg::Quit,
            },
            // The terminal is gone.
            Err(_) => Msg::Quit,
        };
        let is_last = matches!(message, Msg::Quit);
        if sender.blocking_send(message).is_err() || is_last {
            return;
        }
    }
}
