//! A home of a thousand agents with a hundred messages each: restart to ready, and reads at that size. And the other end: a
//! home that does not exist yet.

use crate::backlog::{message, public_agent};
use crate::program::{Fallible, HELD, INSTANT, Served, expect_ok, home, script};
use crate::stats::Sample;
use crate::world;
use holon_core::{HostConditions, Input, Stamp};
use holon_domain::AgentId;
use holon_domain::model::{ModelChain, ModelRef};
use holon_engine::SharedConditions;
use holon_engine::kernel::Kernel;
use holon_engine::ports::Ports;
use holon_store::{Db, Tx};
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::path::Path;

/// Agents of one commit while the database is filled.
const PER_COMMIT: usize = 20;
/// Number of measured reads of each kind.
const READS: usize = 50;

/// Restart to ready, `/agents/list` and `/state` of a home of this size. The agents are stopped with their queues, so
/// every start recovers all of them and none calls a model.
pub(crate) async fn restart(
    holon: &Path,
    agents: usize,
    messages: usize,
    starts: usize,
) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    fill(&home.join("state/holon.sqlite3"), agents, messages)?;
    let script = script(dir.path(), HELD)?;
    // The first start makes the default agent and the token; it is not counted.
    drop(Served::start(holon, &home, &script).await?);
    let mut ready = Sample::default();
    for _ in 0..starts {
        let served = Served::start(holon, &home, &script).await?;
        ready.add(served.healthy_after);
    }
    let served = Served::start(holon, &home, &script).await?;
    let list = reads(&served, "/agents/list").await?;
    let state = reads(&served, &format!("/agents/{}/state", name(0)?)).await?;
    Ok(json!({
        "agents": agents,
        "messages": agents * messages,
        "restart_to_ready": ready.report(),
        "agents_list": list.report(),
        "state": state.report(),
    }))
}

/// Start to healthy of a home that does not exist yet.
pub(crate) async fn fresh(holon: &Path, starts: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let script = script(dir.path(), INSTANT)?;
    let mut healthy = Sample::default();
    for number in 0..starts {
        let home = dir.path().join(format!("fresh-{number}"));
        let served = Served::start(holon, &home, &script).await?;
        healthy.add(served.healthy_after);
    }
    Ok(
        json!({ "fresh_home_to_healthy": healthy.report(), "fresh_home_to_healthy_p50_us_aim": 8_000 }),
    )
}

async fn reads(served: &Served, path: &str) -> Fallible<Sample> {
    let mut wire = served.wire().await?;
    expect_ok(wire.request("GET", path, "").await?)?;
    let mut sample = Sample::default();
    for _ in 0..READS {
        let began = std::time::Instant::now();
        expect_ok(wire.request("GET", path, "").await?)?;
        sample.add(began.elapsed());
    }
    Ok(sample)
}

fn name(number: usize) -> Fallible<AgentId> {
    Ok(AgentId::parse(&format!("busy-{number}"))?)
}

fn fill(path: &Path, agents: usize, messages: usize) -> Fallible<()> {
    let models = ModelChain::only(ModelRef::parse("bench/instant")?);
    let kernel = Kernel::new(SharedConditions::new(HostConditions::new(models)));
    let ports = world::ports(FixedModel::Text);
    let mut db = Db::open(path)?;
    let names: Vec<AgentId> = (0..agents).map(name).collect::<Fallible<_>>()?;
    for group in names.chunks(PER_COMMIT) {
        db.write(|tx| {
            for agent_id in group {
                add_agent(&kernel, tx, agent_id, messages, &ports)?;
            }
            Ok(())
        })?;
    }
    Ok(db.close()?)
}

fn add_agent(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    agent_id: &AgentId,
    messages: usize,
    ports: &Ports,
) -> Result<(), holon_store::Error> {
    let now = holon_daemon::wall_clock();
    let mut entropy = ports.entropy.source();
    let work = kernel.create(tx, public_agent(agent_id), now, entropy.as_mut())?;
    let ready = work.effects.values().map(|effect| Input::HomePrepared {
        stamp: Stamp::of(effect),
        result: Ok(()),
    });
    let inputs = ready
        .chain((0..messages).map(|_| message()))
        .chain([Input::Stop]);
    for input in inputs {
        let answer = kernel.handle(tx, agent_id, &input, now, entropy.as_mut())?;
        if let Err(refusal) = answer {
            // A home that was filled in part would make the figures worthless.
            panic!("the kernel refused {input:?}: {refusal:?}");
        }
    }
    Ok(())
}
