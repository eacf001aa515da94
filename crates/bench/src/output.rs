//! Floods: how fast a shim drains pipes and terminals, against a reader that does nothing else, and what a flood costs
//! the shim and the host in memory.

use crate::memory::{self, PEAK, RESIDENT};
use crate::program::{Fallible, Served, expect_ok, home, script};
use crate::shim::{self, Place, SHELL};
use crate::stats::round;
use holon_process::{Image, ShimSpec, WindowSize};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Floods of each kind, bare and not, in alternation.
const FLOODS: usize = 5;
/// Bytes of the file that is printed over and over.
const FILE_BYTES: usize = 16 << 20;
/// A line of text with its end.
const LINE: &[u8] =
    b"the quick brown fox jumps over the lazy dog and then the dog jumps over the fox\n";
/// Interval between two reads of a shim's memory. The peak that the kernel keeps never falls.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The output of a command: a pipe or a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Talk {
    Pipes,
    Terminal,
}

impl Talk {
    /// Number of times the file is printed, enough for about a second of work.
    const fn copies(self) -> usize {
        match self {
            Self::Pipes => 64,
            Self::Terminal => 8,
        }
    }

    const fn aim(self) -> u64 {
        match self {
            Self::Pipes => 500,
            Self::Terminal => 50,
        }
    }
}

pub(crate) async fn floods(holon: &Path) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("text");
    let mut writer = io::BufWriter::new(File::create(&file)?);
    for _ in 0..FILE_BYTES / LINE.len() {
        writer.write_all(LINE)?;
    }
    writer.flush()?;
    let image = Image::of(holon)?;
    Ok(json!({
        "pipes": kind(&image, Talk::Pipes, &file).await?,
        "terminals": kind(&image, Talk::Terminal, &file).await?,
        "host": host(holon, &file).await?,
        "memory_growth_kib_aim": 32 << 10,
    }))
}

/// Shell text that prints the file over and over.
fn flood(talk: Talk, file: &Path) -> String {
    let files = vec![file.display().to_string(); talk.copies()];
    format!("cat {}", files.join(" "))
}

async fn kind(image: &Image, talk: Talk, file: &Path) -> Fallible<Value> {
    let cmd = flood(talk, file);
    let (mut bare, mut subject) = (Vec::new(), Vec::new());
    let (mut idle, mut peak) = (0.0_f64, 0.0_f64);
    for _ in 0..FLOODS {
        bare.push(match talk {
            Talk::Pipes => bare_pipe(&cmd)?,
            Talk::Terminal => bare_terminal(&cmd)?,
        });
        let drained = through_shim(image, talk, &cmd).await?;
        subject.push(drained.rate);
        idle = drained.idle_kib;
        peak = peak.max(drained.peak_kib);
    }
    Ok(json!({
        "bytes": talk.copies() * (FILE_BYTES / LINE.len() * LINE.len()),
        "bare_mb_per_second": spread(bare),
        "mb_per_second": spread(subject),
        "mb_per_second_aim": talk.aim(),
        "shim_idle_kib": idle,
        "shim_peak_kib": peak,
        "shim_growth_kib": peak - idle,
    }))
}

/// Few figures: the least, the middle and the most.
fn spread(mut rates: Vec<f64>) -> Value {
    rates.sort_by(f64::total_cmp);
    let at = |index: usize| rates.get(index).copied().map(round);
    let last = rates.len().saturating_sub(1);
    json!({ "n": rates.len(), "min": at(0), "p50": at(last / 2), "max": at(last) })
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / 1e6 / took.as_secs_f64()
}

fn bare_pipe(cmd: &str) -> Fallible<f64> {
    let began = Instant::now();
    let mut child = Command::new(SHELL)
        .args(["-c", cmd])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let bytes = drain(child.stdout.take().ok_or("no pipe")?)?;
    child.wait()?;
    Ok(rate(bytes, began.elapsed()))
}

fn bare_terminal(cmd: &str) -> Fallible<f64> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, flags)?;
    let began = Instant::now();
    // The command's end is closed with the statement, so that its last writer's end is the end.
    let mut child = Command::new(SHELL)
        .args(["-c", cmd])
        .stdin(Stdio::null())
        .stdout(theirs)
        .spawn()?;
    let bytes = drain(File::from(ours))?;
    child.wait()?;
    Ok(rate(bytes, began.elapsed()))
}

/// Reads to the end and keeps nothing.
fn drain(mut from: impl Read) -> io::Result<u64> {
    let (mut buffer, mut total) = (vec![0; 64 << 10], 0);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(read) => total += read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // How a terminal says that nobody has it open any more.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                return Ok(total);
            }
            Err(error) => return Err(error),
        }
    }
}

/// The measured result of a flood of output through a shim.
struct Drained {
    rate: f64,
    idle_kib: f64,
    peak_kib: f64,
}

async fn through_shim(image: &Image, talk: Talk, cmd: &str) -> Fallible<Drained> {
    let place = Place::new()?;
    let spec = place.spec(&format!("read go; {cmd}"));
    let spec = ShimSpec {
        accepts_input: true,
        terminal: (talk == Talk::Terminal).then_some(WindowSize {
            rows: 24,
            columns: 80,
        }),
        ..spec
    };
    let task = shim::start(image, spec).await?;
    let pid = shim::shim_pid(&task)?;
    let idle_kib = memory::kib(pid, PEAK)?;
    let watched = std::thread::spawn(move || {
        let mut peak = idle_kib;
        while let Ok(now) = memory::kib(pid, PEAK) {
            peak = now;
            std::thread::sleep(LOOK_EVERY);
        }
        peak
    });
    let began = Instant::now();
    task.input(1, b"\n").await?;
    let ended = task.ended().await?;
    let took = began.elapsed();
    let peak_kib = watched.join().map_err(|_| "the look at memory panicked")?;
    Ok(Drained {
        rate: rate(ended.output.total_bytes(), took),
        idle_kib,
        peak_kib,
    })
}

/// Both floods as calls of one turn: what the host itself needs for them.
async fn host(holon: &Path, file: &Path) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let call = |talk: Talk| {
        let input = json!({ "cmd": flood(talk, file), "tty": talk == Talk::Terminal, "yield_time_ms": 600_000 });
        json!({ "calls": [{ "tool": "ExecCommand", "input": input }] })
    };
    let rounds =
        json!([{ "text": "ready" }, call(Talk::Pipes), call(Talk::Terminal), { "text": "done" }]);
    let text = json!({ "rounds": rounds, "on_end": "repeat_last" }).to_string();
    let served = Served::start(holon, &home, &script(dir.path(), &text)?).await?;
    let mut wire = served.wire().await?;
    let request = r#"{"text":"go on","agent_id":"main"}"#;
    expect_ok(wire.request("POST", "/control/run", request).await?)?;
    let before = memory::kib(served.pid(), RESIDENT)?;
    expect_ok(wire.request("POST", "/control/run", request).await?)?;
    let peak = memory::kib(served.pid(), PEAK)?;
    let (_, transcript) = wire.request("GET", "/agents/main/transcript", "").await?;
    if transcript.matches(r#""exit_status":0"#).count() < 2 {
        return Err(format!("the floods did not run: {transcript}").into());
    }
    Ok(json!({ "resident_kib_before": before, "peak_kib": peak, "growth_kib": peak - before }))
}
