//! The crate graph: which crate may need which, and what it may never reach. The same table stands, for people,
//! in ARCHITECTURE.md.

use crate::finding::Finding;
use crate::metadata::{Metadata, Package};

/// Prefix of our own packages.
const OURS: &str = "holon-";

/// The place of a crate in the dependency graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Part of the product; may need these of ours and no others.
    Product(&'static [&'static str]),
    /// For tests and chores; may need anything, and the product may not need it.
    Development,
}

/// Every crate of ours, lowest layer first.
const CRATES: &[(&str, Role)] = &[
    ("tokens", Role::Product(&[])),
    ("domain", Role::Product(&["tokens"])),
    ("fault", Role::Product(&[])),
    ("patch", Role::Product(&[])),
    ("sse", Role::Product(&[])),
    ("core", Role::Product(&["domain"])),
    ("prompt", Role::Product(&["domain"])),
    ("presentation", Role::Product(&["domain"])),
    ("api", Role::Product(&["domain"])),
    ("config", Role::Product(&["domain"])),
    ("store", Role::Product(&["domain", "fault"])),
    ("llm", Role::Product(&["domain", "sse"])),
    ("web", Role::Product(&["domain"])),
    ("process", Role::Product(&["domain"])),
    ("workspace", Role::Product(&["domain", "fault"])),
    (
        "command",
        Role::Product(&["domain", "fault", "process", "workspace"]),
    ),
    ("tools", Role::Product(&["domain", "patch"])),
    (
        "engine",
        Role::Product(&["domain", "fault", "core", "prompt", "tools", "store"]),
    ),
    ("client", Role::Product(&["domain", "sse", "api"])),
    ("server", Role::Product(&["domain", "sse", "api", "engine"])),
    (
        "tui",
        Role::Product(&["domain", "api", "client", "presentation"]),
    ),
    (
        "daemon",
        Role::Product(&[
            "domain",
            "fault",
            "patch",
            "core",
            "prompt",
            "presentation",
            "api",
            "config",
            "store",
            "llm",
            "web",
            "process",
            "workspace",
            "command",
            "tools",
            "engine",
            "server",
        ]),
    ),
    (
        "cli",
        Role::Product(&[
            "daemon",
            "client",
            "tui",
            "process",
            "config",
            "api",
            "presentation",
            "domain",
        ]),
    ),
    ("testkit", Role::Development),
    ("sim", Role::Development),
    ("bench", Role::Development),
    ("storm", Role::Development),
];

/// Crates that a pure crate must not depend on, directly or indirectly.
const IMPURE: &[&str] = &[
    "tokio", "rusqlite", "axum", "hyper", "reqwest", "mio", "socket2",
];

/// Crates and what they may not reach by any way, ours or not.
const UNREACHABLE: &[(&[&str], &[&str])] = &[
    (
        &[
            "tokens",
            "domain",
            "fault",
            "patch",
            "sse",
            "core",
            "prompt",
            "presentation",
            "api",
            "tools",
        ],
        IMPURE,
    ),
    (
        &["engine"],
        &["reqwest", "axum", "hyper", "portable-pty", "ratatui"],
    ),
    (&["process", "command"], &["rusqlite"]),
    (&["tui", "client"], &["rusqlite", "axum", "portable-pty"]),
];

/// Checks every member against the tables.
pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        let Some(name) = package.name.strip_prefix(OURS) else {
            continue;
        };
        check_edges(metadata, package, name, &mut findings);
        check_reach(metadata, package, name, &mut findings);
    }
    findings
}

fn role(name: &str) -> Option<Role> {
    let row = CRATES.iter().find(|(known, _)| *known == name);
    row.map(|(_, role)| *role)
}

fn check_edges(metadata: &Metadata, package: &Package, name: &str, findings: &mut Vec<Finding>) {
    let manifest = format!("crates/{name}/Cargo.toml");
    let allowed = match role(name) {
        Some(Role::Product(allowed)) => allowed,
        Some(Role::Development) => return,
        None => {
            let message = format!(
                "crate {name} has no place in the graph; add it to ARCHITECTURE.md and xtask/src/graph.rs"
            );
            findings.push(Finding::refusal(&manifest, 1, message));
            return;
        }
    };
    for need in metadata.needs(package) {
        let Some(other) = need.name.strip_prefix(OURS) else {
            continue;
        };
        if !allowed.contains(&other) {
            let message = format!(
                "{name} may not depend on {other}; go through a port or move the code, or change the graph by a page under docs/decisions"
            );
            findings.push(Finding::refusal(&manifest, 1, message));
        }
    }
}

fn check_reach(metadata: &Metadata, package: &Package, name: &str, findings: &mut Vec<Finding>) {
    let manifest = format!("crates/{name}/Cargo.toml");
    let banned = UNREACHABLE
        .iter()
        .filter(|(crates, _)| crates.contains(&name))
        .flat_map(|(_, banned)| *banned);
    for target in banned {
        if let Some(way) = metadata.way(package, target) {
            let message = format!(
                "{name} must not reach {target}, and does by {}; drop the dependency on that way",
                way.join(" -> ")
            );
            findings.push(Finding::refusal(&manifest, 1, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A workspace of these members, each with what it needs, by name; the rest are other people's.
    fn findings(edges: &[(&str, &[&str])], foreign: &[(&str, &[&str])]) -> Vec<String> {
        let all: Vec<&(&str, &[&str])> = edges.iter().chain(foreign).collect();
        let packages: Vec<Value> = all
            .iter()
            .map(|(name, _)| json!({ "id": name, "name": name, "targets": [] }))
            .collect();
        let nodes: Vec<Value> = all
            .iter()
            .map(|(name, needs)| {
                let deps: Vec<Value> = needs
                    .iter()
                    .map(|need| json!({ "pkg": need, "dep_kinds": [{ "kind": null }] }))
                    .collect();
                json!({ "id": name, "deps": deps })
            })
            .collect();
        let members: Vec<&str> = edges.iter().map(|(name, _)| *name).collect();
        let metadata = Metadata::parse(&json!({
            "packages": packages, "workspace_members": members, "resolve": { "nodes": nodes }
        }));
        check(&metadata).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn an_edge_of_the_table_passes_and_another_is_refused() {
        assert!(
            findings(
                &[("holon-domain", &[]), ("holon-core", &["holon-domain"])],
                &[]
            )
            .is_empty()
        );
        let found = findings(
            &[("holon-store", &[]), ("holon-server", &["holon-store"])],
            &[],
        );
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("server may not depend on store"),
            "{found:?}"
        );
    }

    #[test]
    fn the_product_may_not_need_development_crates_but_those_may_need_anything() {
        let found = findings(
            &[("holon-testkit", &["holon-engine"]), ("holon-engine", &[])],
            &[],
        );
        assert!(found.is_empty(), "{found:?}");
        let found = findings(
            &[("holon-testkit", &[]), ("holon-engine", &["holon-testkit"])],
            &[],
        );
        assert!(
            found[0].contains("engine may not depend on testkit"),
            "{found:?}"
        );
    }

    #[test]
    fn a_banned_crate_is_found_by_whatever_way_and_the_way_is_shown() {
        let foreign: &[(&str, &[&str])] = &[("a", &["b"]), ("b", &["a", "tokio"]), ("tokio", &[])];
        let found = findings(&[("holon-domain", &["a"])], foreign);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("holon-domain -> a -> b -> tokio"),
            "{found:?}"
        );
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        let found = findings(&[("holon-utils", &[])], &[]);
        assert!(found[0].contains("no place in the graph"), "{found:?}");
    }

    #[test]
    fn the_table_only_points_down() {
        for (position, (name, role)) in CRATES.iter().enumerate() {
            let needs = match role {
                Role::Product(needs) => *needs,
                Role::Development => &[],
            };
            for need in needs {
                let below = CRATES.iter().take(position).any(|(lower, _)| lower == need);
                assert!(below, "{name} needs {need}, which is not below it");
            }
        }
    }
}
