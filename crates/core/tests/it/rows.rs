//! Writes each fact to the model store, and panics on a write that no store could make.

use crate::make;
use crate::world::{StoredMessage, World};
use holon_domain::agent::AgentRecord;
use holon_domain::attempt::AttemptRecord;
use holon_domain::decision::Fact;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::HostAction;
use holon_domain::limits;
use holon_domain::memory::{EpisodeRecord, WorkingMemoryState};
use holon_domain::queue::QueueStatus;
use holon_domain::task::{TaskKind, TaskRecord, TaskStatus};
use holon_domain::usage::UsageCharge;

impl World {
    pub(crate) fn write(&mut self, agent: AgentRecord, facts: &[Fact]) {
        facts.iter().for_each(|fact| self.write_fact(fact));
        let counted = agent.counters;
        assert_eq!(counted.messages, self.messages.len() as u64, "messages");
        assert_eq!(counted.events, self.events.len() as u64, "events");
        assert_eq!(counted.log, self.log.len() as u64, "log");
        assert_eq!(counted.briefs, self.briefs.len() as u64, "briefs");
        assert!(
            agent.generation >= self.agent.generation,
            "generations only rise"
        );
        assert_eq!(
            agent.settings, self.agent.settings,
            "settings change only by a fact"
        );
        self.agent = agent;
    }

    fn charge(&mut self, charge: &UsageCharge) {
        let item = charge.work_item_id.as_ref();
        for (key, meter) in &mut self.meters {
            let root = &charge.root_agent_id;
            if key.scope.covers(&charge.agent_id, root, item) {
                meter.spent_tokens += charge.sums().total_tokens();
                meter.spent_micro_usd += charge.sums().known_cost;
            }
        }
        self.charges.push(charge.clone());
    }

    fn write_memory(&mut self, memory: &WorkingMemoryState) {
        let (before, after) = (&self.memory, memory);
        let changed = before.current_working_memory != after.current_working_memory;
        let revision = before.working_memory_revision + u64::from(changed);
        assert_eq!(
            after.working_memory_revision, revision,
            "one change, one revision"
        );
        let archived = self.episodes.len() as u64;
        assert_eq!(
            after.archived_episode_count, archived,
            "episodes are counted"
        );
        assert_ne!(before, after, "only a change is written");
        self.memory = memory.clone();
    }

    fn archive(&mut self, episode: &EpisodeRecord) {
        assert_eq!(
            episode.seq,
            self.episodes.len() as u64 + 1,
            "episodes are dense"
        );
        let content = &episode.content;
        assert!(content.start_turn_index <= content.end_turn_index);
        assert!(content.start_message_count <= content.end_message_count);
        if let Some(last) = self.episodes.last() {
            assert!(
                last.content.end_turn_index < content.start_turn_index,
                "a turn is in one episode"
            );
        }
        assert!(episode.summary.len() <= limits::EPISODE_SUMMARY_BYTES);
        self.episodes.push(episode.clone());
    }

    fn write_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::MessageAdmitted(entry) => {
                let next = self.messages.len() as u64 + 1;
                assert_eq!(entry.seq, next, "messages are dense");
                let entry = entry.clone();
                let outcome = None;
                self.messages
                    .insert(entry.seq, StoredMessage { entry, outcome });
            }
            Fact::MessageMoved { seq, from, to } => self.move_message(*seq, *from, *to),
            Fact::MessageSettled { seq, brief } => self.settle(*seq, *brief),
            Fact::LogAppended {
                seq,
                turn_index,
                entry,
                ..
            } => {
                assert_eq!(*seq, self.log.len() as u64 + 1, "the log is dense");
                self.log.push((*turn_index, entry.clone()));
            }
            Fact::BriefWritten { seq, row } => {
                assert_eq!(*seq, self.briefs.len() as u64 + 1, "briefs are dense");
                self.briefs.push(row.clone());
            }
            Fact::EventRecorded { seq, event, .. } => {
                assert_eq!(*seq, self.events.len() as u64 + 1, "events are dense");
                self.events.push(event.clone());
            }
            Fact::EffectOpened {
                id,
                generation,
                at,
                effect,
            } => self.open(EffectRecord {
                agent_id: make::agent_id(),
                id: *id,
                generation: *generation,
                opened_at: *at,
                effect: effect.clone(),
            }),
            Fact::EffectClosed { id } => {
                let was_open = self.effects.remove(id).is_some();
                assert!(was_open, "effect {id} was open when it was closed");
            }
            Fact::DueSet { id, time, due } => {
                let before = self.due.insert(*id, (*time, due.clone()));
                assert!(before.is_none(), "due entry {id} is set once");
            }
            Fact::DueCleared { id } => {
                let was_set = self.due.remove(id).is_some();
                assert!(was_set, "due entry {id} was set when it was cleared");
            }
            Fact::TaskWritten(task) => self.write_task(task),
            Fact::LimitLearned {
                model_ref, limits, ..
            } => {
                let known = self.learned.entry(model_ref.clone()).or_default();
                *known = known.and_then(*limits);
            }
            Fact::AttemptKept { n, record } => self.keep_attempt(*n as usize, record),
            Fact::AttemptsCleared => {
                assert!(!self.attempts.is_empty(), "there is something to clear");
                self.attempts.clear();
            }
            Fact::GenerationTaken { generation } => self.take_generation(*generation),
            Fact::SettingsWritten(settings) => self.agent.settings = (**settings).clone(),
            Fact::UsageCharged(charge) => self.charge(charge),
            Fact::CallReserved(reservation) => {
                assert!(self.reserved.is_none(), "one call reserves at a time");
                self.reserved = Some((**reservation).clone());
            }
            Fact::ReservationReleased => {
                let was_reserved = self.reserved.take().is_some();
                assert!(was_reserved, "a reservation is released once");
            }
            Fact::BlobKept { .. } => {}
            Fact::WorkingMemoryWritten(memory) => self.write_memory(memory),
            Fact::EpisodeArchived(episode) => self.archive(episode),
            Fact::WorkItemWritten(item) => self.write_item(item),
            Fact::DeliverySummaryWritten(summary) => {
                let before = self
                    .summaries
                    .insert(summary.id.clone(), (**summary).clone());
                assert!(before.is_none(), "a report is stored once");
            }
            Fact::WaitWritten(wait) => self.write_wait(wait),
            Fact::TimerWritten(timer) => self.write_timer(timer),
            Fact::HintWritten(hint) => {
                self.hints.insert(hint.key.clone(), (**hint).clone());
                assert!(
                    self.hints.len() <= limits::WAKE_HINTS as usize,
                    "hints are few"
                );
            }
            Fact::TriggerWritten(trigger) => self.write_trigger(trigger),
            Fact::AgentSpawned(spawn) => {
                self.tree.spawned.insert(0, spawn.spawned_at);
                if spawn.supervised {
                    self.tree.live += 1;
                    self.tree.children.push((spawn.child.clone(), true));
                }
            }
            Fact::SpawnEnded { child } => {
                for (known, live) in &mut self.tree.children {
                    if known == child && std::mem::take(live) {
                        self.tree.live -= 1;
                    }
                }
            }
            Fact::WorkspaceRegistered { .. } => {}
            Fact::OccupancyTaken(occupancy) => self.occupancy = Some((**occupancy).clone()),
            Fact::OccupancyReleased => {
                assert!(self.occupancy.take().is_some(), "there is one to release");
            }
            Fact::DeliveryWritten(record) => {
                let key = (record.route.key(), record.seq);
                let before = self.deliveries.insert(key, ((**record).clone(), None));
                assert!(before.is_none(), "a position is used once");
            }
            Fact::DeliverySettled {
                route,
                seq,
                outcome,
            } => {
                let row = self.deliveries.get_mut(&(route.key(), *seq));
                let row = row.expect("a delivery that ends was written");
                assert!(row.1.is_none(), "a delivery ends once");
                row.1 = Some((**outcome).clone());
            }
            Fact::DeliveriesTrimmed { route, through } => {
                let key = route.key();
                let goes = |place: &(String, u64), ended: bool| {
                    place.0 == key && place.1 <= *through && ended
                };
                self.deliveries
                    .retain(|place, (_, outcome)| !goes(place, outcome.is_some()));
            }
            Fact::HintsCleared => {
                assert!(!self.hints.is_empty(), "there is something to clear");
                self.hints.clear();
            }
        }
    }

    fn take_generation(&mut self, generation: u64) {
        assert!(
            generation > self.newest_generation,
            "generations are given out once"
        );
        self.newest_generation = generation;
    }

    fn keep_attempt(&mut self, n: usize, record: &AttemptRecord) {
        assert!(n >= 1 && n <= self.attempts.len() + 1, "attempts are dense");
        self.attempts.truncate(n - 1);
        self.attempts.push(record.clone());
    }

    fn move_message(&mut self, seq: u64, from: QueueStatus, to: QueueStatus) {
        let kept = self.messages.get_mut(&seq);
        let entry = &mut kept.expect("a message that moves exists").entry;
        assert_eq!(entry.status, from, "message {seq} moves from where it is");
        assert!(!from.is_final(), "message {seq} had come to its end");
        entry.status = to;
    }

    fn settle(&mut self, seq: u64, brief: u64) {
        let newest = self.briefs.len() as u64;
        assert_eq!(
            brief, newest,
            "message {seq} is settled by the newest brief"
        );
        let kept = self.messages.get_mut(&seq);
        let outcome = &mut kept.expect("a settled message exists").outcome;
        assert_eq!(*outcome, None, "message {seq} is settled once");
        *outcome = Some(brief);
    }

    fn open(&mut self, record: EffectRecord) {
        let id = record.id;
        if let Effect::RunTool {
            round_entry,
            call_index,
            ..
        } = &record.effect
            && let (call, Some(HostAction::ExecCommand(_) | HostAction::ExecCommandBatch(_))) =
                self.call_at(*round_entry, *call_index)
        {
            self.begun.insert(call.id);
        }
        let before = self.effects.insert(id, record);
        assert!(before.is_none(), "effect {id} is opened once");
    }

    fn write_task(&mut self, task: &TaskRecord) {
        let id = &task.id;
        let over = task.status.is_terminal();
        // A child sends its own end.
        let is_child = task.kind == TaskKind::ChildAgentTask;
        assert_eq!(
            task.effect.is_none(),
            over || is_child,
            "task {id} is followed to its end"
        );
        assert_eq!(task.end.is_some(), over, "task {id} ends with its end");
        let Some(known) = self.tasks.iter_mut().find(|known| known.id == *id) else {
            assert!(!over, "task {id} begins before it ends");
            self.tasks.push(task.clone());
            return;
        };
        assert!(!known.is_over(), "task {id} was over");
        let (from, to) = (known.status, task.status);
        let is_taken_up = is_child && from == TaskStatus::Interrupted;
        assert!(
            is_taken_up || rank(from) <= rank(to),
            "task {id} moves {from:?} > {to:?}"
        );
        known.clone_from(task);
    }
}

/// Orders the statuses of a task, which only grow.
const fn rank(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Queued => 0,
        TaskStatus::Running => 1,
        TaskStatus::Cancelling => 2,
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => 3,
    }
}
