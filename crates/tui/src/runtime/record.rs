//! The file that keeps the input history over restarts: one JSON string per line, oldest first, for its owner only.
//!
//! Each console appends one line per entry, so consoles that run at the same time lose nothing to each other. A file
//! that has grown beyond its bound is replaced by its newest part.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt};
use std::path::Path;

/// Most bytes of the file that are read and that stay after it was replaced.
const KEPT_BYTES: u64 = 256 << 10;
/// Longest entry that is kept, in bytes.
pub(super) const ENTRY_BYTES: usize = 16 << 10;
/// Mode of the file: what an operator wrote is read by its owner only.
const MODE: u32 = 0o600;

/// Opens a regular file. Nothing else is waited for: a pipe would hold up the console until it has another end.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options
        .mode(MODE)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(file)
}

/// Reads the entries, oldest first. An absent file has none, and a damaged line is left out.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn load(path: &Path) -> io::Result<Vec<String>> {
    let mut file = match open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let skipped = length.saturating_sub(KEPT_BYTES);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(KEPT_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be the end of one.
    let lines = text.lines().skip(usize::from(skipped > 0));
    Ok(lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// Appends an entry, unless it is too long. A file that is too long is replaced by its newest half first.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn append(path: &Path, entry: &str) -> io::Result<()> {
    if entry.len() > ENTRY_BYTES {
        return Ok(());
    }
    let mut file = open(path, OpenOptions::new().append(true).create(true))?;
    let about = file.metadata()?;
    if about.permissions().mode() & 0o077 != 0 {
        file.set_permissions(PermissionsExt::from_mode(MODE))?;
    }
    if about.len() > KEPT_BYTES {
        shorten(path)?;
        file = open(path, OpenOptions::new().append(true).create(true))?;
    }
    let line = serde_json::to_string(entry)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Keeps the newest entries that take half of the bound.
fn shorten(path: &Path) -> io::Result<()> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for entry in load(path)?.iter().rev() {
        let line = serde_json::to_string(entry)?;
        bytes += line.len() as u64 + 1;
        if bytes > KEPT_BYTES / 2 {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    let beside = path.with_extension("new");
    let mut file = open(
        &beside,
        OpenOptions::new().write(true).create(true).truncate(true),
    )?;
    for line in lines {
        file.write_all(format!("{line}\n").as_bytes())?;
    }
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_only_their_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        assert!(load(&path).unwrap().is_empty());
        append(&path, "one\ntwo 漢字").unwrap();
        append(&path, "/tasks").unwrap();
        append(&path, &"x".repeat(ENTRY_BYTES + 1)).unwrap();
        assert_eq!(load(&path).unwrap(), ["one\ntwo 漢字", "/tasks"]);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        append(&path, "three").unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_file_is_bounded_and_keeps_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        for n in 0..200 {
            append(&path, &format!("{n} {}", "y".repeat(8_000))).unwrap();
        }
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length <= KEPT_BYTES + ENTRY_BYTES as u64 + 8, "{length}");
        let last = load(&path).unwrap().pop().unwrap();
        assert!(last.starts_with("199 "));
    }

    #[test]
    fn a_damaged_line_is_left_out_and_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        std::fs::write(&path, b"\"a\"\nnot json\n\xff\xfe\n\"b\"\n").unwrap();
        assert_eq!(load(&path).unwrap(), ["a", "b"]);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(load(&link).is_err());
        assert!(append(&link, "c").is_err());
    }

    #[test]
    fn what_is_no_file_is_neither_waited_for_nor_written_to() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/null"), folder.path()] {
            assert!(load(path).is_err(), "{path:?}");
            assert!(append(path, "a").is_err(), "{path:?}");
        }
    }
}
