//! Instruction files and skills read again for a turn in which nothing has changed, against a plain read of the same
//! files.

use crate::stats::{Sample, round};
use holon_domain::Timestamp;
use holon_domain::agent::AgentKind;
use holon_domain::guidance::GuidanceRoots;
use holon_workspace::{InstructionReader, SkillReader};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Size of each instruction file, in bytes.
const FILE_BYTES: usize = 16 << 10;
const SKILLS: usize = 20;
const READS: usize = 2_000;
/// A time long after the files were written, so that they count as settled.
const LATER: Timestamp = Timestamp::from_millis(4_000_000_000_000);

/// Measures reads of three instruction files and of a catalogue.
pub(crate) fn reread() -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let files = write(dir.path())?;
    let user = dir.path().join("user");
    let instructions = InstructionReader::new(Some(user.join(".agents")));
    let skills = SkillReader::new(Some(user));
    let roots = GuidanceRoots {
        kind: AgentKind::Default,
        agent_home: dir.path().join("home").display().to_string(),
        workspace_anchor: Some(dir.path().join("project").display().to_string()),
    };
    let (mut plain, mut files_again, mut skills_again) =
        (Sample::default(), Sample::default(), Sample::default());
    for _ in 0..READS {
        let began = Instant::now();
        for file in &files {
            std::hint::black_box(fs::read_to_string(file)?);
        }
        plain.add(began.elapsed());
        let began = Instant::now();
        let read = instructions.read(&roots, LATER);
        files_again.add(began.elapsed());
        assert_eq!(read.files.len(), files.len());
        let began = Instant::now();
        let read = skills.read(&roots, LATER);
        skills_again.add(began.elapsed());
        assert_eq!(read.discoverable_skills.len(), SKILLS);
    }
    Ok(json!({
        "plain_read_of_3_files": plain.report(),
        "instruction_files": files_again.report(),
        "skills_20": skills_again.report(),
        "p50_ms": round((files_again.quantile(0.5) + skills_again.quantile(0.5)) / 100.0) / 10.0,
        "p50_ms_aim": 0.3,
    }))
}

fn write(dir: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for root in ["user/.agents", "home", "project"] {
        fs::create_dir_all(dir.join(root))?;
        let file = dir.join(root).join("AGENTS.md");
        fs::write(&file, "x".repeat(FILE_BYTES))?;
        files.push(file);
    }
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        let skill = dir.join("project/.agents/skills").join(&name);
        fs::create_dir_all(&skill)?;
        let text = format!("---\nname: {name}\ndescription: Does something.\n---\nBody\n");
        fs::write(skill.join("SKILL.md"), text)?;
    }
    Ok(files)
}
