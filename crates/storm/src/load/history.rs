//! The history of a client as lines of text: a word and its value.

use crate::Fallible;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Writes one history. Each line is written before the client goes on.
#[derive(Debug)]
pub(crate) struct HistoryWriter(File);

impl HistoryWriter {
    pub(crate) fn create(path: &Path) -> Fallible<Self> {
        Ok(Self(File::create_new(path)?))
    }

    pub(crate) fn write(&mut self, word: &str, value: &str) -> Fallible<()> {
        let line = format!("{word} {}\n", value.replace('\n', " "));
        Ok(self.0.write_all(line.as_bytes())?)
    }
}

/// What one client did and saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClientHistory {
    pub(crate) name: String,
    pub(crate) agent: String,
    /// Texts that were sent, in order. No two are the same.
    pub(crate) sent: Vec<String>,
    /// Id and text of each message that was acknowledged.
    pub(crate) acknowledged: Vec<(String, String)>,
    /// Texts that the host refused.
    pub(crate) refused: Vec<String>,
    /// Sequence numbers of the events, in the order in which the client got them.
    pub(crate) events: Vec<u64>,
    /// Number of times that the stream gave up and was opened again.
    pub(crate) reopened: usize,
}

/// Reads the histories of all clients.
pub(crate) fn read_all(dir: &Path) -> Fallible<Vec<ClientHistory>> {
    let mut found: Vec<ClientHistory> = Vec::new();
    let mut names: Vec<_> = std::fs::read_dir(dir)?.collect::<Result<_, _>>()?;
    names.sort_by_key(std::fs::DirEntry::file_name);
    for entry in names {
        let path = entry.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path)?;
        match found.iter_mut().find(|history| history.name == name) {
            Some(history) => history.add(&text)?,
            None => {
                let mut history = ClientHistory {
                    name: name.into_owned(),
                    ..ClientHistory::default()
                };
                history.add(&text)?;
                found.push(history);
            }
        }
    }
    Ok(found)
}

impl ClientHistory {
    /// Adds the lines of one file.
    pub(crate) fn add(&mut self, text: &str) -> Fallible<()> {
        for line in text.lines() {
            let (word, value) = line.split_once(' ').ok_or("a line without a value")?;
            match word {
                "agent" => value.clone_into(&mut self.agent),
                "send" => self.sent.push(value.to_owned()),
                "ack" => {
                    let (id, text) = value.split_once(' ').ok_or("an ack without a text")?;
                    self.acknowledged.push((id.to_owned(), text.to_owned()));
                }
                "refused" => self.refused.push(value.to_owned()),
                "unknown" => {}
                "event" => self.events.push(value.parse()?),
                "reopened" => self.reopened += 1,
                other => return Err(format!("an unknown word {other:?}").into()),
            }
        }
        Ok(())
    }
}
