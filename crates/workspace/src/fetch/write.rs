//! Reads the content of a checked tree from git and writes it as plain files.

use super::Session;
use super::error::{FetchError, shown};
use super::listing::{Entry, EntryKind};
use crate::error::at;
use crate::git::CommitId;
use std::collections::BTreeMap;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// First line of a file that stands for one in a Git LFS store.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// Bytes that `cat-file` prints around each file: its id, its type and its size.
const HEADER_BYTES: usize = 128;

/// Writes the files of a tree into the directory `to`, which must not exist.
pub(super) fn write_tree(
    session: &Session<'_>,
    entries: &[Entry],
    to: &Path,
) -> Result<(), FetchError> {
    make_dirs(to)?;
    let mut blobs: BTreeMap<&str, (&CommitId, u64)> = BTreeMap::new();
    for entry in entries {
        blobs.insert(entry.id.as_str(), (&entry.id, entry.size));
    }
    let ids: Vec<CommitId> = blobs.values().map(|(id, _)| (*id).clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let bytes: u64 = blobs.values().map(|(_, size)| size).sum();
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    let most = most.saturating_add(HEADER_BYTES.saturating_mul(ids.len()));
    let printed = session.remote.read_blobs(&ids, most);
    let printed = printed.map_err(|e| session.fault(e))?;
    let contents = split(&printed);
    for entry in entries {
        let EntryKind::File { is_executable } = entry.kind else {
            continue;
        };
        let refuse = |reason| FetchError::Refused {
            path: shown(entry.path.as_bytes()),
            reason,
        };
        let content = contents.get(entry.id.as_str());
        let content = content.ok_or_else(|| refuse("its content was not sent"))?;
        if content.starts_with(LFS_POINTER) {
            return Err(refuse(
                "it is a pointer to Git LFS, whose content is not fetched",
            ));
        }
        write_file(&to.join(&entry.path), content, is_executable)?;
    }
    Ok(())
}

/// Splits the output of `cat-file --batch` into contents by id. It ends at the first part that has another form.
fn split(printed: &[u8]) -> BTreeMap<&str, &[u8]> {
    let mut contents = BTreeMap::new();
    let mut rest = printed;
    while let Some((id, content, next)) = take(rest) {
        contents.insert(id, content);
        rest = next;
    }
    contents
}

fn take(printed: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let end = printed.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(printed.get(..end)?).ok()?;
    let mut words = header.split(' ');
    let (id, kind, size) = (words.next()?, words.next()?, words.next()?);
    let size: usize = size.parse().ok().filter(|_| kind == "blob")?;
    let start = end + 1;
    let content = printed.get(start..start.checked_add(size)?)?;
    Some((id, content, printed.get(start + size + 1..)?))
}

fn make_dirs(path: &Path) -> Result<(), FetchError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    Ok(made.map_err(at("create", path))?)
}

fn write_file(path: &Path, content: &[u8], is_executable: bool) -> Result<(), FetchError> {
    if let Some(parent) = path.parent() {
        make_dirs(parent)?;
    }
    let mode = if is_executable { 0o700 } else { 0o600 };
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    let mut file = opened.map_err(at("create", path))?;
    Ok(file.write_all(content).map_err(at("write", path))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_split_by_their_sizes_and_not_by_their_lines() {
        let printed = b"aa blob 3\nx\ny\nbb blob 0\n\ncc blob 2\nzz\n";
        let contents = split(printed);
        assert_eq!(contents["aa"], b"x\ny");
        assert_eq!(contents["bb"], b"");
        assert_eq!(contents["cc"], b"zz");
        assert_eq!(split(b"aa missing\nbb blob 1\nx\n").len(), 0);
        assert_eq!(split(b"aa blob 9\nx\n").len(), 0);
        assert_eq!(split(b"aa tree 1\nx\n").len(), 0);
    }
}
