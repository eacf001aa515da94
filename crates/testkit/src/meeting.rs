//! A meeting point of a test and an agent's command: a named pipe, so that both wait without a clock.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A rendezvous: the command arrives, the test sees it, and the command waits until the test releases it.
#[derive(Debug)]
pub struct Meeting {
    arrive: PathBuf,
    leave: PathBuf,
}

impl Meeting {
    pub(crate) fn make(dir: &Path, name: &str) -> Self {
        let meeting = Self {
            arrive: dir.join(format!("{name}.arrive")),
            leave: dir.join(format!("{name}.leave")),
        };
        let made = Command::new("mkfifo")
            .args([&meeting.arrive, &meeting.leave])
            .status()
            .expect("mkfifo is there");
        assert!(made.success(), "two named pipes");
        meeting
    }

    /// Shell text for the command: announces its arrival, then waits to be released.
    #[must_use]
    pub fn shell(&self) -> String {
        format!(
            "echo here > {}; read word < {}",
            self.arrive.display(),
            self.leave.display()
        )
    }

    /// Waits until the command has arrived.
    ///
    /// # Panics
    /// When the pipe cannot be read.
    pub fn wait(&self) {
        let mut word = String::new();
        let mut pipe = File::open(&self.arrive).expect("a named pipe");
        pipe.read_to_string(&mut word).expect("a word");
        assert_eq!(word, "here\n");
    }

    /// Releases the command once it waits.
    ///
    /// # Panics
    /// When the pipe cannot be written.
    pub fn let_go(self) {
        // Opening a pipe for writing waits for its reader.
        let mut pipe = File::options().write(true).open(&self.leave);
        let pipe = pipe.as_mut().expect("a named pipe");
        pipe.write_all(b"go\n").expect("a reader");
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        // Opening both ends wakes a process that waits for one. It is fine if none waits.
        drop(File::options().read(true).write(true).open(&self.leave));
    }
}
