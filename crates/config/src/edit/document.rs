//! Putting a value into a parsed file and taking one out, with the comments around it left alone.

use crate::error::{Error, Place};
use crate::key::{KeyPath, Value};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

/// Puts a value at a path; tables on the way are made.
pub(super) fn put(document: &mut DocumentMut, path: &KeyPath, value: &Value) -> Result<(), Error> {
    let Some((last, tables)) = path.segments().split_last() else {
        return Ok(());
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in tables {
        let item = table.entry(name).or_insert_with(|| {
            // A header is written only for a table that holds a value itself.
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        table = item.as_table_like_mut().ok_or_else(|| Error::Value {
            place: Place::Given(path.to_string()),
            problem: format!("{name} is not a table in the file; remove it there first"),
        })?;
    }
    let mut written = written(value);
    match table.get_mut(last).and_then(Item::as_value_mut) {
        Some(old) => {
            *written.decor_mut() = old.decor().clone();
            *old = written;
        }
        None => {
            table.insert(last, Item::Value(written));
        }
    }
    Ok(())
}

fn written(value: &Value) -> toml_edit::Value {
    match value {
        Value::Text(text) => text.as_str().into(),
        // The table of keys allows no number beyond this.
        Value::Number(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::List(items) => items.iter().map(String::as_str).collect::<Array>().into(),
    }
}

/// Takes out what is at a path, and the tables that hold nothing any more; says whether anything was there.
pub(super) fn remove(table: &mut dyn TableLike, path: &[String]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return false;
    };
    if rest.is_empty() {
        return table.remove(first).is_some();
    }
    let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
        return false;
    };
    let removed = remove(inner, rest);
    let empty = inner.is_empty();
    let commented = table
        .get(first)
        .and_then(Item::as_table)
        .is_some_and(|table| {
            let prefix = table.decor().prefix().and_then(|prefix| prefix.as_str());
            prefix.is_some_and(|prefix| prefix.contains('#'))
        });
    if removed && empty && !commented {
        table.remove(first);
    }
    removed
}
