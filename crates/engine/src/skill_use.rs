//! Finds the skills that successful commands referred to, by the paths in their text.
//!
//! A path counts in full, relative to the directory that the command started in or has changed to, and below the user's
//! home in each of its spellings. A command that builds a path in another way is not recognised; then the skill is not
//! marked as active, and nothing else follows.

mod words;

use holon_domain::guidance::{SkillCatalog, SkillEntry, SkillLoadReason, SkillUse};
use holon_domain::intent::ExecCommand;
use holon_domain::limits::SKILL_COMMAND_BYTES;
use holon_domain::text;
use std::path::{Path, PathBuf};

const SKILL_MD: &str = "SKILL.md";
const SCRIPTS: &str = "scripts";

/// Returns true if a command may refer to a skill, so that the catalogue has to be read.
pub(crate) fn may_use_skill(command: &ExecCommand) -> bool {
    command.cmd.contains(SKILL_MD) || command.cmd.contains(SCRIPTS)
}

/// Directories from which the paths of commands are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathBases<'a> {
    /// Directory of the turn's workspace.
    pub(crate) cwd: &'a str,
    /// Home of the user whom commands run as. `None` if it is not known.
    pub(crate) user_home: Option<&'a Path>,
}

/// A command with the paths that it may mean.
struct CommandLine<'a> {
    /// Beginning of the shell text, as far as it is read.
    text: &'a str,
    start: PathBuf,
    named: Vec<PathBuf>,
}

impl<'a> CommandLine<'a> {
    fn read(command: &'a ExecCommand, bases: PathBases<'_>) -> Self {
        let start = match &command.workdir {
            Some(workdir) => Path::new(bases.cwd).join(workdir),
            None => Path::new(bases.cwd).to_owned(),
        };
        let text = text::prefix(&command.cmd, SKILL_COMMAND_BYTES);
        let named = words::paths(text, &start, bases.user_home);
        Self { text, start, named }
    }
}

/// Finds the skills that commands referred to; each once, in the order of the catalogue.
pub(crate) fn find(
    catalog: &SkillCatalog,
    commands: &[ExecCommand],
    bases: PathBases<'_>,
) -> Vec<SkillUse> {
    let lines: Vec<CommandLine<'_>> = commands
        .iter()
        .map(|command| CommandLine::read(command, bases))
        .collect();
    let skills = catalog.discoverable_skills.iter();
    skills
        .filter_map(|skill| lines.iter().find_map(|line| use_of(skill, line)))
        .collect()
}

fn use_of(skill: &SkillEntry, line: &CommandLine<'_>) -> Option<SkillUse> {
    let CommandLine { text, start, named } = line;
    let entrypoint = Path::new(&skill.path);
    let used = |load_reason, path: String| SkillUse {
        skill_id: skill.skill_id.clone(),
        name: skill.name.clone(),
        scope: skill.scope,
        path,
        entrypoint_path: skill.path.clone(),
        load_reason,
        change: None,
    };
    if named.iter().any(|path| path == entrypoint)
        || spellings(entrypoint, start).any(|path| refers_to(text, &path).is_some())
    {
        return Some(used(SkillLoadReason::ReadSkillMd, skill.path.clone()));
    }
    let scripts = entrypoint.parent()?.join(SCRIPTS);
    let script = named.iter().find(|path| path.starts_with(&scripts));
    if let Some(script) = script {
        let path = script.to_string_lossy().into_owned();
        return Some(used(SkillLoadReason::RunSkillScript, path));
    }
    let rest = spellings(&scripts, start)
        .find_map(|path| refers_to(text, &format!("{path}/")).map(str::to_owned))?;
    let path = match rest.as_str() {
        "" => scripts,
        rest => scripts.join(rest),
    };
    let path = path.to_string_lossy().into_owned();
    Some(used(SkillLoadReason::RunSkillScript, path))
}

/// Returns the ways in which a command that starts in a directory may write a path.
fn spellings(path: &Path, start: &Path) -> impl Iterator<Item = String> {
    let full = path.to_string_lossy().into_owned();
    let relative = path.strip_prefix(start).ok();
    let relative = relative.map(|path| path.to_string_lossy().into_owned());
    [Some(full), relative].into_iter().flatten()
}

/// Finds a path in a command, not as a part of a longer one, and returns what follows it up to the end of the word. A
/// path that ends with a slash may be continued.
fn refers_to<'a>(cmd: &'a str, path: &str) -> Option<&'a str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let found = cmd.match_indices(path);
    let mut found = found.filter_map(|(at, _)| {
        let before = cmd.get(..at).unwrap_or_default();
        let before = before.strip_suffix("./").unwrap_or(before);
        let after = cmd.get(at + path.len()..).unwrap_or_default();
        let end = after.find(|c: char| !is_part(c)).unwrap_or(after.len());
        let rest = after.get(..end).unwrap_or_default();
        let stands_alone = !before.ends_with(is_part);
        let ends_here = rest.is_empty() || path.ends_with('/');
        (stands_alone && ends_here).then_some(rest)
    });
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::guidance::SkillScope;

    fn command(cmd: &str, workdir: Option<&str>) -> ExecCommand {
        let text = serde_json::json!({
            "cmd": cmd, "workdir": workdir, "login": false, "yield_time_ms": 1,
        });
        serde_json::from_value(text).expect("a command")
    }

    fn used(cmd: &str, workdir: Option<&str>) -> Option<(SkillLoadReason, String)> {
        let path = "/p/.agents/skills/pdf/SKILL.md".to_owned();
        let skill = SkillEntry::new(SkillScope::Workspace, "pdf", "d".to_owned(), path);
        let catalog = SkillCatalog {
            discoverable_skills: vec![skill],
            ..SkillCatalog::default()
        };
        let command = command(cmd, workdir);
        assert!(may_use_skill(&command) || !cmd.contains("skills/pdf"));
        let bases = PathBases {
            cwd: "/p",
            user_home: Some(Path::new("/")),
        };
        let found = find(&catalog, &[command], bases);
        let used = found.into_iter().next()?;
        Some((used.load_reason, used.path))
    }

    #[test]
    fn a_command_refers_to_a_skill_by_a_whole_path() {
        use SkillLoadReason::{ReadSkillMd, RunSkillScript};
        let entrypoint = "/p/.agents/skills/pdf/SKILL.md";
        for (cmd, workdir) in [
            ("cat /p/.agents/skills/pdf/SKILL.md", None),
            ("sed -n 1,80p '.agents/skills/pdf/SKILL.md' | head", None),
            ("cat ./.agents/skills/pdf/SKILL.md; true", None),
            ("cat pdf/SKILL.md", Some(".agents/skills")),
            ("cat SKILL.md", Some("/p/.agents/skills/pdf")),
            ("cat ~/p/.agents/skills/pdf/SKILL.md", None),
            ("cat \"$HOME/p/.agents/skills/pdf/SKILL.md\"", None),
            ("cd .agents/skills && cat pdf/SKILL.md", None),
            ("cd -- .agents/skills/pdf && cat SKILL.md", None),
            ("cd /tmp; cd; cat p/.agents/skills/pdf/SKILL.md", None),
            (
                "cd ${HOME}/p/.agents; head skills/pdf/../pdf/SKILL.md",
                None,
            ),
        ] {
            let wanted = Some((ReadSkillMd, entrypoint.to_owned()));
            assert_eq!(used(cmd, workdir), wanted, "{cmd}");
        }
        for (cmd, path) in [
            (
                "python .agents/skills/pdf/scripts/fill.py x",
                "scripts/fill.py",
            ),
            ("/p/.agents/skills/pdf/scripts/a/b.sh", "scripts/a/b.sh"),
            ("ls .agents/skills/pdf/scripts/", "scripts"),
        ] {
            let path = format!("/p/.agents/skills/pdf/{path}");
            assert_eq!(used(cmd, None), Some((RunSkillScript, path)), "{cmd}");
        }
        for cmd in [
            "cat /other/.agents/skills/pdf/SKILL.md",
            "cat x.agents/skills/pdf/SKILL.md",
            "cat .agents/skills/pdf/SKILL.md.bak",
            "cat .agents/skills/pdf2/SKILL.md",
            "cat SKILL.md",
            "ls .agents/skills/pdf/scripts-old/x",
        ] {
            assert_eq!(used(cmd, None), None, "{cmd}");
        }
    }

    #[test]
    fn a_line_is_read_up_to_its_bound() {
        let early = format!(
            "cat .agents/skills/pdf/SKILL.md; echo {}",
            "x".repeat(SKILL_COMMAND_BYTES)
        );
        assert!(used(&early, None).is_some());
        let late = format!(
            "echo {}; cat .agents/skills/pdf/SKILL.md",
            "x".repeat(SKILL_COMMAND_BYTES)
        );
        assert_eq!(used(&late, None), None);
    }
}
