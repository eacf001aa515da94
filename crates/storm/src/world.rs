//! The directory of one storm: the host's home, the workspaces, the marks and the host's log.

use crate::Fallible;
use crate::job::make_workspace;
use holon_client::Client;
use std::fs::{File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the model that all agents use.
pub(crate) const MODEL: &str = "storm/weather";

/// The directory of a storm.
#[derive(Debug)]
pub(crate) struct World {
    root: PathBuf,
    /// Name of the home's directory.
    home: &'static str,
    program: PathBuf,
    /// Port of every host; 0 lets each choose a free one.
    port: u16,
}

impl World {
    /// Creates the directories. The settings are written by [`Self::configure`].
    pub(crate) fn make(root: &Path, program: &Path) -> Fallible<Self> {
        // The process table shows canonical paths, and processes are found by them.
        let root = root.canonicalize()?;
        std::fs::create_dir_all(root.join("user"))?;
        let world = Self {
            root,
            home: "home",
            program: program.canonicalize()?,
            port: 0,
        };
        std::fs::create_dir_all(world.home())?;
        std::fs::set_permissions(world.home(), Permissions::from_mode(0o700))?;
        std::fs::write(world.marks(), "")?;
        std::fs::write(world.deliveries(), "")?;
        Ok(world)
    }

    /// Lets every host listen on this port.
    pub(crate) fn with_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// Returns the same storm with another home, which does not exist yet.
    pub(crate) fn beside(&self, home: &'static str) -> Self {
        Self {
            root: self.root.clone(),
            home,
            program: self.program.clone(),
            port: 0,
        }
    }

    /// Address of the hosts over TCP, if they have a fixed port.
    pub(crate) fn http_addr(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Writes the settings, with one provider at this address.
    pub(crate) fn configure(&self, base_url: &str) -> Fallible<()> {
        let settings = format!(
            "[providers.storm]\ntransport = \"openai_chat_completions\"\nbase_url = {base_url:?}\n"
        );
        Ok(std::fs::write(self.home().join("config.toml"), settings)?)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join(self.home)
    }

    /// File to which every command of every agent appends its marks.
    pub(crate) fn marks(&self) -> PathBuf {
        self.root.join("marks")
    }

    /// File in which the delivery target notes what it gets.
    pub(crate) fn deliveries(&self) -> PathBuf {
        self.root.join("deliveries")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join("state/holon.sqlite3")
    }

    pub(crate) fn host_log(&self) -> PathBuf {
        self.root.join(format!("{}.log", self.home))
    }

    /// Log of the storm's own actions, with times.
    pub(crate) fn diary(&self) -> PathBuf {
        self.root.join("diary")
    }

    pub(crate) fn open_host_log(&self) -> Fallible<File> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.host_log());
        Ok(log?)
    }

    /// Homes of all agents.
    pub(crate) fn agents(&self) -> PathBuf {
        self.home().join("agents")
    }

    /// Directory of all workspaces.
    pub(crate) fn workspaces(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Creates the workspace of this name.
    pub(crate) fn workspace(&self, name: &str) -> Fallible<String> {
        let made = make_workspace(&self.workspaces().join(name))?;
        Ok(made.display().to_string())
    }

    pub(crate) fn client(&self) -> Client {
        Client::unix(self.home().join("run/holon.sock"))
    }

    /// Command that starts the host.
    pub(crate) fn serve_command(&self) -> Command {
        let mut command = self.command();
        command.args(["serve", "--port", &self.port.to_string(), "--model", MODEL]);
        command
    }

    /// Command of the program with its own home and user. Of this process's environment it only gets `PATH`.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one variable commands need to find programs"
    )]
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().current_dir(&self.root);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .env("HOME", self.root.join("user"))
            .env("HOLON_HOME", self.home());
        command
    }
}
