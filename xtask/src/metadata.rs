//! `cargo metadata`, read into the few facts the checks need.

use crate::Failure;
use crate::repo::Repo;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A package of the dependency graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// True if it is ours.
    pub(crate) is_member: bool,
    /// Ids of what it needs to be built and run; not what only its tests need.
    pub(crate) needs: Vec<String>,
}

/// Every package by its id.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    packages: BTreeMap<String, Package>,
}

impl Metadata {
    /// Asks cargo, without the network if that is enough.
    pub(crate) fn load(repo: &Repo) -> Result<Self, Failure> {
        let output = ask(repo, &["--offline"]).or_else(|_| ask(repo, &[]))?;
        let value = serde_json::from_slice(&output)
            .map_err(|error| format!("cargo metadata printed no JSON: {error}"))?;
        Ok(Self::parse(&value))
    }

    pub(crate) fn parse(value: &Value) -> Self {
        let members: BTreeSet<&str> = list(&value["workspace_members"])
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let mut packages = BTreeMap::new();
        for package in list(&value["packages"]) {
            let id = text(&package["id"]);
            let is_member = members.contains(id.as_str());
            let known = Package {
                name: text(&package["name"]),
                is_member,
                needs: Vec::new(),
            };
            packages.insert(id, known);
        }
        for node in list(&value["resolve"]["nodes"]) {
            if let Some(package) = packages.get_mut(&text(&node["id"])) {
                package.needs = list(&node["deps"])
                    .iter()
                    .filter(|dep| is_needed(dep))
                    .map(|dep| text(&dep["pkg"]))
                    .collect();
            }
        }
        Self { packages }
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.values().filter(|package| package.is_member)
    }

    /// The direct dependencies of a package.
    pub(crate) fn needs<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Package> {
        package.needs.iter().filter_map(|id| self.packages.get(id))
    }

    /// The names on the shortest way from `package` to one called `target`, if there is a way.
    pub(crate) fn way<'a>(&'a self, package: &'a Package, target: &str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::new();
        let mut ways = vec![vec![package]];
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                let Some(last) = way.last() else { continue };
                for next in self.needs(last) {
                    let mut grown = way.clone();
                    grown.push(next);
                    if next.name == target {
                        return Some(grown.iter().map(|package| package.name.as_str()).collect());
                    }
                    if seen.insert(&next.name) {
                        longer.push(grown);
                    }
                }
            }
            ways = longer;
        }
        None
    }
}

fn ask(repo: &Repo, flags: &[&str]) -> Result<Vec<u8>, Failure> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1"])
        .args(flags)
        .current_dir(repo.root())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Returns true if an edge is more than a test's.
fn is_needed(dep: &Value) -> bool {
    list(&dep["dep_kinds"])
        .iter()
        .any(|kind| kind["kind"].is_null() || kind["kind"] == "build")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
