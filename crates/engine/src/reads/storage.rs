//! Reads how much the history of agents takes on disk.

use super::ReadHandle;
use crate::error::Error;
use holon_domain::AgentId;
use holon_domain::command::OutputSize;
use holon_domain::storage::{DatabaseSize, HistorySums, PassedOverRows};
use std::collections::BTreeSet;

/// Sizes of what a host stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StorageSizes {
    pub database: DatabaseSize,
    /// History rows of all agents, private ones too.
    pub history: HistorySums,
    /// Output files of the commands of all agents.
    pub outputs: OutputSize,
    /// Public agents by name, each with its history rows and output files.
    pub agents: Vec<(AgentId, HistorySums, OutputSize)>,
    /// Rows that readers passed over since the host started.
    pub passed_over: PassedOverRows,
}

impl ReadHandle {
    /// Returns the sizes of the database, the history of agents and their output files.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn storage(&self) -> Result<StorageSizes, Error> {
        let database = self.readers.database_size().await?;
        let sums = self.readers.history_sums().await?;
        let listed = self.readers.agents().await?.into_iter();
        let public: BTreeSet<AgentId> = listed.map(|listed| listed.agent_id).collect();
        let holders = self.readers.read(|reader| reader.history_holders()).await?;
        let mut sizes = StorageSizes {
            database,
            ..StorageSizes::default()
        };
        for (id, history) in sums {
            sizes.history += history;
            let Some(id) = id else { continue };
            let holder = holders.iter().find(|holder| holder.agent_id == id);
            let outputs = match holder {
                Some(holder) => self.command.output_size(&holder.agent_home, None).await,
                None => OutputSize::default(),
            };
            sizes.outputs.files += outputs.files;
            sizes.outputs.bytes += outputs.bytes;
            if public.contains(&id) {
                sizes.agents.push((id, history, outputs));
            }
        }
        // Last, so that it names what the reads above passed over.
        let passed_over = self.readers.read(|reader| Ok(reader.passed_over()));
        sizes.passed_over = passed_over.await?;
        Ok(sizes)
    }
}
