//! Deliveries from outside, through the real program: a callback to the first byte of the model's request, many wakes of
//! many agents, and signed webhooks in alternation with the bare rows.

use crate::bare::{Bare, Rows};
use crate::delta::{opening, read_request, rest};
use crate::program::{Fallible, HELD, Served, expect_ok, home, script};
use crate::stats::{Sample, rate, round};
use crate::wire::Wire;
use holon_domain::{hmac, limits};
use holon_store::Db;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// Callbacks before the measured ones.
const UNMEASURED: usize = 5;
/// Callbacks to one agent, one after the other.
const IN_A_ROW: u64 = 10;
const SECRET: &str = "the secret of the bench";

/// From the first byte of a callback to the first byte of the request that it leads to.
pub(crate) async fn to_first_byte(holon: &Path, times: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let mut provider = Provider::start().await?;
    std::fs::write(home.join("config.toml"), provider.settings())?;
    let served = Served::start_with(holon, &home, "bench/model").await?;
    let mut operator = served.wire().await?;
    let mut sender = served.wire().await?;
    let mut subject = Sample::default();
    for time in 0..UNMEASURED + times {
        // Further wakes of the same agent would wait for the pause between ticks.
        let agent = format!("woken{time}");
        let path = capability(&mut operator, &agent).await?;
        let mut watcher = served.wire().await?;
        watcher
            .stream(&format!("/agents/{agent}/events/stream"))
            .await?;
        let began = Instant::now();
        expect_ok(sender.request("POST", &path, r#"{"build":7}"#).await?)?;
        let came = provider.came().await?;
        if time >= UNMEASURED {
            subject.add(came.duration_since(began));
        }
        watcher.await_event("turn_terminal").await?;
    }
    Ok(json!({
        "callback_to_first_byte": subject.report(),
        "p50_us_aim": 4_000, "p99_us_aim": 10_000,
    }))
}

/// From a callback to the first byte of the request that it leads to, for ten callbacks to one agent in a row, each after the
/// turn of the one before.
pub(crate) async fn ten_in_a_row(holon: &Path, agents: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let mut provider = Provider::start().await?;
    std::fs::write(home.join("config.toml"), provider.settings())?;
    let served = Served::start_with(holon, &home, "bench/model").await?;
    let mut operator = served.wire().await?;
    let mut sender = served.wire().await?;
    let (mut at_once, mut spaced) = (Sample::default(), Sample::default());
    for number in 0..agents {
        let agent = format!("woken{number}");
        let path = capability(&mut operator, &agent).await?;
        let mut watcher = served.wire().await?;
        watcher
            .stream(&format!("/agents/{agent}/events/stream"))
            .await?;
        for call in 0..IN_A_ROW {
            let began = Instant::now();
            expect_ok(sender.request("POST", &path, r#"{"build":7}"#).await?)?;
            let took = provider.came().await?.duration_since(began);
            if call < limits::HINT_TICKS_AT_ONCE {
                at_once.add(took);
            } else {
                spaced.add(took);
            }
            watcher.await_event("turn_terminal").await?;
        }
    }
    Ok(json!({
        "at_once": at_once.report(), "p50_us_aim": 4_000, "p99_us_aim": 10_000,
        "spaced": spaced.report(), "spaced_max_us_aim": limits::HINT_TICK_PAUSE_MS * 1_000,
    }))
}

/// Wakes many agents many times, all at once, and reports what is left pending.
pub(crate) async fn wakes(holon: &Path, agents: usize, each: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut operator = served.wire().await?;
    let mut senders = Vec::new();
    for n in 0..agents {
        let path = capability(&mut operator, &format!("woken-{n}")).await?;
        senders.push((served.wire().await?, path));
    }
    let before = crate::memory::kib(served.pid(), crate::memory::RESIDENT)?;
    let began = Instant::now();
    let tasks: Vec<_> = senders
        .into_iter()
        .map(|(wire, path)| tokio::spawn(send_wakes(wire, path, each)))
        .collect();
    let (mut sample, mut statuses) = (Sample::default(), BTreeMap::<u16, usize>::new());
    for task in tasks {
        let (one, counted) = task.await??;
        sample.extend(one);
        for (status, count) in counted {
            *statuses.entry(status).or_default() += count;
        }
    }
    let took = began.elapsed();
    let after = crate::memory::kib(served.pid(), crate::memory::RESIDENT)?;
    let (_, status) = operator
        .request("GET", "/agents/woken-0/status", "")
        .await?;
    let status: Value = serde_json::from_str(&status)?;
    let statuses: BTreeMap<String, usize> = statuses
        .into_iter()
        .map(|(status, count)| (status.to_string(), count))
        .collect();
    Ok(json!({
        "calls": agents * each, "per_second": rate(agents * each, took),
        "call": sample.report(), "statuses": statuses,
        "pending_hints_of_one_agent": status["agent"]["pending_wake_hint"]["count"],
        "resident_kib_more": round(after - before),
    }))
}

async fn send_wakes(
    mut wire: Wire,
    path: String,
    each: usize,
) -> Fallible<(Sample, BTreeMap<u16, usize>)> {
    let (mut sample, mut statuses) = (Sample::default(), BTreeMap::new());
    for _ in 0..each {
        let began = Instant::now();
        let (status, _) = wire.request("POST", &path, r#"{"changed":true}"#).await?;
        sample.add(began.elapsed());
        *statuses.entry(status).or_default() += 1;
    }
    Ok((sample, statuses))
}

/// Signed webhooks of some senders, each to an agent of its own, in alternation with the bare rows.
pub(crate) async fn webhooks(holon: &Path, senders: usize, per_block: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut wires = Vec::new();
    let mut operator = served.wire().await?;
    accept_webhooks(&mut operator, "main").await?;
    for n in 0..senders {
        let name = format!("sender-{n}");
        let create = format!("/control/agents/{name}/create");
        expect_ok(operator.request("POST", &create, "{}").await?)?;
        accept_webhooks(&mut operator, &name).await?;
        let mut wire = served.wire().await?;
        expect_ok(send_webhook(&mut wire, &name, usize::MAX).await?)?;
        wires.push(wire);
    }
    let db = home.join("state/holon.sqlite3");
    expect_ok(send_webhook(&mut operator, "main", 1).await?)?;
    let before = Rows::marks(&db)?;
    expect_ok(send_webhook(&mut operator, "main", 2).await?)?;
    let rows = Rows::learn(&db, &before)?;
    let bare_db = dir.path().join("bare.sqlite3");
    Db::open(&bare_db)?.close()?;
    let mut bare = Bare::open(&bare_db)?;
    let (mut baseline, mut subject) = (Sample::default(), Sample::default());
    let (mut bare_time, mut time) = (Duration::ZERO, Duration::ZERO);
    let each = per_block / senders;
    for block in 0..8 {
        let began = Instant::now();
        baseline.extend(bare.write(&rows, per_block)?);
        bare_time += began.elapsed();
        let began = Instant::now();
        let (sample, back) = webhook_block(wires, block, each).await?;
        time += began.elapsed();
        subject.extend(sample);
        wires = back;
    }
    let (bare_rate, http_rate) = (
        rate(per_block * 8, bare_time),
        rate(each * senders * 8, time),
    );
    Ok(json!({
        "bare": baseline.report(), "bare_per_second": bare_rate,
        "subject": subject.report(), "per_second": http_rate,
        "share_of_bare_rate": round(http_rate / bare_rate * 100.0),
    }))
}

async fn webhook_block(
    wires: Vec<Wire>,
    block: usize,
    each: usize,
) -> Fallible<(Sample, Vec<Wire>)> {
    let mut tasks = Vec::new();
    for (n, mut wire) in wires.into_iter().enumerate() {
        tasks.push(tokio::spawn(async move {
            let (mut sample, name) = (Sample::default(), format!("sender-{n}"));
            for time in 0..each {
                let began = Instant::now();
                let sent = send_webhook(&mut wire, &name, block * each + time);
                expect_ok(sent.await?)?;
                sample.add(began.elapsed());
            }
            Fallible::Ok((sample, wire))
        }));
    }
    let (mut all, mut back) = (Sample::default(), Vec::new());
    for task in tasks {
        let (sample, wire) = task.await??;
        all.extend(sample);
        back.push(wire);
    }
    Ok((all, back))
}

async fn accept_webhooks(operator: &mut Wire, name: &str) -> Fallible<()> {
    let target = format!("/control/agents/{name}/webhook");
    let body = json!({ "secret": SECRET }).to_string();
    expect_ok(operator.request("POST", &target, &body).await?)
}

/// Sends a webhook signed as GitHub signs it. Each number is another delivery.
async fn send_webhook(wire: &mut Wire, name: &str, number: usize) -> Fallible<(u16, String)> {
    let body = format!(r#"{{"action":"completed","number":{number}}}"#);
    let mac = hmac::hex(&hmac::hmac_sha256(SECRET.as_bytes(), &[body.as_bytes()]));
    let headers = format!(
        "x-github-event: check_run\r\nx-github-delivery: {name}-{number}\r\nx-hub-signature-256: sha256={mac}\r\n"
    );
    let target = format!("/webhooks/generic/{name}");
    wire.request_with("POST", &target, &headers, &body).await
}

/// Tokens that were never given out and a token that was revoked, in alternation: both get the same answer, and the
/// difference of their medians is all that a guesser could see. Stays within the allowance for guesses.
pub(crate) async fn guesses(holon: &Path, times: usize) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let home = home(dir.path())?;
    let served = Served::start(holon, &home, &script(dir.path(), HELD)?).await?;
    let mut operator = served.wire().await?;
    let revoked = capability(&mut operator, "woken").await?;
    let (_, listed) = operator
        .request("GET", "/agents/woken/external-triggers", "")
        .await?;
    let listed: Value = serde_json::from_str(&listed)?;
    let id = listed[0]["id"].as_str().ok_or("no trigger")?;
    let revoke = format!("/control/agents/woken/external-triggers/{id}/revoke");
    expect_ok(operator.request("POST", &revoke, "").await?)?;
    let mut sender = served.wire().await?;
    let (mut of_unknown, mut of_revoked) = (Sample::default(), Sample::default());
    let mut bodies = std::collections::BTreeSet::new();
    for time in 0..times {
        let unknown = format!("/callbacks/wake/hct_{time:020x}00000001{time:064x}");
        for (path, sample) in [(&unknown, &mut of_unknown), (&revoked, &mut of_revoked)] {
            let began = Instant::now();
            let (status, body) = sender.request("POST", path, "{}").await?;
            sample.add(began.elapsed());
            bodies.insert((status, body));
        }
    }
    let apart = (of_unknown.quantile(0.5) - of_revoked.quantile(0.5)).abs();
    Ok(json!({
        "unknown": of_unknown.report(), "revoked": of_revoked.report(),
        "different_answers": bodies.len(),
        "p50_apart_us": round(apart), "p50_apart_us_aim": 50,
    }))
}

/// Makes an agent and returns the path of its wake URL.
async fn capability(operator: &mut Wire, name: &str) -> Fallible<String> {
    let create = format!("/control/agents/{name}/create");
    expect_ok(operator.request("POST", &create, "{}").await?)?;
    let list = format!("/agents/{name}/external-triggers");
    let (_, listed) = operator.request("GET", &list, "").await?;
    let listed: Value = serde_json::from_str(&listed)?;
    let id = listed[0]["id"].as_str().ok_or("no trigger")?;
    let reveal = format!("/control/agents/{name}/external-triggers/{id}/reveal");
    let (_, revealed) = operator.request("POST", &reveal, "").await?;
    let revealed: Value = serde_json::from_str(&revealed)?;
    let url = revealed["trigger_url"].as_str().ok_or("no URL")?;
    let at = url.find("/callbacks/").ok_or("another URL")?;
    Ok(url.get(at..).unwrap_or_default().to_owned())
}

/// A chat-completions server that reports the time of the first byte of each request for an answer.
struct Provider {
    addr: String,
    came: mpsc::UnboundedReceiver<Instant>,
}

impl Provider {
    async fn start() -> Fallible<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?.to_string();
        let (sender, came) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, sender.clone()));
            }
        });
        Ok(Self { addr, came })
    }

    fn settings(&self) -> String {
        format!(
            "[providers.bench]\ntransport = \"openai_chat_completions\"\nbase_url = \"http://{}/v1\"\n",
            self.addr
        )
    }

    async fn came(&mut self) -> Fallible<Instant> {
        Ok(self.came.recv().await.ok_or("the provider ended")?)
    }
}

async fn serve(stream: TcpStream, came: mpsc::UnboundedSender<Instant>) -> Fallible<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        if stream.fill_buf().await?.is_empty() {
            return Ok(());
        }
        let at = Instant::now();
        let first = read_request(&mut stream).await?;
        if !first.starts_with("POST /v1/chat/completions ") {
            let none = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(none).await?;
            continue;
        }
        came.send(at)?;
        let answer = format!("{}{}", opening(), rest());
        stream.write_all(answer.as_bytes()).await?;
    }
}
