//! The page of limits: every bound, its value, its reason and what happens at it.

use super::cell;
use super::rust::documented;
use crate::Failure;

/// The page, from sources and what the names in each begin with.
pub(crate) fn render(sources: &[(&str, &str)]) -> Result<String, Failure> {
    let rows: Result<Vec<String>, Failure> = sources
        .iter()
        .map(|(prefix, source)| rows(prefix, source))
        .collect();
    Ok(format!("{HEAD}{}", rows?.concat()))
}

fn rows(prefix: &str, source: &str) -> Result<String, Failure> {
    let rows: Vec<String> = documented(source)
        .iter()
        .filter_map(|entry| {
            let (name, value) = constant(&entry.item)?;
            let doc = cell(&entry.doc);
            Some(format!("| `{prefix}{name}` | `{value}` | {doc} |\n"))
        })
        .collect();
    let constants = source.matches("pub const ").count();
    if rows.len() != constants {
        let read = rows.len();
        return Err(format!(
            "read {read} of {constants} limits; each needs a doc comment and a value on one line"
        ));
    }
    Ok(rows.concat())
}

/// The text above the table of limits.
const HEAD: &str = "# Limits

Everything has a bound, and each says what happens at it.

| limit | value | meaning |
|---|---|---|
";

/// Name and value of `pub const NAME: type = value;`.
fn constant(item: &str) -> Option<(&str, &str)> {
    let (head, value) = item.strip_prefix("pub const ")?.split_once(" = ")?;
    let (name, _) = head.split_once(':')?;
    Some((name, value.strip_suffix(';')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_becomes_a_row() {
        let page = render(&[("", "/// Most | of it.\npub const SIZE: usize = 1 << 20;\n")])
            .expect("renders");
        assert!(
            page.ends_with("| `SIZE` | `1 << 20` | Most \\| of it. |\n"),
            "{page}"
        );
    }

    #[test]
    fn limits_of_several_places_keep_apart() {
        let source = |doc: &str| format!("/// {doc}\npub const SIZE: usize = 1;\n");
        let (own, other) = (source("One."), source("Other."));
        let page = render(&[("", &own), ("patch::", &other)]).expect("renders");
        assert!(
            page.ends_with("| `SIZE` | `1` | One. |\n| `patch::SIZE` | `1` | Other. |\n"),
            "{page}"
        );
    }

    #[test]
    fn a_limit_without_a_reason_is_refused() {
        assert!(render(&[("", "pub const SIZE: usize = 1;\n")]).is_err());
    }
}
