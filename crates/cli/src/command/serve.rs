//! `holon serve`: runs a host in the foreground.

use crate::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Format, Output};
use crate::{path, settings};
use holon_config::Flags;
use holon_daemon::{Endpoints, LogLevel, SettingsReader};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Endpoints of a ready host, as JSON for programs.
#[derive(Serialize)]
struct ReadyReport {
    ok: bool,
    pid: u32,
    http_addr: String,
    socket_path: String,
}

/// Serves until the host is shut down.
pub(super) fn run(
    home: Option<PathBuf>,
    args: ServeArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let flags = flags(home, args)?;
    let settings = settings::load(&flags)?;
    holon_daemon::start_logging(&settings, LogLevel::Info);
    let reread: SettingsReader =
        Arc::new(move || settings::load(&flags).map_err(|failure| failure.body.error));
    let runtime = holon_daemon::serve_runtime()?;
    let served = runtime.block_on(holon_daemon::serve(&settings, reread, |endpoints| {
        announce(endpoints, output)
    }));
    // A second signal must end the process at once, even if other threads still run.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Done)
}

fn flags(home: Option<PathBuf>, args: ServeArgs) -> Result<Flags, Failure> {
    let port = args.port.map(|port| format!("127.0.0.1:{port}"));
    Ok(Flags {
        home,
        agent: None,
        listen: args.listen.or(port),
        model: args
            .model
            .map(|model| path::model("--model", &model))
            .transpose()?,
    })
}

fn announce(endpoints: &Endpoints, output: &Output) {
    let Endpoints {
        http_addr,
        socket_path,
    } = endpoints;
    let socket_path = socket_path.display();
    match output.format() {
        Format::Text => output.say(&format!(
            "listening on http://{http_addr}\nsocket {socket_path}\nlogs: stderr"
        )),
        Format::Json => output.item(
            &ReadyReport {
                ok: true,
                pid: std::process::id(),
                http_addr: http_addr.to_string(),
                socket_path: socket_path.to_string(),
            },
            |_| String::new(),
        ),
    }
}
