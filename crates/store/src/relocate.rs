//! Follows a home that was moved or copied: the paths of agents below the old home become paths below the new one.
//!
//! Agents store absolute paths, because commands and models see them. A store that names another home than the one it is
//! opened in was moved with it, and no process uses it yet, so its rows are changed before any decision is made.

use crate::error::Error;
use crate::row::{all, first, run};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde_json::Value;

const HOME: &str = "SELECT value FROM meta WHERE key = 'home'";
const SET_HOME: &str = "INSERT INTO meta (key, value) VALUES ('home', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";
/// Stores of earlier builds name no home, and a damaged name counts as none; the home of an agent names it.
const SOME_AGENTS: &str =
    "SELECT agent_id, settings FROM agents WHERE settings IS NOT NULL LIMIT 16";

/// A column of JSON with paths, and the condition that finds a row of its table again.
struct PathColumn {
    read: &'static str,
    write: &'static str,
}

const COLUMNS: [PathColumn; 5] = [
    PathColumn {
        read: "SELECT agent_no, 0, record FROM agents",
        write: "UPDATE agents SET record = ?3 WHERE agent_no = ?1 AND ?2 = 0",
    },
    PathColumn {
        read: "SELECT agent_no, 0, settings FROM agents WHERE settings IS NOT NULL",
        write: "UPDATE agents SET settings = ?3 WHERE agent_no = ?1 AND ?2 = 0",
    },
    PathColumn {
        read: "SELECT agent_no, task_no, record FROM tasks WHERE ended IS NULL",
        write: "UPDATE tasks SET record = ?3 WHERE agent_no = ?1 AND task_no = ?2",
    },
    PathColumn {
        read: "SELECT agent_no, id, effect FROM effects",
        write: "UPDATE effects SET effect = ?3 WHERE agent_no = ?1 AND id = ?2",
    },
    PathColumn {
        read: "SELECT agent_no, 0, record FROM occupancies",
        write: "UPDATE occupancies SET record = ?3, execution_root = \
             coalesce(json_extract(?3, '$.execution_root'), execution_root) WHERE agent_no = ?1 AND ?2 = 0",
    },
];

/// Writes the paths of a store that is opened in this home. Returns the old home if there was another one.
pub(crate) fn follow(conn: &Connection, home: &str) -> Result<Option<String>, Error> {
    let known = first(conn, HOME, [], |row| {
        Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned))
    })?
    .flatten();
    if known.as_deref() == Some(home) {
        return Ok(None);
    }
    let old = match known {
        Some(known) => Some(known),
        None => home_of_agents(conn)?,
    };
    let whole = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
    let moved = old.filter(|old| old != home);
    if let Some(old) = &moved {
        for column in &COLUMNS {
            rewrite(conn, column, old, home)?;
        }
    }
    run(conn, SET_HOME, params![home])?;
    whole.commit()?;
    Ok(moved)
}

/// Returns the home that the path of an agent's home begins with; `None` without an agent.
fn home_of_agents(conn: &Connection) -> Result<Option<String>, Error> {
    let found = all(conn, SOME_AGENTS, [], |row| {
        let texts = row
            .get_ref(0)?
            .as_str()
            .ok()
            .zip(row.get_ref(1)?.as_str().ok());
        Ok(texts.and_then(|(agent_id, settings)| {
            let settings: Value = serde_json::from_str(settings).ok()?;
            let home = settings.get("agent_home")?.as_str()?;
            let home = home.strip_suffix(&format!("/agents/{agent_id}"))?;
            Some(home.to_owned())
        }))
    })?;
    Ok(found.into_iter().flatten().next())
}

/// Rewrites the paths in one column. A row that is no JSON stays as it is; its agent is put aside when it is read.
fn rewrite(conn: &Connection, column: &PathColumn, old: &str, new: &str) -> Result<(), Error> {
    let rows = all(conn, column.read, [], |row| {
        let text = row.get_ref(2)?.as_str().ok();
        let value: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
        let key = row
            .get_ref(0)?
            .as_i64()
            .ok()
            .zip(row.get_ref(1)?.as_i64().ok());
        Ok(key.zip(value))
    })?;
    for ((agent_no, key), mut value) in rows.into_iter().flatten() {
        if replace(&mut value, old, new) {
            run(
                conn,
                column.write,
                params![agent_no, key, value.to_string()],
            )?;
        }
    }
    Ok(())
}

/// Replaces every text that is a path at or below the old home. Returns true if there was one.
fn replace(value: &mut Value, old: &str, new: &str) -> bool {
    match value {
        Value::String(text) => {
            let Some(rest) = text.strip_prefix(old) else {
                return false;
            };
            if !rest.is_empty() && !rest.starts_with('/') {
                return false;
            }
            *text = format!("{new}{rest}");
            true
        }
        // `|` and not `||`: every member is visited.
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |changed, item| changed | replace(item, old, new)),
        Value::Object(members) => members
            .values_mut()
            .fold(false, |changed, member| changed | replace(member, old, new)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use serde_json::json;

    #[test]
    fn only_paths_at_or_below_the_old_home_follow_it() {
        let mut value = json!({
            "agent_home": "/a/home/agents/x",
            "roots": ["/a/home", "/a/homestead", "/b/a/home/x"],
            "words": "see /a/home/agents/x",
        });
        assert!(replace(&mut value, "/a/home", "/c"));
        assert_eq!(
            value,
            json!({
                "agent_home": "/c/agents/x",
                "roots": ["/c", "/a/homestead", "/b/a/home/x"],
                "words": "see /a/home/agents/x",
            })
        );
        assert!(!replace(&mut value, "/a/home", "/c"));
    }

    #[test]
    fn a_home_that_is_no_text_is_written_again() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        follow(conn, "/home").expect("is noted");
        let damage = "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'home'";
        conn.execute(damage, []).expect("changes");
        assert_eq!(follow(conn, "/home"), Ok(None));
        let written = first(conn, HOME, [], |row| Ok(row.get::<_, String>(0)?));
        assert_eq!(written, Ok(Some("/home".to_owned())));
    }

    #[test]
    fn a_row_that_is_no_text_stays_and_the_others_follow() {
        let db = Db::in_memory().expect("opens");
        let conn = &db.conn;
        follow(conn, "/old").expect("is noted");
        let insert = "INSERT INTO occupancies (agent_no, execution_root, record) VALUES (?1, 'r', ";
        let put = |no: i64, value: &str| {
            let sql = format!("{insert}{value})");
            conn.execute(&sql, [no]).expect("inserts");
        };
        put(1, "cast(x'ff' as text)");
        put(2, r#"'{"execution_root": "/old/w"}'"#);
        assert_eq!(follow(conn, "/new"), Ok(Some("/old".to_owned())));
        let root = first(
            conn,
            "SELECT execution_root FROM occupancies WHERE agent_no = 2",
            [],
            |row| Ok(row.get::<_, String>(0)?),
        );
        assert_eq!(root, Ok(Some("/new/w".to_owned())));
    }
}
