//! The cost of an admission does not depend on the length of the queue. Counted in virtual machine steps of SQLite.

use super::bench::{KernelBench, id};
use holon_core::{Ingress, Input};
use holon_domain::TaskId;
use holon_domain::decision::{Decision, Fact};
use holon_domain::limits::{JOINING_PER_ROUND, QUEUE_ENTRIES_OTHERS};
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::needs::Needs;
use holon_domain::queue::{QueueEntry, QueueStatus};
use holon_store::Ledger;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &str = "main";

fn prompt(priority: Priority) -> Ingress {
    Ingress::operator_prompt(
        "do this too".to_owned(),
        priority,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )
}

fn event(priority: Priority) -> Ingress {
    Ingress {
        kind: MessageKind::ChannelEvent,
        origin: Origin::Channel {
            channel_id: "news".to_owned(),
            sender_id: None,
        },
        body: Body::text("something happened"),
        delivery_surface: DeliverySurface::HttpPublicEnqueue,
        admission_context: AdmissionContext::PublicUnauthenticated,
        ..prompt(priority)
    }
}

/// An agent in a turn with a queue that holds messages of every kind, and a step counter of its database.
struct Queue {
    bench: KernelBench,
    steps: Arc<AtomicU64>,
}

impl Queue {
    fn of(length: usize) -> Self {
        let mut bench = KernelBench::with(&[NAME]);
        bench.prompt(NAME);
        let steps = bench.db.count_steps().unwrap();
        let mut queue = Self { bench, steps };
        queue.fill(length);
        queue
    }

    /// Queues this many messages, one of each kind in turn.
    fn fill(&mut self, length: usize) {
        let (no, mut agent) = self.bench.agent(NAME);
        let sample = self.bench.db.reader().message(no, 1).unwrap().unwrap();
        let kinds = kinds(&sample);
        let mut facts = Vec::new();
        for kind in kinds.iter().cycle().take(length) {
            agent.counters.messages += 1;
            let seq = agent.counters.messages;
            facts.push(Fact::MessageAdmitted(QueueEntry {
                seq,
                ..kind.clone()
            }));
        }
        let decision = Decision {
            agent,
            facts,
            more: false,
        };
        let written = self.bench.db.write(|tx| tx.apply(no, &decision));
        written.unwrap();
    }

    /// The fewest steps of five runs. Some runs also move a bound of the event log, which is not counted.
    fn steps_of(&mut self, mut act: impl FnMut(&mut KernelBench)) -> u64 {
        let mut least = u64::MAX;
        for _ in 0..5 {
            let before = self.steps.load(Ordering::Relaxed);
            act(&mut self.bench);
            least = least.min(self.steps.load(Ordering::Relaxed) - before);
        }
        assert!(least > 0, "steps are counted");
        least
    }

    fn steps_of_admitting(&mut self, ingress: &Ingress) -> u64 {
        self.steps_of(|bench| {
            bench.handle(NAME, &Input::Admit(Box::new(ingress.clone())));
        })
    }
}

/// One queued message of every band and of every cause.
fn kinds(sample: &QueueEntry) -> Vec<QueueEntry> {
    let task = Origin::Task {
        task_id: TaskId::from_stored("task_1"),
    };
    let channel = event(Priority::Normal).origin;
    let operator = sample.envelope.origin.clone();
    let every = [
        (
            MessageKind::ChannelEvent,
            channel.clone(),
            Priority::Background,
        ),
        (MessageKind::ChannelEvent, channel.clone(), Priority::Normal),
        (MessageKind::ChannelEvent, channel, Priority::Next),
        (
            MessageKind::OperatorPrompt,
            operator.clone(),
            Priority::Normal,
        ),
        (MessageKind::OperatorPrompt, operator, Priority::Interject),
        (MessageKind::TaskResult, task.clone(), Priority::Next),
        (MessageKind::TaskResult, task, Priority::Background),
    ];
    let every = every.into_iter().map(|(kind, origin, priority)| {
        let mut entry = sample.clone();
        entry.status = QueueStatus::Queued;
        entry.envelope.cause = Some(Cause::of_ingress(kind, &origin));
        entry.envelope.kind = kind;
        entry.envelope.origin = origin;
        entry.envelope.priority = priority;
        entry
    });
    every.collect()
}

#[test]
fn an_admission_is_as_much_work_with_a_hundred_thousand_queued_as_with_none() {
    let (mut empty, mut full) = (Queue::of(0), Queue::of(QUEUE_ENTRIES_OTHERS as usize - 20));
    let inputs = [
        prompt(Priority::Normal),
        prompt(Priority::Interject),
        event(Priority::Background),
        event(Priority::Next),
    ];
    for ingress in inputs {
        assert_eq!(
            empty.steps_of_admitting(&ingress),
            full.steps_of_admitting(&ingress),
            "{:?} {:?}",
            ingress.kind,
            ingress.priority
        );
    }
}

#[test]
fn what_a_round_reads_of_the_queue_is_as_much_work_however_long_it_is() {
    // Both queues hold more interjections than one round takes.
    let (mut short, mut long) = (Queue::of(2_000), Queue::of(20_000));
    let joining = |bench: &mut KernelBench| {
        let reader = bench.db.reader();
        let (no, _) = reader.agent(&id(NAME)).unwrap().unwrap();
        let joining = reader.joining(no, &[]).unwrap();
        assert_eq!(joining.len(), JOINING_PER_ROUND);
    };
    assert_eq!(short.steps_of(joining), long.steps_of(joining));
    let view = |bench: &mut KernelBench| {
        let (no, _) = bench.agent(NAME);
        let needs = Needs {
            queue_head: true,
            operators: true,
            ..Needs::default()
        };
        bench.db.write(|tx| tx.load(no, &needs)).unwrap();
    };
    assert_eq!(short.steps_of(view), long.steps_of(view));
}

#[test]
fn a_result_behind_a_long_queue_is_found_at_once() {
    let (mut short, mut long) = (KernelBench::with(&[NAME]), KernelBench::with(&[NAME]));
    let mut steps = Vec::new();
    for (bench, length) in [(&mut short, 10), (&mut long, 20_000)] {
        bench.prompt(NAME);
        let (no, mut agent) = bench.agent(NAME);
        let sample = bench.db.reader().message(no, 1).unwrap().unwrap();
        let kinds = kinds(&sample);
        let others = std::iter::repeat_n(&kinds[2], length);
        let facts = others.chain([&kinds[6]]).map(|kind| {
            agent.counters.messages += 1;
            Fact::MessageAdmitted(QueueEntry {
                seq: agent.counters.messages,
                ..kind.clone()
            })
        });
        let facts = facts.collect();
        let decision = Decision {
            agent,
            facts,
            more: false,
        };
        bench.db.write(|tx| tx.apply(no, &decision)).unwrap();
        let counted = bench.db.count_steps().unwrap();
        let found = bench.db.reader().joining(no, &[]).unwrap();
        assert_eq!(found.len(), 1);
        steps.push(counted.load(Ordering::Relaxed));
    }
    assert!(steps[0] > 0, "steps are counted");
    assert_eq!(steps[0], steps[1]);
}
