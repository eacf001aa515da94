//! Skills that are compiled into the program.

/// A skill of the program: its name and its `SKILL.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinSkill {
    pub name: &'static str,
    pub skill_md: &'static str,
}

/// Every built-in skill, by name.
pub const BUILTIN_SKILLS: [BuiltinSkill; 4] = [
    BuiltinSkill {
        name: "ghx",
        skill_md: include_str!("../../assets/skills/ghx/SKILL.md"),
    },
    BuiltinSkill {
        name: "github-issue-solve",
        skill_md: include_str!("../../assets/skills/github-issue-solve/SKILL.md"),
    },
    BuiltinSkill {
        name: "github-pr-fix",
        skill_md: include_str!("../../assets/skills/github-pr-fix/SKILL.md"),
    },
    BuiltinSkill {
        name: "github-review",
        skill_md: include_str!("../../assets/skills/github-review/SKILL.md"),
    },
];

/// Finds a built-in skill.
pub(super) fn find(name: &str) -> Option<&'static BuiltinSkill> {
    BUILTIN_SKILLS.iter().find(|skill| skill.name == name)
}

/// Returns the names of all built-in skills, for messages.
pub(super) fn names() -> String {
    let names: Vec<&str> = BUILTIN_SKILLS.iter().map(|skill| skill.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::parse_skill;

    #[test]
    fn every_builtin_skill_follows_the_public_format() {
        for skill in BUILTIN_SKILLS {
            let parsed = parse_skill(skill.skill_md.as_bytes(), skill.name);
            assert!(parsed.is_ok(), "{}: {parsed:?}", skill.name);
        }
    }
}
