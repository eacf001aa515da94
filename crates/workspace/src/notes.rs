//! Reads the notes of an agent for its prompts: the beginning of the two files in the folder `memory` of its home.
//!
//! The agent writes these files with commands of its own, so anything may be in their place. No link is followed, neither
//! the home nor the folder nor the file, and what cannot be read is left out: `memory_file` tells the reason to those who
//! search. Content that a new home has by itself is no note.

use crate::home::is_initial_memory;
use crate::plain_file::{PlainFile, ReadFailure};
use holon_domain::guidance::NoteFile;
use holon_domain::limits::NOTES_READ_BYTES;
use holon_domain::memory::CuratedFile;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Folder of the files in an agent's home.
const FOLDER: &str = "memory";
/// The files in the order of the prompt.
const FILES: [CuratedFile; 2] = [CuratedFile::Operator, CuratedFile::SelfModel];

/// Reads the notes of an agent as they are now. A file without content is not among them.
#[must_use]
pub fn read_notes(agent_home: &Path) -> Vec<NoteFile> {
    let folder = open_dir(CWD, agent_home).and_then(|home| open_dir(&home, Path::new(FOLDER)));
    let Ok(folder) = folder else {
        return Vec::new();
    };
    let notes = FILES.into_iter();
    notes
        .filter_map(|file| read_note(&folder, file).ok().flatten())
        .collect()
}

fn open_dir(at: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| openat(&at, path, flags, Mode::empty()))
}

fn read_note(folder: &OwnedFd, file: CuratedFile) -> Result<Option<NoteFile>, ReadFailure> {
    let Some(found) = PlainFile::open_at(folder, file.file_name())? else {
        return Ok(None);
    };
    let content = found.read_head(NOTES_READ_BYTES)?;
    let read = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let bytes = found.bytes().max(read);
    let goes_on = bytes > read;
    let content = String::from_utf8_lossy(&content);
    let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
    if content.trim().is_empty() || is_initial_memory(content) {
        return Ok(None);
    }
    Ok(Some(NoteFile {
        file,
        beginning: Arc::from(content),
        bytes,
        goes_on,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    fn home() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        dir
    }

    fn texts(home: &Path) -> Vec<String> {
        let notes = read_notes(home).into_iter();
        notes.map(|note| note.beginning.to_string()).collect()
    }

    #[test]
    fn files_with_content_are_read_and_the_words_of_a_new_home_are_not() {
        let dir = home();
        let at = |name: &str| dir.path().join("memory").join(name);
        assert_eq!(texts(&dir.path().join("none")), Vec::<String>::new());
        assert_eq!(texts(dir.path()), Vec::<String>::new());
        for (name, initial) in [
            ("self.md", include_str!("../assets/memory-self.md")),
            ("operator.md", include_str!("../assets/memory-operator.md")),
        ] {
            fs::write(at(name), initial).unwrap();
        }
        assert_eq!(texts(dir.path()), Vec::<String>::new());
        fs::write(at("self.md"), " \n\n").unwrap();
        assert_eq!(texts(dir.path()), Vec::<String>::new());
        fs::write(at("self.md"), "\u{feff}I check twice.\n").unwrap();
        fs::write(at("operator.md"), b"Tea, no c\xf4ff\xe9e.").unwrap();
        let read = texts(dir.path());
        assert_eq!(read, ["Tea, no c\u{fffd}ff\u{fffd}e.", "I check twice.\n"]);
    }

    #[test]
    fn a_large_file_is_read_as_far_as_the_bound_and_its_size_is_told() {
        let dir = home();
        let path = dir.path().join("memory/self.md");
        fs::write(&path, "note ").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(50 << 20)
            .unwrap();
        let [note]: [NoteFile; 1] = read_notes(dir.path()).try_into().unwrap();
        assert_eq!(u64::try_from(note.beginning.len()), Ok(NOTES_READ_BYTES));
        assert_eq!((note.bytes, note.goes_on), (50 << 20, true));
    }

    #[test]
    fn no_link_leads_to_a_note_and_a_pipe_does_not_wait() {
        let secret = home();
        for name in ["self.md", "operator.md"] {
            fs::write(secret.path().join("memory").join(name), "secret").unwrap();
        }
        let root = tempfile::tempdir().unwrap();
        let linked_home = root.path().join("home");
        symlink(secret.path(), &linked_home).unwrap();
        assert_eq!(texts(&linked_home), Vec::<String>::new());
        let linked_folder = tempfile::tempdir().unwrap();
        symlink(
            secret.path().join("memory"),
            linked_folder.path().join("memory"),
        )
        .unwrap();
        assert_eq!(texts(linked_folder.path()), Vec::<String>::new());
        let dir = home();
        symlink(
            secret.path().join("memory/self.md"),
            dir.path().join("memory/self.md"),
        )
        .unwrap();
        let pipe = dir.path().join("memory/operator.md");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(texts(dir.path()), Vec::<String>::new());
        assert_eq!(texts(secret.path()).len(), 2, "the targets have content");
    }
}
