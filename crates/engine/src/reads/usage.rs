//! Reads what model calls used, and how far budgets are used up.

use super::ReadHandle;
use crate::error::Error;
use holon_domain::budget::{BudgetDefaults, StoredBudgets};
use holon_domain::usage::{UsageFilter, UsageGrouping, UsageRow, UsageSums, day_in};

impl ReadHandle {
    /// Lists usage by key, those after `after` only and at most `most` of them, and sums up all of it.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn usage(
        &self,
        filter: UsageFilter,
        by: UsageGrouping,
        after: Option<String>,
        most: usize,
    ) -> Result<(Vec<UsageRow>, UsageSums), Error> {
        let read = move |reader: &holon_store::Reader<'_>| {
            reader.usage(&filter, by, after.as_deref(), most)
        };
        Ok(self.readers.read(read).await?)
    }

    /// Returns the time zone in which the days of the host begin.
    #[must_use]
    pub fn time_zone(&self) -> String {
        self.facts.now().zone.clone()
    }

    /// Returns the time zone of the operator's clock.
    #[must_use]
    pub fn operator_time_zone(&self) -> String {
        self.facts.now().operator_zone.clone()
    }

    /// Returns the limits of the settings.
    #[must_use]
    pub fn budgets_of_settings(&self) -> BudgetDefaults {
        self.facts.now().budget_defaults
    }

    /// Lists the budgets of the host with their meters, and the stored ones that cannot be read.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub async fn budgets(&self) -> Result<StoredBudgets, Error> {
        let day = day_in(self.clock.now(), &self.facts.now().zone);
        let read = move |reader: &holon_store::Reader<'_>| reader.budgets(&day);
        Ok(self.readers.read(read).await?)
    }
}
