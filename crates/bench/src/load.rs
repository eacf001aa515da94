//! What busy commands do to commits: admission on a quiet machine, with two busy commands that stand back as the
//! runtime has them do, and with the same two that do not.
//!
//! One command keeps every processor busy; the other is like a parallel build: many short processes, and files that are
//! synced. The bare rows are written under the same load, so that the disk's part can be told from the scheduler's.

use crate::admission::{admission_rows, block};
use crate::bare::{Bare, Rows};
use crate::program::{Fallible, plainly};
use crate::shim::{self, Place};
use crate::stats::{Sample, round};
use crate::world;
use holon_domain::AgentId;
use holon_engine::Host;
use holon_process::{Image, NICENESS, ShimSpec, ShimmedCommand};
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// Blocks of each condition, in alternation.
const BLOCKS: usize = 5;
/// Commits of one block, bare and not.
const EACH: usize = 150;
/// For a load to come into its swing.
const SWING: Duration = Duration::from_millis(500);
/// Interval between two looks at the scheduler groups of the commands.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: usize = 60;

/// Commits on a quiet machine and beside busy commands.
pub(crate) async fn commits(holon: &Path) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let mut desk = Desk::open(dir.path()).await?;
    let image = Image::of(holon)?;
    let mut quiet = Latency::default();
    let mut loaded = [Loaded::by(NICENESS), Loaded::by(0)];
    for _ in 0..BLOCKS {
        desk.block(&mut quiet).await?;
        for condition in &mut loaded {
            let load = plainly(Load::start(&image, condition.niceness).await)?;
            condition.group = plainly(load.settled().await)?;
            let done = desk.block(&mut condition.latency).await;
            plainly(load.stop().await)?;
            done?;
        }
    }
    desk.host.shut_down().await?;
    let [behind, beside] = &loaded;
    Ok(json!({
        "processors": processors(),
        "quiet": quiet.report(),
        "two_busy_commands_that_stand_back": behind.report(&quiet),
        "two_busy_commands_that_do_not": beside.report(&quiet),
    }))
}

/// Commits beside two busy commands of a niceness.
#[derive(Debug)]
struct Loaded {
    niceness: u8,
    /// Lowest priority at which their scheduler groups were seen.
    group: Option<i32>,
    latency: Latency,
}

impl Loaded {
    fn by(niceness: u8) -> Self {
        Self {
            niceness,
            group: None,
            latency: Latency::default(),
        }
    }

    fn report(&self, quiet: &Latency) -> Value {
        let times = self.latency.subject.quantile(0.5) / quiet.subject.quantile(0.5);
        json!({
            "niceness": self.niceness,
            "autogroup": self.group,
            "commits": self.latency.report(),
            "p50_to_quiet": round(times),
        })
    }
}

/// Latencies of one condition.
#[derive(Debug, Default)]
struct Latency {
    bare: Sample,
    subject: Sample,
}

impl Latency {
    fn report(&self) -> Value {
        json!({ "bare": self.bare.report(), "admission": self.subject.report() })
    }
}

/// A busy agent to write to, and a file for the same rows bare.
struct Desk {
    host: Host,
    agents: [AgentId; 1],
    bare: Bare,
    rows: Rows,
}

impl Desk {
    async fn open(dir: &Path) -> Result<Self, Box<dyn Error>> {
        let bare_db = dir.join("bare.sqlite3");
        let rows = admission_rows(&bare_db).await?;
        let host = world::host(&dir.join("holon.sqlite3"), FixedModel::Held).await?;
        let agent_id = world::agent(&host, "busy").await?;
        host.control().admit(&agent_id, world::prompt()).await?;
        Ok(Self {
            host,
            agents: [agent_id],
            bare: Bare::open(&bare_db)?,
            rows,
        })
    }

    async fn block(&mut self, latency: &mut Latency) -> Result<(), Box<dyn Error>> {
        latency.bare.extend(self.bare.write(&self.rows, EACH)?);
        let admitted = block(&self.host, &self.agents, EACH).await?;
        latency.subject.extend(admitted);
        Ok(())
    }
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A loop without end for every processor.
fn loops() -> String {
    let each = "(while :; do :; done) & ";
    format!("{}wait", each.repeat(processors()))
}

/// Two jobs for every processor, each over and over a pipeline of short processes and a file that is synced.
fn build() -> String {
    let job = "job() { while :; do head -c 200000 /dev/zero | cksum > sum.$1; \
               dd if=/dev/zero of=object.$1 bs=64k count=4 conv=fsync 2> log.$1; done; }; ";
    let jobs: String = (0..2 * processors())
        .map(|n| format!("job {n} & "))
        .collect();
    format!("{job}{jobs}wait")
}

struct Load {
    tasks: [ShimmedCommand; 2],
    niceness: u8,
    _places: [Place; 2],
}

impl Load {
    async fn start(image: &Image, niceness: u8) -> Fallible<Self> {
        let places = [Place::new()?, Place::new()?];
        let spec = |place: &Place, cmd: &str| ShimSpec {
            niceness,
            ..place.spec(cmd)
        };
        let [first, second] = &places;
        let specs = (spec(first, &loops()), spec(second, &build()));
        let first = shim::start(image, specs.0).await?;
        let second = shim::start(image, specs.1).await?;
        Ok(Self {
            tasks: [first, second],
            niceness,
            _places: places,
        })
    }

    /// Waits until the load is what it will be, and says how far the commands' groups have stepped back; nothing where
    /// the system makes no groups.
    async fn settled(&self) -> Fallible<Option<i32>> {
        let mut seen = None;
        for _ in 0..LOOKS {
            let mut groups = Vec::new();
            for task in &self.tasks {
                groups.push(group(shim::command_pid(task)?));
            }
            seen = groups.first().copied().flatten();
            let is_there =
                |group: &Option<i32>| group.is_none_or(|group| group == i32::from(self.niceness));
            if groups.iter().all(is_there) {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        tokio::time::sleep(SWING).await;
        Ok(seen)
    }

    async fn stop(self) -> Fallible<()> {
        for task in &self.tasks {
            task.stop(Duration::ZERO).await?;
        }
        Ok(())
    }
}

/// Reads the priority of the scheduler group of a process.
fn group(pid: u32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/autogroup")).ok()?;
    text.trim().rsplit(' ').next()?.parse().ok()
}
