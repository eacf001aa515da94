//! Templates that are compiled into the program.

/// A template of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltinTemplate {
    pub id: &'static str,
    pub agents_md: &'static str,
    /// Absent if the template names no skills.
    pub skills_json: Option<&'static str>,
}

/// The template of agents for which none was chosen.
pub(crate) const DEFAULT: BuiltinTemplate = BuiltinTemplate {
    id: "holon-default",
    agents_md: include_str!("../../assets/templates/holon-default/AGENTS.md"),
    skills_json: None,
};

/// Every built-in template; a host writes all of them to the user's directory.
pub const BUILTIN_TEMPLATES: [BuiltinTemplate; 5] = [
    DEFAULT,
    BuiltinTemplate {
        id: "holon-developer",
        agents_md: include_str!("../../assets/templates/holon-developer/AGENTS.md"),
        skills_json: None,
    },
    BuiltinTemplate {
        id: "holon-reviewer",
        agents_md: include_str!("../../assets/templates/holon-reviewer/AGENTS.md"),
        skills_json: None,
    },
    BuiltinTemplate {
        id: "holon-release",
        agents_md: include_str!("../../assets/templates/holon-release/AGENTS.md"),
        skills_json: None,
    },
    BuiltinTemplate {
        id: "holon-github-solve",
        agents_md: include_str!("../../assets/templates/holon-github-solve/AGENTS.md"),
        skills_json: Some(include_str!(
            "../../assets/templates/holon-github-solve/skills.json"
        )),
    },
];

/// Finds a built-in template.
pub(super) fn find(id: &str) -> Option<&'static BuiltinTemplate> {
    BUILTIN_TEMPLATES.iter().find(|template| template.id == id)
}
