//! The shim: a small process of its own that owns one command from its claim to its durable status.
//!
//! Single-threaded, without runtime, log or configuration, so that it starts in about a millisecond. It lives in
//! its own session, outlives the host, and takes orders only from whoever knows its nonce.
//! Invariants: one spec runs at most once; the status is on disk before anybody is told of the end.

mod child;
mod claim;
mod input;
mod line;
mod note;
mod orders;
mod rank;
mod server;
mod sink;
mod status;
mod tree;
mod watch;

use crate::record::{Identity, Outcome, Report};
use crate::spec::{Confinement, ShimSpec, Told, VERSION};
use crate::unix;
use child::{Child, SpawnOptions};
use claim::Claim;
use holon_domain::command::CommandFailure;
use holon_domain::time::Timestamp;
use note::Note;
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

/// The hidden first argument.
pub(crate) const ARGUMENT: &str = "__shim";
/// The second one of a shim that is started before there is a command for it.
pub(crate) const AHEAD: &str = "ahead";

/// Runs the shim when the program's arguments (its name first) say that this process is one; otherwise does
/// nothing. To be called by `main` before anything else.
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
            tell(&Report::NotStarted { failure });
            ExitCode::FAILURE
        }
    })
}

/// What every step needs that can go wrong before the command runs.
type Start<T> = Result<T, CommandFailure>;

fn run() -> Start<()> {
    // Fails only for a leader, which is where it would get us.
    rustix::process::setsid().ok();
    unix::close_inherited();
    let signals = unix::block_signals().map_err(|error| broken("block signals", &error))?;
    let umask = settle_in().map_err(|error| broken("prepare itself", &error))?;
    let Some(told) = read_spec()? else {
        return Ok(());
    };
    // Before the claim: who dies of it now has not begun anything, and another shim may be told the same.
    end_with_parent(None);
    let spec = &told.spec;
    let claim = Claim::take(spec)?;
    let begun = match begin(&told, &claim, umask) {
        Ok(begun) => begun,
        Err(failure) => {
            let outcome = Outcome::NotStarted {
                failure: failure.clone(),
            };
            // Whoever started us is told either way.
            StatusFile::reserve(claim.dir())
                .and_then(|status| status.write(&outcome))
                .ok();
            return Err(failure);
        }
    };
    tell(&Report::Started(begun.identity.clone()));
    // Room for the status is taken early, so that a disk that fills up later cannot lose it.
    let status = StatusFile::reserve(claim.dir());
    let (ended, server) = Watch::new(spec, begun, signals).run();
    let outcome = Outcome::Ended(Box::new(ended));
    // Who waits is told also when the disk took nothing: the host then keeps what we could not.
    status.and_then(|status| status.write(&outcome)).ok();
    server.finish(&outcome);
    tell(&outcome);
    Ok(())
}

/// Has the system end this process with its parent, also while it is suspended and sees no end of its pipe. A parent
/// that was gone before has closed that pipe; only who is suspended before it gets here has to be woken to see it.
///
/// A parent in this sense is the thread that started us, which may end before its process. That is why only a shim
/// that somebody else can stand in for has it, and only while it waits.
fn end_with_parent(signal: Option<Signal>) {
    // Where it is refused, the pipe has to do.
    rustix::process::set_parent_process_death_signal(signal).ok();
}

/// A command that runs, and everything the shim holds of it.
struct Begun {
    identity: Identity,
    child: Child,
    output: Sink,
    errors: Option<Sink>,
    server: Server,
}

/// Gives up what it inherited and becomes the parent of every orphan among its descendants.
fn settle_in() -> io::Result<Mode> {
    // The program was executed by descriptor number, which would be its name.
    rustix::thread::set_name(c"holon-shim")?;
    rustix::process::chdir("/")?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // Files and socket are the owner's alone; the command gets the mask back.
    Ok(rustix::process::umask(Mode::from_raw_mode(0o177)))
}

/// Waits for the spec. None when the host had no use for this shim after all, or is gone.
fn read_spec() -> Start<Option<Told>> {
    let mut text = Vec::new();
    io::stdin()
        .lock()
        .read_until(b'\n', &mut text)
        .map_err(|error| broken("read its spec", &error))?;
    if text.is_empty() {
        return Ok(None);
    }
    // The descriptor holds the whole environment; it is given back as soon as it is read.
    let null = File::open("/dev/null").map_err(|error| broken("open /dev/null", &error))?;
    rustix::stdio::dup2_stdin(&null)
        .map_err(|error| broken("let go of its spec", &error.into()))?;
    let told: Told =
        serde_json::from_slice(&text).map_err(|error| broken("read its spec", &error.into()))?;
    match (told.spec.version, told.spec.confinement) {
        (VERSION, Confinement::None) => Ok(Some(told)),
        (version, Confinement::None) => Err(CommandFailure::Spawn {
            reason: format!("the shim speaks version {VERSION} and was told version {version}"),
        }),
    }
}

fn begin(told: &Told, claim: &Claim, umask: Mode) -> Start<Begun> {
    let spec = &told.spec;
    let server = Server::bind(claim.dir(), &spec.nonce)
        .map_err(|error| broken("open its socket", &error))?;
    let files = SinkFiles::create(spec)?;
    // It serves an accident that may never happen; the command runs without it, too.
    let note = Note::begin(claim.dir()).ok();
    let options = SpawnOptions {
        umask,
        open_files: told.open_files,
        note: note.as_ref().and_then(Note::handle),
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
        born: note.and_then(|note| note.text()),
    };
    Ok(Begun {
        identity,
        child,
        output,
        errors,
        server,
    })
}

/// The output files, open and empty.
struct SinkFiles {
    output: File,
    errors: Option<(File, std::path::PathBuf)>,
}

impl SinkFiles {
    fn create(spec: &ShimSpec) -> Start<Self> {
        let output = sink::create(&spec.output_path)?;
        let errors = match &spec.stderr_path {
            Some(path) if spec.terminal.is_none() => Some((sink::create(path)?, path.clone())),
            Some(_) | None => None,
        };
        Ok(Self { output, errors })
    }
}

/// Writes one line to whoever started us; nobody listens any more when that host is gone.
fn tell(line: &impl Serialize) {
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

/// The time of day, which only the shim can tell while the host is down.
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

/// A second handle on the same open descriptor.
fn share(fd: &OwnedFd) -> Start<OwnedFd> {
    fd.try_clone()
        .map_err(|error| broken("share a descriptor", &error))
}
