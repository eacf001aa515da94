//! Reads how much the history of agents takes on disk.

use super::ReadHandle;
use crate::error::Error;
use holon_domain::AgentId;
use holon_domain::command::OutputSize;
use holon_domain::storage::{DatabaseSize, HistorySums};
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
}

impl ReadHandle {
    /// Returns the sizes of the database, the history of agents and their output files.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn storage(&self) -> Result<StorageSizes, Error> {
        let database = self.readers.database_size().await?;
        let sums = self.readers.history_sums().await?;
        let read = self.readers.read(|reader| {
            let public = reader.agents()?.into_iter().map(|listed| listed.agent_id);
            let public: BTreeSet<AgentId> = public.collect();
            Ok((public, reader.history_holders()?))
        });
        let (public, holders) = read.await?;
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
        Ok(sizes)
    }
}
