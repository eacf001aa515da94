//! The keys of the settings file, each once, with its documentation.

/// A key of `config.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its dotted name: table, then key.
    pub name: &'static str,
    /// What kind of value it takes.
    pub kind: Kind,
    /// What it does, and what holds without it.
    pub doc: &'static str,
}

/// What kind of value a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number from 0.
    Number,
}

impl Kind {
    /// How to write such a value.
    #[must_use]
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::Number => "a whole number from 0",
        }
    }
}

/// Every key, in the order the documentation lists them.
pub const KEYS: &[Key] = &[
    Key {
        name: "model.default",
        kind: Kind::Text,
        doc: "Model that agents ask unless they have their own, as `provider/model`. Default: none.",
    },
    Key {
        name: "serve.http_addr",
        kind: Kind::Text,
        doc: "Address the HTTP control plane listens on. Default: `127.0.0.1:7878`.",
    },
    Key {
        name: "agent.default_id",
        kind: Kind::Text,
        doc: "Agent that is meant when none is named. Default: `main`.",
    },
    Key {
        name: "retention.event_budget_bytes",
        kind: Kind::Number,
        doc: "Disk the audit events of all agents may take together. Default: 1073741824.",
    },
    Key {
        name: "runtime.default_tool_output_tokens",
        kind: Kind::Number,
        doc: "Estimated tokens of one tool result a model reads unless the call says otherwise. Default: 8000.",
    },
    Key {
        name: "runtime.max_tool_output_tokens",
        kind: Kind::Number,
        doc: "The most estimated tokens of one tool result a call may ask for. Default: 64000.",
    },
];

/// What to say about a key that is not in the list: its likely meaning, or all there is.
pub(crate) fn advice(unknown: &str) -> String {
    let nearest = KEYS
        .iter()
        .map(|key| (distance(unknown, key.name), key.name))
        .min();
    match nearest {
        Some((edits, name)) if edits <= name.len() / 3 => format!("did you mean {name}?"),
        Some(_) | None => {
            let all: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            format!("the settings are {}", all.join(", "))
        }
    }
}

/// Edits (insert, delete, replace) that turn `left` into `right`; one row of the usual table at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (left, right, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("model.defualt", "model.default", 2),
        ] {
            assert_eq!(distance(left, right), edits, "{left:?} to {right:?}");
        }
    }

    #[test]
    fn a_near_miss_names_the_key_and_a_far_one_lists_all() {
        assert_eq!(advice("model.defualt"), "did you mean model.default?");
        assert_eq!(advice("serve.http-addr"), "did you mean serve.http_addr?");
        assert!(advice("colour").starts_with("the settings are model.default, "));
    }
}
