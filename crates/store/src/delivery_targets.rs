//! The table of delivery targets. Belongs to the host, not to an agent.

use crate::error::Error;
use crate::row::{all_readable, first, json, limit, run};
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::limits::DELIVERY_TARGETS;
use rusqlite::{Connection, params};

pub(crate) const ALL: &str = "SELECT name, record FROM delivery_targets ORDER BY name LIMIT ?1";
pub(crate) const COUNT: &str = "SELECT count(*) FROM delivery_targets";
pub(crate) const ADD: &str =
    "INSERT INTO delivery_targets (name, record) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(crate) const ONE: &str = "SELECT record FROM delivery_targets WHERE name = ?1";
pub(crate) const REMOVE: &str = "DELETE FROM delivery_targets WHERE name = ?1";

/// The result of adding a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetAddition {
    Added,
    /// A target of this name exists.
    NameTaken,
    /// The host has as many targets as it may.
    TooMany,
}

/// Lists the targets by name. A row that this build cannot read delivers nothing, so it is left out.
pub(crate) fn list(conn: &Connection) -> Result<Vec<DeliveryTarget>, Error> {
    all_readable(conn, ALL, [limit(DELIVERY_TARGETS)], |row| {
        json(row, 1, "delivery_targets", "target")
    })
}

pub(crate) fn add(conn: &Connection, target: &DeliveryTarget) -> Result<TargetAddition, Error> {
    let count: Option<u64> = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
    if count.unwrap_or(0) >= DELIVERY_TARGETS as u64 {
        return Ok(TargetAddition::TooMany);
    }
    let record = serde_json::to_string(target)?;
    match run(conn, ADD, params![target.name, record])? {
        0 => Ok(TargetAddition::NameTaken),
        _ => Ok(TargetAddition::Added),
    }
}

/// Removes a target. Returns the route of its deliveries; `None` if there is none of this name.
pub(crate) fn remove(conn: &Connection, name: &str) -> Result<Option<DeliveryRoute>, Error> {
    let found = first(conn, ONE, [name], |row| {
        Ok(json::<DeliveryTarget>(row, 0, "delivery_targets", name).ok())
    })?;
    let Some(target) = found else {
        return Ok(None);
    };
    run(conn, REMOVE, [name])?;
    // A row that this build cannot read delivered nothing, so the route of older builds is as good as any other.
    let unread = || DeliveryRoute::Target {
        name: name.to_owned(),
        target_id: None,
    };
    Ok(Some(target.map_or_else(unread, |target| target.route())))
}
