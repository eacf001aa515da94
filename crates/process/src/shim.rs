//! The shim: a small process that owns one command, from claiming its spec to the durable status.
//!
//! It is single-threaded, without async runtime, log or configuration, so that it starts in about a millisecond. It
//! has its own session, outlives the host, and accepts requests only with its nonce.
//!
//! Invariants: one spec runs at most once; the status is on disk before the end is reported.

mod birth_record;
mod child;
mod claim;
mod combined;
mod input;
mod line;
mod priority;
mod requests;
mod server;
mod sink;
mod status;
mod tree;
mod watch;

use crate::record::{Identity, Outcome, Report};
use crate::spec::{Confinement, ShimSpec, StartMessage, VERSION};
use crate::unix;
use birth_record::BirthRecordWriter;
use child::{Child, SpawnOptions};
use claim::ClaimLock;
use holon_domain::command::CommandFailure;
use holon_domain::time::Timestamp;
use rustix::fs::Mode;
use rustix::process::Signal;
use serde::Serialize;
use server::Server;
use sink::Sink;
use status::StatusFile;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::SystemTime;
use watch::Watch;

/// First argument of a shim, hidden from the help text.
pub(crate) const ARGUMENT: &str = "__shim";
/// Second argument of a shim that is started before there is a command for it.
pub(crate) const AHEAD: &str = "ahead";

/// Runs the shim if the program's arguments (its name first) say that this process is one; otherwise returns `None`.
/// `main` must call it before anything else.
pub fn shim_main(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if args.nth(1)? != ARGUMENT {
        return None;
    }
    if args.next().is_some_and(|arg| arg == AHEAD) {
        end_with_parent(Some(Signal::KILL));
    }
    Some(match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&Report::NotStarted { failure });
            ExitCode::FAILURE
        }
    })
}

/// Result of a step that can fail before the command runs.
type StartResult<T> = Result<T, CommandFailure>;

fn run() -> StartResult<()> {
    // Fails only if this process leads a session already.
    rustix::process::setsid().ok();
    unix::close_inherited();
    let signals = unix::block_signals().map_err(|error| broken("block signals", &error))?;
    let umask = prepare_process().map_err(|error| broken("prepare itself", &error))?;
    let Some(message) = read_spec()? else {
        return Ok(());
    };
    // Before the claim: a shim that dies here has not started anything, and another shim can get the same spec.
    end_with_parent(None);
    let spec = &message.spec;
    let claim = ClaimLock::take(spec)?;
    let started = match start_command(&message, &claim, umask) {
        Ok(started) => started,
        Err(failure) => {
            let outcome = Outcome::NotStarted {
                failure: failure.clone(),
            };
            // The host gets the failure also if the status cannot be written.
            StatusFile::reserve(claim.dir())
                .and_then(|status| status.write(&outcome))
                .or_else(|_full| claim.give_up())
                .ok();
            return Err(failure);
        }
    };
    report(&Report::Started(started.identity.clone()));
    // Space for the status is reserved early, so that a disk that fills up later cannot lose it.
    let status = StatusFile::reserve(claim.dir());
    let (ended, server) = Watch::new(spec, started, signals).run();
    let outcome = Outcome::Ended(Box::new(ended));
    // Waiting hosts get the outcome also if the disk is full; the host then keeps it.
    status.and_then(|status| status.write(&outcome)).ok();
    server.finish(&outcome);
    report(&outcome);
    Ok(())
}

/// Sets the signal that the system sends to this process when its parent dies. It works also while the shim is
/// suspended and cannot see the end of its pipe.
///
/// The parent in this sense is the thread that started the shim, which may end before its process. Therefore only an
/// idle shim, which can be replaced, uses it, and only while it waits.
fn end_with_parent(signal: Option<Signal>) {
    // If it is refused, the end of the pipe is the only sign.
    rustix::process::set_parent_process_death_signal(signal).ok();
}

/// A started command and everything the shim holds for it.
struct StartedCommand {
    identity: Identity,
    child: Child,
    output: Sink,
    errors: Option<Sink>,
    server: Server,
}

/// Drops what was inherited, and becomes the reaper of all descendants. Returns the inherited umask.
fn prepare_process() -> io::Result<Mode> {
    // The program was executed by descriptor number, which would be its process name.
    rustix::thread::set_name(c"holon-shim")?;
    rustix::process::chdir("/")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Files and socket are private to the owner; the command gets the old umask back.
    Ok(rustix::process::umask(Mode::from_raw_mode(0o177)))
}

/// Waits for the spec. `None` if the host dismissed this shim or is gone.
fn read_spec() -> StartResult<Option<StartMessage>> {
    let mut text = Vec::new();
    io::stdin()
        .lock()
        .read_until(b'\n', &mut text)
        .map_err(|error| broken("read its spec", &error))?;
    if text.is_empty() {
        return Ok(None);
    }
    // The descriptor holds the whole environment, so it is closed as soon as it is read.
    let null = File::open("/dev/null").map_err(|error| broken("open /dev/null", &error))?;
    rustix::stdio::dup2_stdin(&null)
        .map_err(|error| broken("let go of its spec", &error.into()))?;
    let message: StartMessage =
        serde_json::from_slice(&text).map_err(|error| broken("read its spec", &error.into()))?;
    match (message.spec.version, message.spec.confinement) {
        (VERSION, Confinement::None) => Ok(Some(message)),
        (version, Confinement::None) => Err(CommandFailure::Spawn {
            reason: format!("the shim speaks version {VERSION} and was told version {version}"),
        }),
    }
}

fn start_command(
    message: &StartMessage,
    claim: &ClaimLock,
    umask: Mode,
) -> StartResult<StartedCommand> {
    let spec = &message.spec;
    let server = Server::bind(claim.dir(), &spec.nonce)
        .map_err(|error| broken("open its socket", &error))?;
    let files = SinkFiles::create(spec)?;
    // The birth record is needed only if the shim is killed; the command runs also without it.
    let birth_record = BirthRecordWriter::create(claim.dir()).ok();
    let options = SpawnOptions {
        umask,
        open_files: message.open_files,
        birth_record: birth_record.as_ref().and_then(BirthRecordWriter::handle),
    };
    let (child, sources) = child::spawn(spec, options)?;
    let cap = spec.output_cap_bytes;
    let mut sources = sources.into_iter();
    let output = Sink::new(sources.next(), files.output, &spec.output_path, cap);
    let errors = files.errors.map(|(file, path)| {
        let path = path.as_path();
        Sink::new(sources.next(), file, path, cap)
    });
    let identity = Identity {
        version: VERSION,
        task_id: spec.task_id.clone(),
        pid: child.pid().as_raw_pid(),
        started_at: now(),
        birth_record: birth_record.and_then(|birth_record| birth_record.text()),
    };
    Ok(StartedCommand {
        identity,
        child,
        output,
        errors,
        server,
    })
}

/// The output files, open and still empty.
struct SinkFiles {
    output: File,
    errors: Option<(File, std::path::PathBuf)>,
}

impl SinkFiles {
    fn create(spec: &ShimSpec) -> StartResult<Self> {
        let output = sink::create(&spec.output_path)?;
        let errors = match &spec.stderr_path {
            Some(path) if spec.terminal.is_none() => Some((sink::create(path)?, path.clone())),
            Some(_) | None => None,
        };
        Ok(Self { output, errors })
    }
}

/// Writes one line to the host that started the shim. Errors are ignored: that host may be gone.
fn report(line: &impl Serialize) {
    let Ok(mut text) = serde_json::to_vec(line) else {
        return;
    };
    text.push(b'\n');
    let mut rest = text.as_slice();
    while let Ok(written) = rustix::io::write(rustix::stdio::stdout(), rest) {
        rest = rest.get(written..).unwrap_or_default();
        if rest.is_empty() || written == 0 {
            return;
        }
    }
}

/// Wall clock time. The shim reads it itself because the host may be down.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.map_or(0, |passed| passed.as_millis());
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn broken(step: &str, error: &io::Error) -> CommandFailure {
    CommandFailure::Spawn {
        reason: format!("the shim could not {step}: {error}"),
    }
}

fn share(fd: &OwnedFd) -> StartResult<OwnedFd> {
    fd.try_clone()
        .map_err(|error| broken("share a descriptor", &error))
}
