//! `holon serve`: runs a host, in the foreground or as the process behind `holon daemon start`.

use crate::args::ServeArgs;
use crate::exit::{Exit, Failure};
use crate::host_plan::{self, HostPlan};
use crate::output::{Format, Output};
use holon_config::{Env, ServiceEnv};
use holon_daemon::{Endpoints, HostStart, LogLevel, LogTarget, SettingsReader};
use serde::Serialize;
use std::cell::Cell;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Endpoints of a ready host, as JSON for programs.
#[derive(Serialize)]
struct ReadyReport {
    ok: bool,
    pid: u32,
    http_addr: String,
    socket_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advertise_url: Option<String>,
}

/// Serves until the host is shut down.
pub(super) fn run(
    home: Option<PathBuf>,
    args: ServeArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    if args.background {
        return run_in_background(home, args, output);
    }
    let plan = HostPlan::load(home, args.host, output)?;
    let advertised = plan.access.advertise_url.clone();
    serve(plan, LogTarget::Stderr, |endpoints| {
        announce(endpoints, advertised, output);
    })
}

/// Serves in a session of its own. The starter reads one line of JSON: the endpoints, or the failure.
fn run_in_background(
    home: Option<PathBuf>,
    args: ServeArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let was_ready = Cell::new(false);
    let served = holon_daemon::detach()
        .map_err(Failure::from)
        .and_then(|()| HostPlan::load(home, args.host, output))
        .and_then(|plan| {
            holon_daemon::release_stdin();
            let log = holon_daemon::log_path(plan.home());
            let advertised = plan.access.advertise_url.clone();
            serve(plan, LogTarget::File(log), |endpoints| {
                was_ready.set(true);
                report(&ready(endpoints, advertised));
                holon_daemon::release_stdout();
            })
        });
    if let Err(failure) = &served
        && !was_ready.get()
    {
        report(&failure.body);
    }
    served
}

fn serve(plan: HostPlan, log: LogTarget, ready: impl FnOnce(&Endpoints)) -> Result<Exit, Failure> {
    let HostPlan {
        settings,
        flags,
        options,
        access,
        token,
    } = plan;
    let log_path = match &log {
        LogTarget::Stderr | LogTarget::SharedStderr { .. } => None,
        LogTarget::File(path) => Some(path.clone()),
    };
    holon_daemon::start_logging(&settings, LogLevel::Info, log);
    let start = HostStart {
        options: options.clone(),
        access,
        token,
        service: ServiceEnv::read(&Env::from_process()),
        log_path,
    };
    let reread: SettingsReader = Arc::new(move || {
        let read = host_plan::load(&flags, &options);
        read.map(|(settings, _)| settings)
            .map_err(|failure| failure.body.error)
    });
    let runtime = holon_daemon::serve_runtime()?;
    let served = runtime.block_on(holon_daemon::serve(&settings, &start, reread, ready));
    // A second signal must end the process at once, even if other threads still run.
    runtime.shutdown_background();
    served?;
    Ok(Exit::Done)
}

fn ready(endpoints: &Endpoints, advertise_url: Option<String>) -> ReadyReport {
    ReadyReport {
        ok: true,
        pid: std::process::id(),
        http_addr: endpoints.http_addr.to_string(),
        socket_path: endpoints.socket_path.display().to_string(),
        advertise_url,
    }
}

/// Writes one line for the starter, which may be gone.
fn report(what: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(what) {
        let mut stdout = std::io::stdout().lock();
        drop(writeln!(stdout, "{line}").and_then(|()| stdout.flush()));
    }
}

fn announce(endpoints: &Endpoints, advertised: Option<String>, output: &Output) {
    let ready = ready(endpoints, advertised);
    match output.format() {
        Format::Text => {
            let advertised = ready.advertise_url.as_ref();
            let advertised =
                advertised.map_or_else(String::new, |url| format!("advertised as {url}\n"));
            output.say(&format!(
                "listening on http://{}\n{advertised}socket {}\nlogs: stderr",
                ready.http_addr, ready.socket_path
            ));
        }
        Format::Json => output.item(&ready, |_| String::new()),
    }
}
