//! Hands inputs to the kernel inside the writer's next commit, and converts the writer's errors.

use super::Shell;
use crate::error::Error;
use crate::kernel::{
    DeliveredInput, HandleResult, Kernel, KeyedInput, PostCommitWork, Reach, Refusal,
};
use holon_core::import::ImportedAgent;
use holon_core::input::{NewAgent, TaskCommand};
use holon_core::{Input, Reply};
use holon_domain::agent::RunEnd;
use holon_domain::message::Body;
use holon_domain::request_key::RequestKey;
use holon_domain::{AgentId, Entropy, Timestamp};
use holon_store::{Ledger, WriteError, WriteOrder, commit};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Assumed size of an input in a batch when its real size is not worth computing.
const OUTCOME_BYTES: usize = 16 << 10;

/// A way of the kernel to decide about one input.
type Handle =
    fn(&Kernel, &mut dyn Ledger, &AgentId, &Input, Timestamp, &mut dyn Entropy) -> HandleResult;

impl Shell {
    /// Hands one input to the writer and returns after its commit. If the commit cannot be confirmed, the agents it
    /// touched are checked in the background.
    ///
    /// A decision that fails twice in the same way (contradictory rows, a panic) puts its agent aside, because the next
    /// caller would meet the same fault.
    pub(crate) async fn submit(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        input: Input,
    ) -> Result<Reply, Error> {
        self.submit_keyed(agent_id, sender, None, input).await
    }

    /// Hands one input of a request that may have a key to the writer. Only requests of clients have one.
    pub(crate) async fn submit_keyed(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        key: Option<&Arc<RequestKey>>,
        input: Input,
    ) -> Result<Reply, Error> {
        let keys = key.map_or(Keys::None, |key| Keys::Request(Arc::clone(key)));
        self.submit_with(agent_id, sender, keys, input).await
    }

    /// Hands a delivery from outside to the writer. A repetition of it gets the reply of the first.
    pub(crate) async fn submit_incoming(
        &self,
        agent_id: &AgentId,
        reach: Reach,
        keys: Vec<RequestKey>,
        input: Input,
    ) -> Result<Reply, Error> {
        let sender = match reach {
            Reach::Any => Sender::OwnRun,
            Reach::Public => Sender::Client,
        };
        holon_fault::hit("delivery.received");
        let keys = Keys::Delivery(reach, keys.into());
        let reply = self.submit_with(agent_id, sender, keys, input).await;
        holon_fault::hit("delivery.committed");
        reply
    }

    async fn submit_with(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        keys: Keys,
        input: Input,
    ) -> Result<Reply, Error> {
        let (input, touched) = (Arc::new(input), TouchedAgents::default());
        let seen = self.take_backs.of(agent_id);
        let attempt = || async {
            match &keys {
                Keys::Request(key) => self.try_submit_keyed(agent_id, key, &input, &touched).await,
                Keys::Delivery(reach, keys) => {
                    self.try_deliver(agent_id, *reach, keys, &input, &touched)
                        .await
                }
                Keys::None => self.try_submit(agent_id, sender, &input, &touched).await,
            }
        };
        let mut outcome = attempt().await;
        if matches!(outcome, Err(Error::Internal { .. })) {
            outcome = attempt().await;
        }
        if let Err(Error::Internal { message }) = outcome {
            self.put_aside(agent_id, message.clone(), seen).await;
            outcome = Err(Error::AgentAside {
                agent_id: agent_id.clone(),
                reason: message,
            });
        }
        if outcome == Err(Error::CommitUnknown) {
            for agent_id in touched.all(agent_id) {
                self.spawn_clear_up(agent_id);
            }
        }
        match sender.reach() {
            Reach::Any => outcome,
            Reach::Public => self.hide_private(agent_id, outcome).await,
        }
    }

    /// Hands one input to the writer once. The input is shared, so that running the decision again copies no answer.
    pub(super) async fn try_submit(
        &self,
        agent_id: &AgentId,
        sender: Sender,
        input: &Arc<Input>,
        touched: &TouchedAgents,
    ) -> Result<Reply, Error> {
        let (bytes, input) = (input_bytes(input), Arc::clone(input));
        let order = sender.order(bytes);
        let handle: Handle = match sender.reach() {
            Reach::Any => Kernel::handle,
            Reach::Public => Kernel::handle_for_client,
        };
        let (shell, id) = (self.clone(), agent_id.clone());
        self.decide(agent_id, order, touched, move |ledger, now, entropy| {
            handle(&shell.kernel, ledger, &id, &input, now, entropy)
        })
        .await
    }

    /// Hands one input of a client's request with a key to the writer once.
    async fn try_submit_keyed(
        &self,
        agent_id: &AgentId,
        key: &Arc<RequestKey>,
        input: &Arc<Input>,
        touched: &TouchedAgents,
    ) -> Result<Reply, Error> {
        let order = WriteOrder::client(input_bytes(input));
        let (input, key) = (Arc::clone(input), Arc::clone(key));
        let (shell, id) = (self.clone(), agent_id.clone());
        self.decide(agent_id, order, touched, move |ledger, now, entropy| {
            let kernel = &shell.kernel;
            let keyed = KeyedInput {
                key: &key,
                input: &input,
            };
            kernel.handle_keyed(ledger, &id, keyed, now, entropy)
        })
        .await
    }

    /// Hands one delivery to the writer once.
    async fn try_deliver(
        &self,
        agent_id: &AgentId,
        reach: Reach,
        keys: &Arc<[RequestKey]>,
        input: &Arc<Input>,
        touched: &TouchedAgents,
    ) -> Result<Reply, Error> {
        let order = WriteOrder::client(input_bytes(input));
        let (input, keys) = (Arc::clone(input), Arc::clone(keys));
        let (shell, id) = (self.clone(), agent_id.clone());
        self.decide(agent_id, order, touched, move |ledger, now, entropy| {
            let delivered = DeliveredInput {
                keys: &keys,
                input: &input,
                reach,
            };
            let kernel = &shell.kernel;
            kernel.handle_delivery(ledger, &id, delivered, now, entropy)
        })
        .await
    }

    /// Runs the kernel on one agent inside the next commit, and starts the work that the commit asks for.
    pub(super) async fn decide(
        &self,
        agent_id: &AgentId,
        order: WriteOrder,
        touched: &TouchedAgents,
        mut handle: impl FnMut(&mut dyn Ledger, Timestamp, &mut dyn Entropy) -> HandleResult
        + Send
        + 'static,
    ) -> Result<Reply, Error> {
        let (shell, touched) = (self.clone(), touched.clone());
        let seen = self.take_backs.of(agent_id);
        let began = self.ports.clock.elapsed();
        let handled = commit(self.store.as_ref(), order, move |ledger| -> HandleResult {
            let mut entropy = shell.ports.entropy.source();
            let now = shell.ports.clock.now();
            let handled = handle(ledger, now, entropy.as_mut())?;
            Ok(handled.inspect(|handled| {
                touched.add(&handled.work);
                shell.dispatch_after(ledger, handled.work.clone());
            }))
        })
        .await;
        if handled.is_ok() {
            let took = self.ports.clock.elapsed().saturating_sub(began);
            self.commit_times.count(took);
        }
        match handled {
            Ok(Ok(handled)) => Ok(handled.reply),
            Ok(Err(refusal)) => Err(refusal_error(agent_id, refusal)),
            Err(error) => Err(self.note_write_failure(agent_id, error, seen).await),
        }
    }

    /// Creates an agent and returns after the commit.
    pub(crate) async fn create(&self, new: NewAgent) -> Result<(), Error> {
        let shell = self.clone();
        let agent_id = new.identity.agent_id.clone();
        if new.run.is_some_and(|run| run.when_over == RunEnd::Remove) {
            self.note_temporary(agent_id.clone());
        }
        self.make(agent_id, 0, move |ledger, now, entropy| {
            shell.kernel.create(ledger, new.clone(), now, entropy)
        })
        .await
    }

    /// Makes an agent from an archive and returns after the commit. `bytes` is the size of its record. `kept` is the reply
    /// that is kept for a request with a key, in the same commit.
    pub(crate) async fn import(
        &self,
        imported: ImportedAgent,
        bytes: usize,
        kept: Option<(Arc<RequestKey>, String)>,
    ) -> Result<(), Error> {
        let shell = self.clone();
        let agent_id = imported.new.identity.agent_id.clone();
        let id = agent_id.clone();
        self.make(agent_id, bytes, move |ledger, now, entropy| {
            let work = shell
                .kernel
                .import(ledger, imported.clone(), now, entropy)?;
            if let Some((key, reply)) = &kept {
                ledger.keep_reply(key, Some(&id), reply, now)?;
            }
            Ok(work)
        })
        .await
    }

    /// Makes an agent inside the next commit, and starts the work that the commit asks for.
    async fn make(
        &self,
        agent_id: AgentId,
        bytes: usize,
        mut make: impl FnMut(
            &mut dyn Ledger,
            Timestamp,
            &mut dyn Entropy,
        ) -> Result<PostCommitWork, holon_store::Error>
        + Send
        + 'static,
    ) -> Result<(), Error> {
        let shell = self.clone();
        let order = WriteOrder::client(bytes);
        let made = commit(self.store.as_ref(), order, move |ledger| {
            let mut entropy = shell.ports.entropy.source();
            let now = shell.ports.clock.now();
            let work = make(ledger, now, entropy.as_mut())?;
            shell.dispatch_after(ledger, work);
            Ok(())
        })
        .await;
        if matches!(made, Err(WriteError::CommitUnknown)) {
            self.spawn_clear_up(agent_id.clone());
        }
        made.map_err(|error| match error {
            WriteError::Store(holon_store::Error::AgentExists { .. }) => Error::AgentConflict {
                agent_id,
                reason: "the name is taken".to_owned(),
            },
            other => engine_error(other),
        })
    }
}

/// The keys under which the reply to an input is kept.
enum Keys {
    None,
    /// Key of a client's request.
    Request(Arc<RequestKey>),
    /// Keys of a delivery from outside.
    Delivery(Reach, Arc<[RequestKey]>),
}

/// The origin of an input, which limits the agents it can reach, and decides if a full inbox refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A client of the control plane. It can act on public agents only.
    Client,
    /// A client whose run has an agent of its own, which is private.
    OwnRun,
    /// The runtime itself, about any agent.
    Runtime,
}

impl Sender {
    const fn reach(self) -> Reach {
        match self {
            Self::Client => Reach::Public,
            Self::OwnRun | Self::Runtime => Reach::Any,
        }
    }

    const fn order(self, bytes: usize) -> WriteOrder {
        match self {
            Self::Client | Self::OwnRun => WriteOrder::client(bytes),
            Self::Runtime => WriteOrder::runtime(bytes),
        }
    }
}

/// The agents that a commit made decisions about, readable also if the commit is unconfirmed. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TouchedAgents(Arc<Mutex<BTreeSet<AgentId>>>);

impl TouchedAgents {
    pub(super) fn add(&self, work: &PostCommitWork) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(work.touched.iter().cloned());
    }

    /// Returns the agents of the commit.
    pub(super) fn iter(&self) -> impl Iterator<Item = AgentId> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.clone().into_iter()
    }

    /// Returns the agents of the commit, always including the agent of the input.
    pub(crate) fn all(&self, of: &AgentId) -> BTreeSet<AgentId> {
        let mut all = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        all.insert(of.clone());
        all
    }
}

/// Estimates the size of an input in a batch.
pub(super) fn input_bytes(input: &Input) -> usize {
    match input {
        Input::Admit(ingress)
        | Input::FromCommand { ingress, .. }
        | Input::OperatorMessage { ingress, .. } => match &ingress.body {
            Body::Text { text } | Body::Brief { text, .. } => text.len(),
            Body::Json { .. } => OUTCOME_BYTES,
        },
        Input::RoundAnswered { answer, .. } => answer.bytes(),
        Input::Task(TaskCommand::Start(new)) => new.command.cmd.len(),
        Input::Callback(delivery) => usize::try_from(delivery.content.bytes).unwrap_or(usize::MAX),
        Input::Configure { .. }
        | Input::HomePrepared { .. }
        | Input::HomeRemoved { .. }
        | Input::AttemptFailed { .. }
        | Input::ToolFinished { .. }
        | Input::Received(_)
        | Input::Deliver { .. }
        | Input::Defer { .. }
        | Input::TaskStarted { .. }
        | Input::TaskEnded { .. }
        | Input::PatchFinished { .. }
        | Input::BatchStopped { .. }
        | Input::WorktreeCleaned { .. }
        | Input::DeliverySubmitted { .. }
        | Input::Lane { .. }
        | Input::Operator(_)
        | Input::DueCame { .. }
        | Input::ClockSetBack { .. }
        | Input::HostStops
        | Input::HistoryRemoval { .. }
        | Input::Start
        | Input::Stop
        | Input::Archive
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. }
        | Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::BudgetChanged
        | Input::CallMeasured { .. }
        | Input::CredentialRenewed { .. }
        | Input::WakeHint(_)
        | Input::Trigger(_)
        | Input::Work(_)
        | Input::Workspace(_)
        | Input::Skill(_)
        | Input::Context(_)
        | Input::Task(TaskCommand::Stop { .. } | TaskCommand::Input { .. })
        | Input::Abort { .. }
        | Input::Continue => OUTCOME_BYTES,
    }
}

fn refusal_error(agent_id: &AgentId, refusal: Refusal) -> Error {
    match refusal {
        Refusal::NotFound => Error::AgentNotFound {
            agent_id: agent_id.clone(),
        },
        Refusal::KeyReused => Error::KeyReused,
        Refusal::ReplyRemoved => Error::OutcomeRemoved {
            agent_id: Some(agent_id.clone()),
        },
        Refusal::ReplyUnreadable => Error::OutcomeUnreadable {
            agent_id: Some(agent_id.clone()),
        },
        Refusal::Rejected(rejection) => rejection.into(),
    }
}

pub(crate) fn engine_error(error: WriteError) -> Error {
    match error {
        WriteError::Overloaded => Error::Overloaded,
        WriteError::DiskFull => Error::DiskFull,
        WriteError::CommitUnknown => Error::CommitUnknown,
        WriteError::StoreLost(lost) => lost.into(),
        WriteError::Closed => Error::ShuttingDown,
        WriteError::Panicked { message } => Error::Internal { message },
        WriteError::Store(
            holon_store::Error::Contradiction { what: message }
            | holon_store::Error::Encode { reason: message },
        ) => Error::Internal { message },
        WriteError::Store(error) => error.into(),
    }
}
