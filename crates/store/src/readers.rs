//! `Readers`: a small pool of read-only connections. Each read is one transaction with a deadline, on a blocking
//! thread.
//!
//! The first connection is opened with the pool, which proves that the store can be read. The others are opened when
//! several reads run at once: each has to parse the whole schema, and most hosts need few.

use crate::agents::ListedAgent;
use crate::error::Error;
use crate::held_files::HeldFiles;
use crate::open;
use crate::reader::Reader;
use holon_domain::limits::{AGENTS_READ_AT_ONCE, READ_DEADLINE_MS, READERS};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Virtual machine steps of SQLite between two checks of the deadline.
const STEPS_PER_CHECK: i32 = 4_000;

/// The pool of read connections. Clones share it.
#[derive(Clone)]
pub struct Readers {
    shared: Arc<Shared>,
    /// Bounds the reads of one purpose at the same time.
    seats: Arc<Semaphore>,
}

struct Shared {
    path: PathBuf,
    /// The file that the first connection opened.
    file: HeldFiles,
    free: Mutex<Vec<ReadConnection>>,
    deadline: Duration,
}

/// One connection and the deadline of its running read.
struct ReadConnection {
    conn: Connection,
    until: Arc<Mutex<Option<Instant>>>,
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers")
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}

impl ReadConnection {
    fn open(path: &Path) -> Result<Self, Error> {
        let mut conn = open::open_readable(path)?;
        let until = Arc::new(Mutex::new(None::<Instant>));
        let watched = Arc::clone(&until);
        conn.progress_handler(
            STEPS_PER_CHECK,
            Some(move || {
                let until = *watched.lock().unwrap_or_else(PoisonError::into_inner);
                until.is_some_and(|until| Instant::now() >= until)
            }),
        )?;
        Ok(Self { conn, until })
    }

    fn set_deadline(&self, until: Option<Instant>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    fn read<T>(
        &self,
        deadline: Duration,
        f: impl FnOnce(&Reader<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.set_deadline(Instant::now().checked_add(deadline));
        self.conn.execute_batch("BEGIN")?;
        let outcome = f(&Reader::new(&self.conn));
        self.set_deadline(None);
        if !self.conn.is_autocommit() {
            self.conn.execute_batch("ROLLBACK")?;
        }
        let limit_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        outcome.map_err(|error| {
            if error.is_interrupt() {
                Error::ReadDeadline { limit_ms }
            } else {
                error
            }
        })
    }
}

/// A connection taken from the pool. It returns to the pool when dropped, also after a panic.
struct PooledConnection<'a> {
    shared: &'a Shared,
    seat: Option<ReadConnection>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            seat.set_deadline(None);
            // A read that panicked leaves its transaction open. A connection that cannot roll back is dropped.
            if seat.conn.is_autocommit() || seat.conn.execute_batch("ROLLBACK").is_ok() {
                self.shared.lock().push(seat);
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ReadConnection>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Result<PooledConnection<'_>, Error> {
        let free = self.lock().pop();
        let seat = match free {
            Some(seat) => seat,
            None => self.open_another()?,
        };
        Ok(PooledConnection {
            shared: self,
            seat: Some(seat),
        })
    }

    /// Opens one more connection, which must be to the same file.
    fn open_another(&self) -> Result<ReadConnection, Error> {
        let opened = ReadConnection::open(&self.path);
        match self.file.first_lost() {
            Some(lost) => Err(lost.into()),
            None => opened,
        }
    }

    fn read<T>(&self, f: impl FnOnce(&Reader<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let taken = self.take()?;
        match &taken.seat {
            Some(seat) => seat.read(self.deadline, f),
            None => Err(Error::ReadPanicked {
                message: "a seat without a connection".to_owned(),
            }),
        }
    }
}

impl Readers {
    /// Returns the bytes of the write-ahead log; 0 if there is none.
    pub(crate) fn wal_bytes(&self) -> u64 {
        let mut path = self.shared.path.clone().into_os_string();
        path.push("-wal");
        std::fs::metadata(path).map_or(0, |found| found.len())
    }

    /// Opens the pool on an existing store.
    ///
    /// # Errors
    /// When the file is not one of this build's stores or cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::with_deadline(path, Duration::from_millis(READ_DEADLINE_MS))
    }

    pub(crate) fn with_deadline(path: &Path, deadline: Duration) -> Result<Self, Error> {
        let file = HeldFiles::of_file(path)?;
        let first = ReadConnection::open(path)?;
        let shared = Shared {
            path: path.to_owned(),
            file,
            free: Mutex::new(vec![first]),
            deadline,
        };
        Ok(Self {
            shared: Arc::new(shared),
            seats: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Returns a handle for another purpose. Its reads do not wait for those of this one.
    #[must_use]
    pub fn for_another_purpose(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            seats: Arc::new(Semaphore::new(READERS)),
        }
    }

    /// Lists the agents that clients may see, by name. Each page is a read of its own, so an agent that is made or removed
    /// meanwhile may be missing or there.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub async fn agents(&self) -> Result<Vec<ListedAgent>, Error> {
        let mut listed = Vec::new();
        let mut after = Some(String::new());
        while let Some(from) = after {
            let page = self.read(move |reader| reader.agents_after(&from, AGENTS_READ_AT_ONCE));
            let page = page.await?;
            listed.extend(page.agents);
            after = page.next;
        }
        Ok(listed)
    }

    /// Runs `f` in one read transaction on a blocking thread.
    ///
    /// # Errors
    /// The error of `f`, `ReadDeadline` when it takes too long, or when the database fails.
    pub async fn read<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Reader<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = Arc::clone(&self.seats).acquire_owned().await;
        let shared = Arc::clone(&self.shared);
        let outcome = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            shared.read(f)
        });
        outcome.await.unwrap_or_else(|error| {
            Err(Error::ReadPanicked {
                message: error.to_string(),
            })
        })
    }

    /// Checks the whole file after an unclean exit, one table at a time, on a connection of its own. Returns the
    /// findings; empty if there are none.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub async fn quick_check(&self) -> Result<Vec<String>, Error> {
        let shared = Arc::clone(&self.shared);
        let outcome =
            tokio::task::spawn_blocking(move || check_tables(&open::open_readable(&shared.path)?));
        outcome.await.unwrap_or_else(|error| {
            Err(Error::ReadPanicked {
                message: error.to_string(),
            })
        })
    }
}

/// Checks one table after the other, so that no read transaction lasts for the whole check.
pub(crate) fn check_tables(conn: &Connection) -> Result<Vec<String>, Error> {
    let list = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name";
    let tables: Vec<String> = crate::row::all(conn, list, [], |row| Ok(row.get(0)?))?;
    let mut wrong = Vec::new();
    for table in tables {
        let lines: Vec<String> =
            crate::row::all(conn, &format!("PRAGMA quick_check({table})"), [], |row| {
                Ok(row.get(0)?)
            })?;
        wrong.extend(
            lines
                .into_iter()
                .filter(|line| line != "ok")
                .map(|line| format!("{table}: {line}")),
        );
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::agent;
    use tokio::task::JoinSet;

    #[tokio::test]
    async fn a_read_past_its_deadline_is_interrupted_and_the_next_one_works() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        let created = db.write(|tx| {
            (0..2_000).try_for_each(|n| tx.create_agent(&agent(&format!("a{n}"))).map(drop))
        });
        assert_eq!(created, Ok(()));
        let hurried = Readers::with_deadline(&path, Duration::ZERO).expect("opens");
        let late = hurried
            .read(|reader| reader.agents().map(|agents| agents.len()))
            .await;
        assert_eq!(late, Err(Error::ReadDeadline { limit_ms: 0 }));
        assert_eq!(
            hurried.read(|reader| reader.next_due()).await,
            Ok(None),
            "a short read is not touched"
        );
        let patient = Readers::open(&path).expect("opens");
        assert_eq!(
            patient
                .read(|reader| reader.agents().map(|agents| agents.len()))
                .await,
            Ok(2_000)
        );
    }

    #[tokio::test]
    async fn reads_of_one_purpose_do_not_wait_for_those_of_another() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        drop(Db::open(&path).expect("opens"));
        let readers = Readers::open(&path).expect("opens");
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let mut held = JoinSet::new();
        for _ in 0..READERS {
            let (readers, gate) = (readers.clone(), Arc::clone(&gate));
            held.spawn(async move {
                let held = readers.read(move |_| {
                    let gate = gate.lock().unwrap_or_else(PoisonError::into_inner);
                    Ok(gate.recv().is_ok())
                });
                held.await
            });
        }
        while readers.seats.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let other = readers.for_another_purpose();
        assert_eq!(other.read(|reader| reader.next_due()).await, Ok(None));
        for _ in 0..READERS {
            go.send(()).expect("a reader waits");
        }
        for read in held.join_all().await {
            assert_eq!(read, Ok(true));
        }
    }

    #[tokio::test]
    async fn agents_are_listed_in_pages_by_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        let count = 2 * AGENTS_READ_AT_ONCE + 3;
        let created = db.write(|tx| {
            (0..count).try_for_each(|n| tx.create_agent(&agent(&format!("a{n}"))).map(drop))
        });
        assert_eq!(created, Ok(()));
        let listed = Readers::open(&path).expect("opens").agents().await;
        let names: Vec<_> = listed
            .expect("lists")
            .into_iter()
            .map(|listed| listed.agent_id)
            .collect();
        assert_eq!(names.len(), count);
        assert!(names.is_sorted());
    }

    /// Two reads at once take two connections, of which the second is opened then.
    #[test]
    fn a_further_connection_reads_the_same_file_or_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("s.sqlite3");
        let mut db = Db::open(&path).expect("opens");
        let created = db.write(|tx| tx.create_agent(&agent("a")).map(drop));
        assert_eq!(created, Ok(()));
        let readers = Readers::open(&path).expect("opens");
        let count = |reader: &Reader<'_>| reader.agents().map(|agents| agents.len());
        let at_once = |readers: &Readers| {
            readers.shared.read(|first| {
                let second = readers.shared.read(count);
                Ok((count(first)?, second))
            })
        };
        assert_eq!(at_once(&readers), Ok((1, Ok(1))));

        let readers = Readers::open(&path).expect("opens");
        std::fs::rename(&path, directory.path().join("moved")).expect("moves");
        Db::open(&directory.path().join("other.sqlite3"))
            .and_then(Db::close)
            .expect("another store");
        std::fs::rename(directory.path().join("other.sqlite3"), &path).expect("replaces");
        let (first, second) = at_once(&readers).expect("the first connection reads its file");
        assert_eq!(first, 1);
        assert!(matches!(second, Err(Error::Lost(_))), "{second:?}");
    }
}
