//! The memory of a store that has written for a long time.

use crate::samples::Scribe;
use holon_store::Db;

/// Bytes that are written, far more than a host may keep of them.
const WRITTEN: usize = 24 * 1024 * 1024;
/// Most bytes by which the process may grow meanwhile: the writer's pages, and what the allocator holds.
const GROWTH: usize = 8 * 1024 * 1024;
const MESSAGE: usize = 8 * 1024;
const PER_COMMIT: usize = 32;

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: usize = kib.and_then(|kib| kib.parse().ok()).expect("a figure");
    kib * 1024
}

#[test]
fn written_pages_do_not_stay_in_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
    let mut scribe = Scribe::new("a");
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    let text = "x".repeat(MESSAGE);
    let mut commit = || {
        let decisions: Vec<_> = (0..PER_COMMIT)
            .map(|_| scribe.admit(&text).decide())
            .collect();
        let write = db.write(|tx| {
            decisions
                .iter()
                .try_for_each(|decision| tx.apply(no, decision))
        });
        write.expect("writes");
    };
    commit();
    let before = resident();
    for _ in 0..WRITTEN / (MESSAGE * PER_COMMIT) {
        commit();
    }
    let grown = resident().saturating_sub(before);
    assert!(grown <= GROWTH, "{} KiB more", grown / 1024);
}
