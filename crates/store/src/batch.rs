//! Runs a batch: one transaction, in which each member can be undone alone, one commit, then the answers.
//!
//! Invariant: no caller is told "written" before the commit holds, and none is told "not written" while it might hold.
//! The hooks and notices of a member leave exactly once, with the commit that holds it.

use crate::db::{Db, Location};
use crate::error::{Error, WriteError};
use crate::held_files::{self, FileFate};
use crate::mark::Mark;
use crate::member::{CommitNotices, Member, panic_message, run_hook};
use crate::open;
use crate::tx::{Aftermath, Tx};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// The result of a batch.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchReport {
    /// Number of answered members.
    pub(crate) members: usize,
    /// Number of members that failed because the disk is full.
    pub(crate) full: usize,
}

/// A commit failure injected by a test.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitFault {
    Works,
    /// The commit fails before anything is written.
    Fails(i32),
    /// The commit holds but reports failure.
    HoldsButFails(i32),
}

/// A member after its run, with the result so far.
struct MemberRun<'m> {
    member: Box<dyn Member + 'm>,
    outcome: Result<Aftermath, WriteError>,
}

/// The way in which the writes of a failed member are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undo {
    /// The transaction is begun again, because it holds nothing else. Most batches have one member, for which SQLite
    /// then needs no copies of pages.
    Transaction,
    /// The member has a savepoint.
    Savepoint,
}

impl Undo {
    const fn begin(self) -> &'static [&'static str] {
        match self {
            Self::Transaction => &[],
            Self::Savepoint => &["SAVEPOINT member"],
        }
    }

    const fn keep(self) -> &'static [&'static str] {
        match self {
            Self::Transaction => &[],
            Self::Savepoint => &["RELEASE member"],
        }
    }

    const fn roll_back(self) -> &'static [&'static str] {
        match self {
            Self::Transaction => &["ROLLBACK", "BEGIN IMMEDIATE"],
            Self::Savepoint => &["ROLLBACK TO member", "RELEASE member"],
        }
    }
}

/// The effect of one run of a member on the transaction.
enum Attempt {
    /// Its writes are part of the transaction.
    Kept(Aftermath),
    /// Its writes are undone; other members are not affected.
    Undone(WriteError),
    /// The whole transaction is gone, including the work of the other members.
    Gone(WriteError),
}

/// The finding about a commit that reported failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Holds,
    Absent,
    Unknown,
}

impl Db {
    /// Takes members from `next` until there are none, commits them together and answers each.
    pub(crate) fn run_batch<'m>(
        &mut self,
        next: &mut dyn FnMut() -> Option<Box<dyn Member + 'm>>,
    ) -> BatchReport {
        holon_fault::hit("batch.begin");
        let mut report = BatchReport::default();
        if let Err(error) = self.begin() {
            let verdict = WriteError::of(error);
            while let Some(member) = next() {
                report.answer(member, Err(verdict.clone()));
            }
            return report;
        }
        let mut batch: Vec<MemberRun<'m>> = Vec::new();
        while let Some(mut member) = next() {
            let holds_nothing = batch.iter().all(|ran| ran.outcome.is_err());
            let undo = if holds_nothing {
                Undo::Transaction
            } else {
                Undo::Savepoint
            };
            let outcome = match self.attempt(member.as_mut(), undo) {
                Attempt::Kept(after) => Ok(after),
                Attempt::Undone(verdict) => Err(verdict),
                Attempt::Gone(verdict) => {
                    batch.push(MemberRun {
                        member,
                        outcome: Ok(Aftermath::default()),
                    });
                    self.give_up(&verdict);
                    self.run_each_alone(batch, None, &mut report);
                    return report;
                }
            };
            batch.push(MemberRun { member, outcome });
        }
        self.end_batch(batch, &mut report);
        report
    }

    fn end_batch(&mut self, batch: Vec<MemberRun<'_>>, report: &mut BatchReport) {
        let kept = batch.iter().any(|ran| ran.outcome.is_ok());
        if !kept {
            self.roll_back();
            batch.into_iter().for_each(|ran| report.finish(ran));
            return;
        }
        let mark = batch
            .iter()
            .filter_map(|ran| ran.outcome.as_ref().ok().and_then(|after| after.mark))
            .max();
        let Err(error) = self.commit() else {
            self.note_first_commits();
            return self.conclude(batch, report);
        };
        match self.find_mark(mark, &error) {
            Proof::Holds => {
                self.note_first_commits();
                self.conclude(batch, report);
            }
            Proof::Absent => self.run_each_alone(batch, Some(&error), report),
            Proof::Unknown => self.answer_unknown(batch, report),
        }
    }

    /// Called after a commit that holds, before the answers: the commit counts only if the files are still the store.
    fn conclude(&self, batch: Vec<MemberRun<'_>>, report: &mut BatchReport) {
        match self.check_held() {
            Ok(()) => self.finish(batch, report),
            Err(_) => self.answer_unknown(batch, report),
        }
    }

    /// Answers members whose commit may or may not hold, or whose commit is in a store that is lost.
    fn answer_unknown(&self, batch: Vec<MemberRun<'_>>, report: &mut BatchReport) {
        let lost = self.lost.borrow().clone();
        let unknown = lost.map_or(WriteError::CommitUnknown, WriteError::StoreLost);
        for ran in batch {
            let verdict = ran.outcome.err().unwrap_or_else(|| unknown.clone());
            report.answer(ran.member, Err(verdict));
        }
    }

    /// Runs each member that has not failed by itself in a transaction of its own.
    fn run_each_alone(
        &mut self,
        batch: Vec<MemberRun<'_>>,
        failed: Option<&Error>,
        report: &mut BatchReport,
    ) {
        for ran in batch {
            match ran.outcome {
                Ok(_) => self.run_alone(ran.member, failed.cloned(), report),
                Err(verdict) => report.answer(ran.member, Err(verdict)),
            }
        }
    }

    /// Runs one member in its own transaction. A failed commit that provably does not hold is retried once.
    fn run_alone(
        &mut self,
        mut member: Box<dyn Member + '_>,
        failed: Option<Error>,
        report: &mut BatchReport,
    ) {
        let mut failed = failed;
        loop {
            let after = match self.attempt_alone(member.as_mut()) {
                Ok(after) => after,
                Err(verdict) => {
                    return report.answer(member, Err(judge_retry(failed.as_ref(), verdict)));
                }
            };
            let mark = after.mark;
            let batch = vec![MemberRun {
                member,
                outcome: Ok(after),
            }];
            let Err(error) = self.commit() else {
                return self.conclude(batch, report);
            };
            match self.find_mark(mark, &error) {
                Proof::Holds => return self.conclude(batch, report),
                Proof::Unknown => return self.answer_unknown(batch, report),
                Proof::Absent => {}
            }
            let Some(ran) = batch.into_iter().next() else {
                return;
            };
            member = ran.member;
            if failed.is_some() {
                let verdict = judge_retry(failed.as_ref(), WriteError::of(error));
                return report.answer(member, Err(verdict));
            }
            failed = Some(error);
        }
    }

    fn attempt_alone(&mut self, member: &mut dyn Member) -> Result<Aftermath, WriteError> {
        self.begin().map_err(WriteError::of)?;
        match self.attempt(member, Undo::Transaction) {
            Attempt::Kept(after) => Ok(after),
            Attempt::Undone(verdict) => {
                self.roll_back();
                Err(verdict)
            }
            Attempt::Gone(verdict) => {
                self.give_up(&verdict);
                Err(verdict)
            }
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        if let Some(lost) = self.lost.borrow().clone() {
            return Err(lost.into());
        }
        self.reopen_if_suspect()?;
        self.run_control("BEGIN IMMEDIATE")
            .inspect_err(|error| self.suspect = !error.is_full())
    }

    /// Runs a member. If it fails, its writes are undone and the transaction goes on.
    fn attempt(&self, member: &mut dyn Member, undo: Undo) -> Attempt {
        if let Err(error) = self.run_all(undo.begin()) {
            return Attempt::Gone(WriteError::of(error));
        }
        let changes = self.conn.total_changes();
        let mut tx = Tx::new(&self.conn, &self.known);
        let outcome = catch_unwind(AssertUnwindSafe(|| member.run(&mut tx)));
        let verdict = match outcome {
            // A member may have passed over the error that ended the transaction.
            Ok(Ok(())) if self.conn.is_autocommit() => {
                let error = Error::transaction_gone("a write went on after its end");
                return Attempt::Gone(WriteError::of(error));
            }
            Ok(Ok(())) => match self.run_all(undo.keep()) {
                Ok(()) => {
                    let changed = self.conn.total_changes() != changes;
                    return Attempt::Kept(Aftermath {
                        changed,
                        ..tx.into_aftermath()
                    });
                }
                Err(error) => return Attempt::Gone(WriteError::of(error)),
            },
            Ok(Err(error)) => WriteError::of(error),
            Err(panic) => WriteError::Panicked {
                message: panic_message(panic.as_ref()),
            },
        };
        // A full disk or an I/O error can end the whole transaction; only the autocommit flag shows it.
        if !self.conn.is_autocommit() && self.run_all(undo.roll_back()).is_ok() {
            Attempt::Undone(verdict)
        } else {
            Attempt::Gone(verdict)
        }
    }

    fn run_all(&self, statements: &[&str]) -> Result<(), Error> {
        let mut statements = statements.iter();
        statements.try_for_each(|sql| self.run_control(sql))
    }

    fn run_control(&self, sql: &str) -> Result<(), Error> {
        crate::row::run(&self.conn, sql, []).map(|_| ())
    }

    fn commit(&mut self) -> Result<(), Error> {
        holon_fault::hit("commit.begin");
        #[cfg(test)]
        match self.faults.pop_front() {
            Some(CommitFault::Fails(code)) => {
                return Err(Error::Sqlite {
                    code,
                    message: "asked for by a test".to_owned(),
                });
            }
            Some(CommitFault::HoldsButFails(code)) => {
                self.run_control("COMMIT")?;
                return Err(Error::Sqlite {
                    code,
                    message: "asked for by a test".to_owned(),
                });
            }
            Some(CommitFault::Works) | None => {}
        }
        self.run_control("COMMIT")
    }

    fn roll_back(&mut self) {
        // If even this fails, the connection is unusable. The next batch opens another.
        if !self.conn.is_autocommit() && self.run_control("ROLLBACK").is_err() {
            self.suspect = true;
        }
    }

    /// Abandons a transaction that SQLite ended. A full disk recovers by itself; any other cause needs a new open.
    fn give_up(&mut self, verdict: &WriteError) {
        self.roll_back();
        if *verdict != WriteError::DiskFull {
            self.suspect = true;
        }
    }

    /// Reopens the file if the connection is suspect, and checks that it is the same file of the same store. In a
    /// restored backup a commit would seem absent and would be repeated.
    pub(crate) fn reopen_if_suspect(&mut self) -> Result<(), Error> {
        if !self.suspect {
            return Ok(());
        }
        holon_fault::hit("reopen.begin");
        if let Location::File(path) = self.location.clone() {
            self.check_held()?;
            let conn = open::reopen(&path)?;
            let is_same = !held_files::has_moved(&conn)?
                && open::stored_epoch(&conn)?.as_deref() == Some(self.epoch());
            if !is_same {
                return Err(self.mark_lost(held_files::lost(&path, FileFate::Replaced)));
            }
            self.conn = conn;
            self.watch_wal()?;
        }
        self.suspect = false;
        holon_fault::hit("reopen.done");
        Ok(())
    }

    /// After a commit that reported failure: reopens the file and looks for the batch's mark. A batch that has none holds
    /// only if its last frame was written, for which a full disk had no room.
    fn find_mark(&mut self, mark: Option<Mark>, error: &Error) -> Proof {
        self.roll_back();
        self.suspect = true;
        if self.reopen_if_suspect().is_err() {
            return Proof::Unknown;
        }
        let Some(mark) = mark else {
            return if error.is_full() {
                Proof::Absent
            } else {
                Proof::Unknown
            };
        };
        match mark.is_stored(&self.conn) {
            Ok(true) => Proof::Holds,
            Ok(false) => Proof::Absent,
            Err(_) => Proof::Unknown,
        }
    }

    /// After the commit: runs hooks, then sends notices, then answers.
    fn finish(&self, mut batch: Vec<MemberRun<'_>>, report: &mut BatchReport) {
        holon_fault::hit("commit.done");
        if batch
            .iter()
            .any(|ran| ran.outcome.as_ref().is_ok_and(|after| after.changed))
        {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        let mut news = CommitNotices::default();
        for ran in &mut batch {
            if let Ok(after) = &mut ran.outcome {
                after.hooks.drain(..).for_each(run_hook);
                after.news.drain(..).for_each(|notice| news.add(notice));
            }
        }
        holon_fault::hit("hooks.done");
        for notice in news.notices {
            self.news.send(notice);
        }
        batch.into_iter().for_each(|ran| report.finish(ran));
    }
}

/// Judges a second failure of the same member. Only a full disk in both attempts proves that nothing was written: a
/// commit whose sync failed may have left frames in the log, where recovery would find them.
fn judge_retry(failed: Option<&Error>, verdict: WriteError) -> WriteError {
    match (failed, verdict) {
        (_, lost @ WriteError::StoreLost(_)) => lost,
        (Some(error), _) if !error.is_full() => WriteError::CommitUnknown,
        (Some(_) | None, verdict) => verdict,
    }
}

impl BatchReport {
    fn finish(&mut self, ran: MemberRun<'_>) {
        self.answer(ran.member, ran.outcome.map(|_| ()));
    }

    fn answer(&mut self, mut member: Box<dyn Member + '_>, verdict: Result<(), WriteError>) {
        self.members += 1;
        self.full += usize::from(verdict == Err(WriteError::DiskFull));
        member.answer(verdict);
    }
}

#[cfg(test)]
mod tests;
