//! The real program, served: its start, its connections, its end.

use crate::wire::{Wire, healthy};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A result whose error is only printed.
pub(crate) type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The same for those who do not say that it may cross threads.
pub(crate) fn plainly<T>(result: Fallible<T>) -> Result<T, Box<dyn Error>> {
    result.map_err(|error| -> Box<dyn Error> { error })
}

/// A running `holon serve`, ended when dropped.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    addr: String,
    token: String,
    /// Time from the start of the process to its first healthy answer.
    pub(crate) healthy_after: Duration,
}

impl Served {
    /// Starts it with a script as its model and waits until it is well.
    pub(crate) async fn start(holon: &Path, home: &Path, script: &Path) -> Fallible<Self> {
        Self::start_with(holon, home, &format!("scripted/{}", script.display())).await
    }

    /// Starts it with a model and waits until it is well.
    pub(crate) async fn start_with(holon: &Path, home: &Path, model: &str) -> Fallible<Self> {
        let addr = free_address()?;
        let began = Instant::now();
        let child = Command::new(holon)
            .args(["serve", "--listen", &addr, "--model", model])
            .env("HOLON_HOME", home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut served = Self {
            child,
            addr,
            token: String::new(),
            healthy_after: Duration::ZERO,
        };
        served.healthy_after = healthy(&served.addr, began).await?;
        served.token = std::fs::read_to_string(home.join("run/control.token"))?
            .trim()
            .to_owned();
        Ok(served)
    }

    /// A connection to it.
    pub(crate) async fn wire(&self) -> Fallible<Wire> {
        Wire::connect(&self.addr, &self.token).await
    }

    /// Its process id, which stays its own while this is held.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_address() -> Fallible<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.to_string())
}

/// An empty home for a host.
pub(crate) fn home(dir: &Path) -> Fallible<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let home = dir.join("home");
    std::fs::create_dir_all(home.join("state"))?;
    for path in [home.clone(), home.join("state")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(home)
}

/// A script for the scripted provider.
pub(crate) fn script(dir: &Path, text: &str) -> Fallible<PathBuf> {
    let path = dir.join("script.json");
    std::fs::write(&path, text)?;
    Ok(path)
}

/// A model that never answers.
pub(crate) const HELD: &str =
    r#"{"rounds":[{"text":"never","delay_ms":3600000}],"on_end":"repeat_last"}"#;
/// A model that answers at once.
pub(crate) const INSTANT: &str = r#"{"rounds":[{"text":"done"}],"on_end":"repeat_last"}"#;

/// An answer that is a refusal is an error.
pub(crate) fn expect_ok((status, body): (u16, String)) -> Fallible<()> {
    if (200..300).contains(&status) {
        Ok(())
    } else {
        Err(format!("status {status}: {body}").into())
    }
}
