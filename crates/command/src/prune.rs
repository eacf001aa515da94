//! Keeps the output files of an agent within their size limit.

use crate::folders::Folders;
use crate::off_thread::off_thread;
use crate::paths::{command_of_file, output_dir, remove_output};
use holon_domain::command::OutputSize;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Prefix of command names. Other files in the folder are not touched.
const COMMAND: &str = "task_";

#[derive(Debug)]
struct File {
    path: PathBuf,
    command: String,
    changed: SystemTime,
    bytes: u64,
}

/// The output files of one command, which are removed together.
#[derive(Debug)]
struct Output {
    files: Vec<PathBuf>,
    /// Time of the latest change to any of the files.
    changed: SystemTime,
    bytes: u64,
}

/// Removes the output of ended commands, the oldest first and all files of a command at once, until the rest takes at
/// most `limit` bytes.
pub(crate) async fn prune(home: &Path, folders: &Folders, limit: u64) -> io::Result<()> {
    let (home, folders) = (home.to_owned(), folders.clone());
    off_thread(move || prune_now(&home, &folders, limit)).await
}

fn prune_now(home: &Path, folders: &Folders, limit: u64) -> io::Result<()> {
    remove_oldest(folders, files(&output_dir(home))?, limit)
}

fn remove_oldest(folders: &Folders, files: Vec<File>, limit: u64) -> io::Result<()> {
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let mut by_age: Vec<(String, Output)> = by_command(files).into_iter().collect();
    by_age.sort_by_key(|(_, output)| output.changed);
    for (command, output) in by_age {
        if bytes <= limit {
            break;
        }
        // While its directory exists, the command runs or its outcome is not recorded yet.
        if folders.holding(&command).join(&command).exists() {
            continue;
        }
        for file in &output.files {
            remove_output(file)?;
        }
        bytes -= output.bytes;
    }
    Ok(())
}

/// Returns the size of the output files of these commands, or of all.
pub(crate) async fn size(home: &Path, names: Option<&[String]>) -> io::Result<OutputSize> {
    let (home, names) = (home.to_owned(), names.map(<[String]>::to_vec));
    off_thread(move || {
        let mut found = files(&output_dir(&home))?;
        if let Some(names) = names {
            found.retain(|file| names.contains(&file.command));
        }
        Ok(sum(&found))
    })
    .await
}

/// Removes the output files of these commands, unless a command runs or its outcome is not on record.
pub(crate) async fn remove(
    home: &Path,
    folders: &Folders,
    names: &[String],
) -> io::Result<OutputSize> {
    let (home, folders, names) = (home.to_owned(), folders.clone(), names.to_vec());
    off_thread(move || {
        let mut found = files(&output_dir(&home))?;
        found.retain(|file| {
            let command = &file.command;
            names.contains(command) && !folders.holding(command).join(command).exists()
        });
        for file in &found {
            remove_output(&file.path)?;
        }
        Ok(sum(&found))
    })
    .await
}

fn sum(files: &[File]) -> OutputSize {
    OutputSize {
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.bytes).sum(),
    }
}

fn by_command(files: Vec<File>) -> BTreeMap<String, Output> {
    let mut outputs: BTreeMap<String, Output> = BTreeMap::new();
    for file in files {
        let output = outputs.entry(file.command).or_insert_with(|| Output {
            files: Vec::new(),
            changed: file.changed,
            bytes: 0,
        });
        output.files.push(file.path);
        output.changed = output.changed.max(file.changed);
        output.bytes += file.bytes;
    }
    outputs
}

fn files(dir: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        // The agent was removed, and its home with it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let command = name
            .to_str()
            .and_then(command_of_file)
            .filter(|command| command.starts_with(COMMAND));
        let Some(command) = command else { continue };
        let found = match entry.metadata() {
            Ok(found) => found,
            // The file was removed since the directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if found.is_file() {
            files.push(File {
                path: entry.path(),
                command: command.to_owned(),
                changed: found.modified()?,
                bytes: found.len(),
            });
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_workspace::ClaimFolders;
    use std::time::Duration;

    fn folders(home: &Path) -> Folders {
        Folders::of(&ClaimFolders::of_host(&home.join("host")), home)
    }

    async fn prune(home: &Path, limit: u64) -> io::Result<()> {
        super::prune(home, &folders(home), limit).await
    }

    /// Creates a home with output files of ten bytes each, the oldest first.
    fn home(names: &[&str]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(output_dir(home.path())).unwrap();
        for (age, name) in names.iter().enumerate() {
            let path = output_dir(home.path()).join(name);
            std::fs::write(&path, "0123456789").unwrap();
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64);
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_modified(changed).unwrap();
        }
        home
    }

    fn remaining(home: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(output_dir(home)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn the_output_of_named_commands_goes_unless_they_still_run() {
        let home = home(&[
            "task_a.log",
            "task_a.stderr.log",
            "task_b.log",
            "task_c.log",
        ]);
        let running = folders(home.path()).own.join("task_b");
        std::fs::create_dir_all(running).unwrap();
        let named = ["task_a".to_owned(), "task_b".to_owned()];
        let of = |files, bytes| OutputSize { files, bytes };
        assert_eq!(size(home.path(), None).await.unwrap(), of(4, 40));
        assert_eq!(size(home.path(), Some(&named)).await.unwrap(), of(3, 30));
        let gone = remove(home.path(), &folders(home.path()), &named).await;
        assert_eq!(gone.unwrap(), of(2, 20));
        assert_eq!(size(home.path(), None).await.unwrap(), of(2, 20));
    }

    #[tokio::test]
    async fn the_oldest_files_of_commands_that_are_over_go_first() {
        let home = home(&[
            "task_a.log",
            "task_b.log",
            "task_b.stderr.log",
            "task_c.log",
        ]);
        prune(home.path(), 40).await.unwrap();
        assert_eq!(remaining(home.path()).len(), 4);
        prune(home.path(), 30).await.unwrap();
        assert_eq!(
            remaining(home.path()),
            ["task_b.log", "task_b.stderr.log", "task_c.log"]
        );
    }

    #[tokio::test]
    async fn the_files_of_one_command_go_together_and_are_as_old_as_the_last_of_them() {
        let home = home(&[
            "task_a.log",
            "task_b.log",
            "task_b.stderr.log",
            "task_a.stderr.log",
        ]);
        prune(home.path(), 30).await.unwrap();
        assert_eq!(remaining(home.path()), ["task_a.log", "task_a.stderr.log"]);
        prune(home.path(), 10).await.unwrap();
        assert_eq!(remaining(home.path()), Vec::<String>::new());
    }

    #[tokio::test]
    async fn files_of_commands_that_may_run_and_of_others_stay() {
        let home = home(&[
            "task_a.log",
            "notes.log",
            "task_x.txt",
            "task_b-1.log",
            "task_c.log",
        ]);
        let Folders { own, former } = folders(home.path());
        std::fs::create_dir_all(own.join("task_a")).unwrap();
        std::fs::create_dir_all(former.join("task_c")).unwrap();
        prune(home.path(), 0).await.unwrap();
        let stay = ["notes.log", "task_a.log", "task_c.log", "task_x.txt"];
        assert_eq!(remaining(home.path()), stay);
    }

    #[test]
    fn a_file_that_is_gone_already_is_no_error() {
        let home = home(&["task_a.log", "task_b.log"]);
        let found = files(&output_dir(home.path())).unwrap();
        std::fs::remove_file(output_dir(home.path()).join("task_a.log")).unwrap();
        remove_oldest(&folders(home.path()), found, 0).unwrap();
        assert_eq!(remaining(home.path()), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_home_that_is_gone_already_is_no_error() {
        let home = home(&["task_a.log"]);
        std::fs::remove_dir_all(output_dir(home.path())).unwrap();
        prune(home.path(), 0).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_known_of_a_file_goes_with_it() {
        let home = home(&[
            "task_a.log",
            "task_a.facts.json",
            "task_b.stderr.log",
            "task_b.stderr.facts.json",
        ]);
        prune(home.path(), 10).await.unwrap();
        assert_eq!(
            remaining(home.path()),
            ["task_b.stderr.facts.json", "task_b.stderr.log"]
        );
        prune(home.path(), 0).await.unwrap();
        assert_eq!(remaining(home.path()), Vec::<String>::new());
    }
}
