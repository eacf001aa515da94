//! The place in which a page is run: a directory of its own, an empty user's home, and a shell for its commands.
//!
//! The environment is empty except for what a shell needs, so that nothing of the person who runs the page is used or
//! changed. Whatever came of the run, the host is stopped and the directories are removed.

use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The directory that the page names. A run uses another of the same length, so that runs do not meet and columns stay
/// where they are.
pub(super) const NAMED_ROOT: &str = "/tmp/first-hour";
/// The home that the page names, below its directory.
const HOME: &str = "home";
/// How long a step may wait.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(30);

/// A place that is cleared when it is dropped.
pub(super) struct Stage {
    root: PathBuf,
    /// The user's home, the state of the shell and the socket of the terminal.
    aside: PathBuf,
    program: PathBuf,
}

impl Stage {
    pub(super) fn open(program: &Path) -> Result<Self, Failure> {
        let root = PathBuf::from(format!("/tmp/hr-{:07}", std::process::id()));
        let aside = root.with_extension("aside");
        let stage = Self {
            root,
            aside,
            program: program.to_owned(),
        };
        stage.clear();
        let made = fs::create_dir(&stage.aside).and_then(|()| fs::write(stage.state(), ""));
        made.map_err(|error| format!("cannot create {}: {error}", stage.aside.display()))?;
        Ok(stage)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Path of a file that belongs to the run and not to the page.
    pub(super) fn aside(&self, name: &str) -> PathBuf {
        self.aside.join(name)
    }

    /// Variables and directory as the last block left them.
    fn state(&self) -> PathBuf {
        self.aside("shell")
    }

    /// A program with the environment of the page.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folder = self.program.parent().unwrap_or(&self.program);
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", folder.display());
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.aside)
            .env("LC_ALL", "C.UTF-8")
            // Times in the pages are normalised in the form that UTC has.
            .env("TZ", "UTC")
            .env("TERM", "xterm-256color")
            .current_dir(&self.aside)
            .stdin(Stdio::null());
        command
    }

    /// Lines as a shell gets them: after what the earlier blocks have set, and in this run's directory.
    pub(super) fn script(&self, lines: &str) -> String {
        let root = self.root.display().to_string();
        let lines = lines.replace(NAMED_ROOT, &root);
        format!("set -e\n. '{}'\n{lines}", self.state().display())
    }

    /// Runs a block and returns what it printed. Variables that it exports and its directory are kept.
    pub(super) fn run(&self, block: &str) -> Result<String, Failure> {
        let state = self.state();
        let keep = format!(
            "\n{{ export -p; echo \"cd '$PWD'\"; }} > '{}'\n",
            state.display()
        );
        let script = format!("exec 2>&1\n{}{keep}", self.script(block));
        let output = self
            .command("sh")
            .args(["-c", &script])
            .output()
            .map_err(|error| format!("cannot start sh: {error}"))?;
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(format!("{block}{}\n{printed}", output.status));
        }
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        Ok(printed)
    }

    /// Waits until a command succeeds.
    pub(super) fn until(&self, command: &str) -> Result<(), Failure> {
        wait_for(command, || {
            let status = self
                .command("sh")
                .args(["-c", &self.script(command)])
                .stdout(Stdio::null())
                .status();
            Ok(status.is_ok_and(|status| status.success()))
        })
    }

    fn clear(&self) {
        for dir in [&self.root, &self.aside] {
            if let Err(error) = fs::remove_dir_all(dir)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                println!("cannot remove {}: {error}", dir.display());
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let home = self.root.join(HOME);
        if home.exists() {
            // A page that was run to its end has stopped its host.
            let stopped = Command::new(&self.program)
                .arg("--home")
                .arg(&home)
                .args(["daemon", "stop"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if let Err(error) = stopped {
                println!("cannot stop the host of {}: {error}", home.display());
            }
        }
        self.clear();
    }
}

/// Waits until something is so, and says what was waited for if it does not come.
pub(super) fn wait_for(
    what: &str,
    mut is_so: impl FnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > PATIENCE {
            return Err(format!("waited {} s in vain: {what}", PATIENCE.as_secs()));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
