//! One command through the engine, against a bare spawn of the same shell; and how long a shim takes from its spec to
//! the command's program.
//!
//! The model is instant, so the time between its answer, which asks for the command, and its next request is the
//! runtime's and the command's own. A host whose commands take no time shows the runtime's part alone.

use crate::admission::turn;
use crate::program::{Fallible, plainly};
use crate::shim::{Place, SHELL};
use crate::stats::{Sample, round};
use crate::world;
use async_trait::async_trait;
use holon_daemon::Commands;
use holon_domain::AgentId;
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::{HomeHost, ModelClient, Ports};
use holon_engine::request::{HomeChoice, WorkspaceChoice};
use holon_engine::{Host, HostConfig};
use holon_process::{Image, Shims, start_latencies};
use holon_store::Db;
use holon_testkit::ports::{FixedModel, WIDE_POLICY};
use holon_workspace::ClaimFolders;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Blocks of baseline and subject, in alternation.
const BLOCKS: usize = 8;
/// Commands of one block.
const EACH: u32 = 25;

pub(crate) async fn added(holon: &Path) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let claims = ClaimFolders::of_host(dir.path());
    let commands = Commands::new(Image::of(holon)?, None, Vec::new(), claims);
    let commanding = |ports| Ports {
        command: Arc::new(commands),
        ..ports
    };
    let real = Subject::start(&dir.path().join("real"), commanding).await?;
    real.check().await?;
    let alone = Subject::start(&dir.path().join("alone"), |ports| ports).await?;
    let image = Shims::new(Image::of(holon)?);
    let (mut bare, mut bare_exec, mut exec) =
        (Sample::default(), Sample::default(), Sample::default());
    for _ in 0..BLOCKS {
        for _ in 0..EACH {
            let (executed, ended) = bare_spawn()?;
            bare_exec.add(executed);
            bare.add(ended);
        }
        real.turns().await?;
        alone.turns().await?;
        exec.extend(plainly(shims(&image).await)?);
    }
    let (subject, alone) = (real.finish().await?, alone.finish().await?);
    let added = subject.quantile(0.5) - bare.quantile(0.5);
    Ok(json!({
        "bare_spawn": bare.report(),
        "engine_alone": alone.report(),
        "answer_to_next_request": subject.report(),
        "added_p50_us": round(added),
        "added_p50_us_aim": 6_000,
        "bare_spawn_to_exec": bare_exec.report(),
        "spec_to_exec": exec.report(),
        "spec_to_exec_p50_us_aim": 2_000,
    }))
}

/// Until the program has been executed, and until it has ended and its output is read.
fn bare_spawn() -> Result<(Duration, Duration), Box<dyn Error>> {
    let mut command = Command::new(SHELL);
    command
        .args(["-c", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let began = Instant::now();
    let child = command.spawn()?;
    let executed = began.elapsed();
    let output = child.wait_with_output()?;
    let ended = began.elapsed();
    if output.status.success() {
        Ok((executed, ended))
    } else {
        Err(format!("{command:?} ended with {}", output.status).into())
    }
}

async fn shims(image: &Shims) -> Fallible<Sample> {
    let places: Vec<Place> = (0..EACH).map(|_| Place::new()).collect::<Fallible<_>>()?;
    let specs: Vec<_> = places.iter().map(|place| place.spec("true")).collect();
    let mut specs = specs.into_iter();
    let next = |_| specs.next().unwrap_or_else(|| unreachable!("one for each"));
    let latencies = start_latencies(image, EACH, next).await;
    let mut sample = Sample::default();
    for latency in latencies.map_err(|failure| failure.to_string())? {
        sample.add(latency);
    }
    Ok(sample)
}

/// A host with one agent whose model asks for the command in every turn.
struct Subject {
    host: Host,
    agent_id: AgentId,
    model: Arc<Asking>,
}

impl Subject {
    async fn start(dir: &Path, bind: impl FnOnce(Ports) -> Ports) -> Result<Self, Box<dyn Error>> {
        let agents_dir = dir.join("agents");
        std::fs::create_dir_all(&agents_dir)?;
        let db_path = dir.join("holon.sqlite3");
        let model = Arc::new(Asking::default());
        let ports = bind(Ports {
            model: Arc::clone(&model) as Arc<dyn ModelClient>,
            home: Arc::new(Homes),
            ..world::ports(FixedModel::OneTool)
        });
        let config = HostConfig {
            db_path: db_path.clone(),
            agents_dir: agents_dir.to_string_lossy().into_owned(),
            default_agent: AgentId::parse("main")?,
            models: ModelChain::only(ModelRef::parse("bench/instant")?),
            conduct: holon_engine::Conduct::default(),
        };
        let host = Host::start(config, ports, Db::open(&db_path)?).await?;
        let agent_id = world::agent(&host, "worker").await?;
        // The first command waits for the environment of a login; it is not counted.
        turn(&host, &agent_id).await?;
        model.lock().between = Sample::default();
        Ok(Self {
            host,
            agent_id,
            model,
        })
    }

    /// A command that could not run would be a fast one.
    async fn check(&self) -> Result<(), Box<dyn Error>> {
        let transcript = self.host.reads().transcript(&self.agent_id, 10).await?;
        let said = serde_json::to_string(&transcript)?;
        if said.contains(r#""exit_status":0"#) {
            Ok(())
        } else {
            Err(format!("the command did not run: {said}").into())
        }
    }

    async fn turns(&self) -> Result<(), Box<dyn Error>> {
        for _ in 0..EACH {
            turn(&self.host, &self.agent_id).await?;
        }
        Ok(())
    }

    async fn finish(self) -> Result<Sample, Box<dyn Error>> {
        self.host.shut_down().await?;
        Ok(std::mem::take(&mut self.model.lock().between))
    }
}

/// The model that asks for one command, and says how long it took until it was told the result.
#[derive(Debug, Default)]
struct Asking(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    answered: Option<Instant>,
    between: Sample,
}

impl Asking {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ModelClient for Asking {
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let answered = self.lock().answered.take();
        if let Some(answered) = answered {
            self.lock().between.add(answered.elapsed());
        }
        let asks = request.round == 1;
        let reply = FixedModel::OneTool.call(request, text, cancel).await;
        if asks {
            self.lock().answered = Some(Instant::now());
        }
        reply
    }

    async fn check(&self, _: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _: &ModelRef) -> ModelPolicy {
        WIDE_POLICY
    }
}

/// Homes that are there.
#[derive(Debug)]
struct Homes;

#[async_trait]
impl HomeHost for Homes {
    async fn prepare(&self, _: &AgentId, agent_home: &str) -> Result<(), String> {
        std::fs::create_dir_all(agent_home).map_err(|error| error.to_string())
    }
    async fn seed(&self, _: &AgentId, _: &str) -> Result<(), String> {
        Ok(())
    }
    async fn make_from_template(&self, _: &str, _: &HomeChoice) -> Result<(), String> {
        Ok(())
    }
    async fn remove(&self, _: &AgentId, agent_home: &str) -> Result<(), String> {
        std::fs::remove_dir_all(agent_home).map_err(|error| error.to_string())
    }
    async fn workspace(
        &self,
        _: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(agent_home))
    }
}
