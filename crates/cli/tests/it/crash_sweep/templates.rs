//! An agent made from a template with four skills, and a skill installed and removed. After any kill the agent is there
//! as a whole or not at all.

use super::agent_record::id;
use super::drive::Scenario;
use super::host::Host;
use holon_api::{CreateAgentRequest, InstallSkillRequest, UninstallSkillRequest};
use holon_client::{Client, Error};
use holon_domain::guidance::SkillSource;
use holon_testkit::World;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const AGENT: &str = "solver";
const SKILLS: [&str; 4] = [
    "ghx",
    "github-issue-solve",
    "github-pr-fix",
    "github-review",
];

/// Steps of the client in order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Create,
    Uninstall,
    Install,
}

const STEPS: [Step; 3] = [Step::Create, Step::Uninstall, Step::Install];

/// Progress of the client.
#[derive(Debug)]
pub(super) struct Templates {
    next: usize,
    home: PathBuf,
}

impl Scenario for Templates {
    const BEFORE: u64 = 31;

    fn new(world: &World) -> Self {
        Self {
            next: 0,
            home: world.home().join("agents").join(AGENT),
        }
    }

    async fn go_on(&mut self, host: &Host) -> Result<(), Error> {
        // A new host must not show half of an agent.
        if self.next == 0 && is_listed(&host.client).await? {
            self.check_home("an agent that is listed");
        }
        while let Some(step) = STEPS.get(self.next) {
            self.take(&host.client, *step).await?;
            self.next += 1;
        }
        Ok(())
    }

    fn judge(&self, world: &World, what: &str) {
        self.check_home(what);
        let agents = names(&world.home().join("agents"));
        assert_eq!(agents, ["main", AGENT], "{what}");
        assert_eq!(names(&self.home.join("skills")), SKILLS, "{what}");
    }
}

impl Templates {
    /// Makes one request. If it is cut off its outcome is unknown, and the repeated one may find it done.
    async fn take(&self, client: &Client, step: Step) -> Result<(), Error> {
        let agent = id(AGENT);
        let (answer, done) = match step {
            Step::Create => {
                let request = CreateAgentRequest {
                    template: Some("holon-github-solve".to_owned()),
                    ..CreateAgentRequest::default()
                };
                let made = client.create_agent(&agent, &request).await;
                (made.map(drop), "agent_conflict")
            }
            Step::Uninstall => {
                let request = UninstallSkillRequest {
                    name: "ghx".to_owned(),
                };
                let removed = client.uninstall_skill(&agent, &request).await;
                (removed.map(drop), "skill_not_installed")
            }
            Step::Install => {
                let request = InstallSkillRequest {
                    kind: SkillSource::Builtin {
                        name: "ghx".to_owned(),
                    },
                };
                let installed = client.install_skill(&agent, &request).await;
                (installed.map(drop), "skill_already_installed")
            }
        };
        match answer {
            Err(error) if error.code() == Some(done) => Ok(()),
            other => other,
        }
    }

    /// Asserts that the home has every part of the template.
    fn check_home(&self, what: &str) {
        let record = self.home.join(".holon/state/template-provenance.json");
        let record = fs::read(record).unwrap_or_else(|error| panic!("{what}: {error}"));
        let record: Value = serde_json::from_slice(&record).expect("a record");
        assert_eq!(record["template_id"], "holon-github-solve", "{what}");
        let guide = fs::read_to_string(self.home.join("AGENTS.md")).expect("an AGENTS.md");
        assert!(guide.contains("## This home"), "{what}: {guide}");
        for folder in ["memory", "notes", "work", "skills"] {
            assert!(self.home.join(folder).is_dir(), "{what}: {folder}");
        }
        for skill in &SKILLS[1..] {
            let place = self.home.join("skills").join(skill);
            assert!(place.join("SKILL.md").exists(), "{what}: {skill}");
            let marker = place.join(".holon-skill-install.json");
            assert!(marker.exists(), "{what}: {skill}");
        }
    }
}

async fn is_listed(client: &Client) -> Result<bool, Error> {
    let agents = client.agents().await?;
    Ok(agents.iter().any(|agent| agent.identity.agent_id == AGENT))
}

/// Lists a directory, also hidden names, sorted.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("a name")
        })
        .collect();
    names.sort_unstable();
    names
}
