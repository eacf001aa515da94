//! The writer thread and the readers, from outside.

use crate::samples::{Scribe, id};
use holon_domain::brief::BriefText;
use holon_store::{Db, Error, Readers, Tx, WriteError, WriteOrder, Writer};
use std::path::PathBuf;
use std::sync::mpsc;
use tokio::sync::broadcast::error::TryRecvError;

fn store() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    (directory, path)
}

/// Admits one message to the agent `a`, creating it if it is missing. Returns the position.
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

/// Holds the writer inside a write until the sender is used or dropped.
fn hold(
    writer: &Writer,
) -> (
    mpsc::Sender<()>,
    impl Future<Output = Result<(), WriteError>> + use<>,
) {
    let (release, held) = mpsc::channel::<()>();
    let (entered, inside) = mpsc::channel::<()>();
    let writer = writer.clone();
    let mut write = tokio::task::JoinSet::new();
    write.spawn(async move {
        writer
            .write(WriteOrder::client(0), move |_| {
                let _ = entered.send(());
                let _ = held.recv();
                Ok(())
            })
            .await
    });
    inside.recv().expect("the writer is inside");
    (release, async move {
        write
            .join_next()
            .await
            .expect("one write")
            .expect("does not panic")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_caller_went_away_is_written_all_the_same() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let (release, held) = hold(&writer);
    let mut write = Box::pin(writer.write(WriteOrder::client(0), admit));
    std::future::poll_fn(|cx| {
        assert!(write.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop(write);
    release.send(()).expect("is held");
    held.await.expect("writes");
    assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(2));
    writer.close().await.expect("closes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_writes_what_waits_and_refuses_what_comes_later() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let (release, held) = hold(&writer);
    let mut waiting = Box::pin(writer.write(WriteOrder::client(0), admit));
    std::future::poll_fn(|cx| {
        assert!(waiting.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    let mut closing = Box::pin(writer.close());
    std::future::poll_fn(|cx| {
        assert!(closing.as_mut().poll(cx).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    assert_eq!(
        writer.write(WriteOrder::client(0), admit).await,
        Err(WriteError::Closed)
    );
    release.send(()).expect("is held");
    held.await.expect("writes");
    assert_eq!(waiting.await, Ok(1));
    closing.await.expect("closes");
    assert_eq!(writer.close().await, Ok(()), "a second close does nothing");
    assert!(Db::open(&path).expect("opens").last_exit().was_clean());
}

#[tokio::test]
async fn an_answer_means_that_readers_see_it_and_news_is_out() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let readers = Readers::open(&path).expect("opens");
    let mut news = writer.subscribe();
    assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(1));
    let pending = readers
        .read(|reader| {
            let (no, _) = reader.agent(&id("a"))?.expect("is there");
            Ok(reader.queue(no)?.pending)
        })
        .await;
    assert_eq!(pending, Ok(1));
    assert_eq!(
        news.try_recv()
            .map(|notice| (notice.agent_id, notice.newest_seq)),
        Ok((id("a"), 1))
    );
    writer.close().await.expect("closes");
}

#[test]
fn memory_hears_only_of_commits_that_its_index_holds() {
    let (_directory, path) = store();
    let mut db = Db::open(&path).expect("opens");
    let mut scribe = Scribe::new("a");
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    let (mut all, mut memory) = (db.subscribe(), db.subscribe_to_memory());
    let message = scribe.admit("x").decide();
    db.write(|tx| tx.apply(no, &message)).expect("writes");
    assert!(all.try_recv().is_ok());
    assert_eq!(memory.try_recv(), Err(TryRecvError::Empty));
    let brief = scribe.admit("y").brief(BriefText::Words("done".to_owned()));
    let brief = brief.decide();
    db.write(|tx| tx.apply(no, &brief)).expect("writes");
    let heard = memory.try_recv().map(|notice| notice.agent_id);
    assert_eq!(heard, Ok(id("a")));
}

#[tokio::test]
async fn a_panic_in_a_write_is_its_callers_alone() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let outcome = writer
        .write(WriteOrder::client(0), |_| -> Result<(), Error> {
            panic!("a broken rule")
        })
        .await;
    assert_eq!(
        outcome,
        Err(WriteError::Panicked {
            message: "a broken rule".to_owned()
        })
    );
    assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(1));
    writer.close().await.expect("closes");
}

#[tokio::test]
async fn a_panic_in_a_read_leaves_the_pool_whole() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let readers = Readers::open(&path).expect("opens");
    for _ in 0..10 {
        let outcome = readers
            .read(|_| -> Result<(), Error> { panic!("a bad read") })
            .await;
        assert!(matches!(outcome, Err(Error::ReadPanicked { .. })));
    }
    assert_eq!(readers.read(|reader| reader.next_due()).await, Ok(None));
    writer.close().await.expect("closes");
}

#[tokio::test]
async fn one_read_sees_one_moment() {
    let (_directory, path) = store();
    let writer = Writer::start(Db::open(&path).expect("opens"));
    let readers = Readers::open(&path).expect("opens");
    assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(1));
    let (go_on, wait) = mpsc::channel::<()>();
    let (entered, inside) = tokio::sync::oneshot::channel::<()>();
    let reading = readers.read(move |reader| {
        let (no, _) = reader.agent(&id("a"))?.expect("is there");
        let first = reader.queue(no)?.pending;
        let _ = entered.send(());
        let _ = wait.recv();
        Ok((first, reader.queue(no)?.pending))
    });
    let writing = async {
        inside.await.expect("the reader is inside");
        assert_eq!(writer.write(WriteOrder::client(0), admit).await, Ok(2));
        go_on.send(()).expect("the reader waits");
    };
    let mut reading = Box::pin(reading);
    let mut writing = Box::pin(writing);
    let (mut read, mut wrote) = (None, false);
    std::future::poll_fn(|cx| {
        if read.is_none()
            && let std::task::Poll::Ready(seen) = reading.as_mut().poll(cx)
        {
            read = Some(seen);
        }
        wrote = wrote || writing.as_mut().poll(cx).is_ready();
        if read.is_some() && wrote {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    assert_eq!(read, Some(Ok((1, 1))));
    writer.close().await.expect("closes");
}
