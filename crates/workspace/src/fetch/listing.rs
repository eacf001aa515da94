//! Reads and checks what `git ls-tree -z` prints.
//!
//! Trees of a hostile repository hold any bytes as names and any mode. Everything is checked here, before content is
//! downloaded: regular files, plain names, no two that differ only in case, and the bounds of an installation.

use super::error::{FetchError, shown};
use crate::git::CommitId;
use holon_domain::limits::{INSTALL_BYTES, INSTALL_DEPTH, INSTALL_FILES};
use holon_domain::text::is_display_control;
use std::collections::BTreeMap;

/// Longest name of a file, in bytes.
const NAME_BYTES: usize = 255;

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    pub(super) id: CommitId,
    /// Path from the tree that was listed.
    pub(super) path: String,
    /// Bytes of a file; zero where sizes were not asked for.
    pub(super) size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Directory,
    File { is_executable: bool },
}

/// One record of the listing: mode, id, size and the bytes of the path.
struct Record<'a> {
    mode: &'a str,
    id: &'a str,
    size: Option<&'a str>,
    path: &'a [u8],
}

/// Splits the listing into records; an item is `None` if git printed something else.
fn records(listed: &[u8]) -> impl Iterator<Item = Option<Record<'_>>> {
    let lines = listed.split(|byte| *byte == 0);
    lines.filter(|line| !line.is_empty()).map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let head = std::str::from_utf8(line.get(..tab)?).ok()?;
        let mut words = head.split_ascii_whitespace();
        let (mode, _, id) = (words.next()?, words.next()?, words.next()?);
        Some(Record {
            mode,
            id,
            size: words.next(),
            path: line.get(tab + 1..)?,
        })
    })
}

/// Reads the entries that are files or directories with UTF-8 names, and passes over all others. `None` if git printed
/// something else.
pub(super) fn parse(listed: &[u8]) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    for record in records(listed) {
        let record = record?;
        let (Ok(kind), Ok(path)) = (kind_of(record.mode), std::str::from_utf8(record.path)) else {
            continue;
        };
        entries.push(Entry {
            kind,
            id: CommitId::parse(record.id).ok()?,
            path: path.to_owned(),
            size: 0,
        });
    }
    Some(entries)
}

fn kind_of(mode: &str) -> Result<EntryKind, &'static str> {
    match mode {
        "040000" => Ok(EntryKind::Directory),
        "100644" | "100664" => Ok(EntryKind::File {
            is_executable: false,
        }),
        "100755" => Ok(EntryKind::File {
            is_executable: true,
        }),
        "120000" => Err("it is a symbolic link"),
        "160000" => Err("it is a submodule"),
        _ => Err("it is no regular file"),
    }
}

/// Checks a listing with directories (`ls-tree -r -t`). `root` is the directory in the repository, for messages.
pub(super) fn check(listed: &[u8], root: &str) -> Result<(), FetchError> {
    let mut seen = BTreeMap::new();
    for record in records(listed) {
        let Some(record) = record else {
            return Err(refuse(root.as_bytes(), "git printed an unknown entry"));
        };
        if seen.len() >= INSTALL_FILES {
            return Err(FetchError::TooLarge {
                path: root.to_owned(),
            });
        }
        kind_of(record.mode).map_err(|reason| refuse(record.path, reason))?;
        let path = std::str::from_utf8(record.path)
            .map_err(|_| refuse(record.path, "its name is not UTF-8"))?;
        check_path(path).map_err(|reason| refuse(record.path, reason))?;
        if path.split('/').count() > INSTALL_DEPTH + 1 {
            return Err(FetchError::TooLarge {
                path: path.to_owned(),
            });
        }
        match seen.insert(path.to_lowercase(), path) {
            None => {}
            Some(other) if other == path => {
                return Err(refuse(record.path, "it is in its directory twice"));
            }
            Some(_) => return Err(refuse(record.path, "another name differs only in case")),
        }
    }
    Ok(())
}

/// Reads the files of a checked listing with sizes (`ls-tree -r -l`).
pub(super) fn check_sizes(listed: &[u8], root: &str) -> Result<Vec<Entry>, FetchError> {
    let mut entries = parse(listed).unwrap_or_default();
    let mut left = INSTALL_BYTES;
    for (entry, record) in entries.iter_mut().zip(records(listed).flatten()) {
        let size = record.size.and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| refuse(record.path, "its content was not sent"))?;
        left = left.checked_sub(size).ok_or_else(|| FetchError::TooLarge {
            path: if root.is_empty() {
                entry.path.clone()
            } else {
                root.to_owned()
            },
        })?;
        entry.size = size;
    }
    Ok(entries)
}

fn refuse(path: &[u8], reason: &'static str) -> FetchError {
    FetchError::Refused {
        path: shown(path),
        reason,
    }
}

/// Refuses paths that mean something else on a file system.
fn check_path(path: &str) -> Result<(), &'static str> {
    for name in path.split('/') {
        if name.is_empty() || name == "." || name == ".." {
            return Err("a part of its path is empty, '.' or '..'");
        }
        if name.eq_ignore_ascii_case(".git") {
            return Err("a part of its path is '.git'");
        }
        if name.chars().any(|c| is_display_control(c) || c == '\\') {
            return Err("its name has a character that cannot be shown");
        }
        if name.len() > NAME_BYTES {
            return Err("its name is too long");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

    fn listed(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut text = Vec::new();
        for (mode, path) in entries {
            text.extend(format!("{mode} kind {ID}\t{path}\0").bytes());
        }
        text
    }

    #[test]
    fn plain_files_and_directories_pass() {
        let plain = listed(&[
            ("040000", "a"),
            ("100644", "a/B.md"),
            ("100755", "a/c"),
            ("100664", ".hidden"),
            ("100644", "-x"),
            ("100644", "a b"),
        ]);
        check(&plain, "x").unwrap();
        assert_eq!(parse(&plain).unwrap().len(), 6);
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for (entries, reason) in [
            (vec![("120000", "a")], "symbolic link"),
            (vec![("160000", "a")], "submodule"),
            (vec![("100600", "a")], "no regular file"),
            (vec![("100644", "../a")], "'..'"),
            (vec![("100644", "a/./b")], "'.'"),
            (vec![("100644", "a//b")], "empty"),
            (vec![("100644", ".GIT/config")], "'.git'"),
            (vec![("100644", "a\\b")], "cannot be shown"),
            (vec![("100644", "a\nb")], "cannot be shown"),
            (vec![("100644", "a\u{202e}b")], "cannot be shown"),
            (vec![("100644", "README"), ("100644", "readme")], "case"),
            (vec![("040000", "A"), ("100644", "a")], "case"),
            (vec![("100644", "a"), ("100644", "a")], "twice"),
        ] {
            let refused = check(&listed(&entries), "x").unwrap_err().to_string();
            assert!(refused.contains(reason), "{entries:?}: {refused}");
        }
        let long = "n".repeat(256);
        assert!(check(&listed(&[("100644", &long)]), "x").is_err());
        let deep = ["d"; INSTALL_DEPTH + 2].join("/");
        assert!(check(&listed(&[("100644", &deep)]), "x").is_err());
        let latin: Vec<u8> = [format!("100644 blob {ID}\t").as_bytes(), b"caf\xe9\0"].concat();
        let refused = check(&latin, "x").unwrap_err().to_string();
        assert!(refused.contains("not UTF-8"), "{refused}");
    }

    #[test]
    fn sizes_are_summed_up_to_the_bound() {
        let sized = |size: &str| format!("100644 blob {ID} {size:>7}\ta\0").into_bytes();
        assert_eq!(check_sizes(&sized("7"), "x").unwrap()[0].size, 7);
        assert!(check_sizes(&sized("BAD"), "x").is_err());
        let most = INSTALL_BYTES.to_string();
        assert!(check_sizes(&sized(&most), "x").is_ok());
        let beyond = (INSTALL_BYTES + 1).to_string();
        assert!(check_sizes(&sized(&beyond), "x").is_err());
        assert!(check_sizes(&sized("18446744073709551615"), "x").is_err());
    }
}
