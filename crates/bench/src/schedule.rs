//! One scheduling decision of an agent with few and with many work items and queued messages. It must cost the same.
//!
//! The agent is started after a stop, so one decision looks at its queue and its work, chooses, and opens a turn. The
//! time is that of the decision inside the writer's transaction, without the commit.

use crate::backlog::{Backlog, message};
use crate::program::Fallible;
use crate::stats::{Sample, round};
use holon_core::Input;
use serde_json::{Map, Value, json};

/// Rows of each kind, smallest first.
const SIZES: [usize; 3] = [10, 1_000, 100_000];
/// Decisions of each size in one block.
const PER_BLOCK: usize = 50;
/// Blocks in which the sizes alternate.
const BLOCKS: usize = 6;

/// What the scheduler finds beside the work items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// As many messages as items: the head is taken.
    Long,
    /// No message: the scheduler makes a tick for one of the items.
    Empty,
}

/// Decisions that take the head of a long queue, and decisions that make a tick for one of many items.
pub(crate) fn decisions() -> Fallible<Value> {
    Ok(json!({
        "takes_head_of_queue": sizes(Queue::Long)?,
        "ticks_for_an_item": sizes(Queue::Empty)?,
    }))
}

fn sizes(queue: Queue) -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let mut filled = Vec::new();
    for rows in SIZES {
        let path = dir.path().join(format!("{rows}.sqlite3"));
        let mut backlog = Backlog::create(&path, "worker")?;
        backlog.add_items(rows)?;
        if queue == Queue::Long {
            backlog.add_messages(rows)?;
        }
        filled.push((rows, backlog, Sample::default()));
    }
    for _ in 0..BLOCKS {
        for (_, backlog, sample) in &mut filled {
            for _ in 0..PER_BLOCK {
                stop(backlog, queue)?;
                sample.add(backlog.hand_over(&[Input::Start])?);
            }
        }
    }
    let fewest = filled
        .first()
        .map_or(f64::NAN, |(_, _, sample)| sample.quantile(0.5));
    let mut report = Map::new();
    for (rows, backlog, sample) in filled {
        let ratio = round(sample.quantile(0.5) / fewest);
        let figures = json!({ "decision": sample.report(), "p50_ratio": ratio });
        report.insert(format!("rows_{rows}"), figures);
        backlog.close()?;
    }
    Ok(Value::Object(report))
}

/// Stops the agent. A message takes the place of the one that the stop aborts.
fn stop(backlog: &mut Backlog, queue: Queue) -> Fallible<()> {
    let inputs = match queue {
        Queue::Long => vec![message(), Input::Stop],
        Queue::Empty => vec![Input::Stop],
    };
    backlog.hand_over(&inputs)?;
    Ok(())
}
