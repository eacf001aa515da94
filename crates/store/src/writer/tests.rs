//! The borders between batches, independent of the clock.

use super::{Pace, Writer};
use crate::db::Db;
use crate::error::{Error, WriteError};
use crate::inbox::WriteOrder;
use crate::samples::{Scribe, id};
use crate::tx::Tx;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

const NO_HURRY: Duration = Duration::from_secs(3_600);

type Write<T> = Pin<Box<dyn Future<Output = Result<T, WriteError>> + Send>>;

/// Puts a write into the queue and returns its future.
async fn queue<T, F>(writer: &Writer, bytes: usize, run: F) -> Write<T>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, Error> + Send + 'static,
    T: Send + 'static,
{
    let writer = writer.clone();
    let mut write: Write<T> =
        Box::pin(async move { writer.write(WriteOrder::client(bytes), run).await });
    // The first poll enqueues it. The writer is held, so there is no answer yet.
    poll_fn(|cx| {
        assert!(write.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    write
}

fn admit(tx: &mut Tx<'_>) -> Result<u64, Error> {
    let (no, mut scribe) = match tx.agent(&id("a"))? {
        Some((no, record)) => (no, Scribe::from(record)),
        None => {
            let scribe = Scribe::new("a");
            (tx.create_agent(&scribe.record)?, scribe)
        }
    };
    tx.apply(no, &scribe.admit("x").decide())?;
    Ok(scribe.record.counters.messages)
}

/// Queues `count` writes of `bytes` each behind one that is held, releases it, and returns the number of commits.
async fn commits_of(pace: Pace, count: u64, bytes: usize) -> u64 {
    let writer = Writer::start_at(pace, Db::in_memory().expect("opens"));
    let (release, held) = mpsc::channel::<()>();
    let (entered, inside) = mpsc::channel::<()>();
    let holding = queue(&writer, 0, move |_| {
        entered.send(()).expect("the test waits");
        held.recv().expect("the test lets go");
        Ok(())
    });
    let holding = holding.await;
    inside.recv().expect("the writer is inside");
    let mut waiting = Vec::new();
    for _ in 0..count {
        waiting.push(queue(&writer, bytes, admit).await);
    }
    release.send(()).expect("is held");
    holding.await.expect("writes");
    for (position, write) in (1..).zip(waiting) {
        assert_eq!(write.await, Ok(position), "each sees those before it");
    }
    let commits = writer.commits();
    writer.close().await.expect("closes");
    commits
}

#[tokio::test]
async fn writes_that_wait_together_share_one_commit() {
    let pace = Pace {
        time: NO_HURRY,
        ..Pace::USUAL
    };
    assert_eq!(commits_of(pace, 20, 10).await, 1);
}

#[tokio::test]
async fn a_batch_ends_at_its_number_of_inputs() {
    let pace = Pace {
        inputs: 4,
        time: NO_HURRY,
        ..Pace::USUAL
    };
    assert_eq!(
        commits_of(pace, 11, 10).await,
        3,
        "3 beside the held one, 4 and 4"
    );
}

#[tokio::test]
async fn a_batch_ends_at_its_number_of_bytes() {
    let pace = Pace {
        bytes: 250,
        time: NO_HURRY,
        ..Pace::USUAL
    };
    assert_eq!(
        commits_of(pace, 9, 100).await,
        3,
        "three times 100 pass the bound"
    );
}

#[tokio::test]
async fn a_batch_without_time_still_takes_one() {
    let pace = Pace {
        time: Duration::ZERO,
        ..Pace::USUAL
    };
    assert_eq!(commits_of(pace, 5, 10).await, 5);
}

/// Panics the thread that drops it. The writer drops an answer whose receiver is gone.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped where it does harm");
        }
    }
}

#[tokio::test]
async fn a_writer_that_dies_answers_everyone_and_accepts_nothing_more() {
    let pace = Pace {
        inputs: 3,
        time: NO_HURRY,
        ..Pace::USUAL
    };
    let writer = Writer::start_at(pace, Db::in_memory().expect("opens"));
    let (release, held) = mpsc::channel::<()>();
    let (entered, inside) = mpsc::channel::<()>();
    let holding = queue(&writer, 0, move |_| {
        entered.send(()).expect("the test waits");
        held.recv().expect("the test lets go");
        Ok(())
    })
    .await;
    inside.recv().expect("the writer is inside");
    drop(queue(&writer, 0, |_| Ok(Bomb)).await);
    let beside = queue(&writer, 0, admit).await;
    let waiting = queue(&writer, 0, admit).await;
    release.send(()).expect("is held");
    assert_eq!(holding.await, Ok(()), "it was answered before");
    assert_eq!(beside.await, Err(WriteError::CommitUnknown));
    assert_eq!(waiting.await, Err(WriteError::Closed), "it was never begun");
    assert_eq!(
        writer.write(WriteOrder::client(0), admit).await,
        Err(WriteError::Closed)
    );
    assert_eq!(writer.close().await, Err(Error::WriterGone));
}
