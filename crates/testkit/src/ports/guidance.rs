//! Guidance in memory.

use async_trait::async_trait;
use holon_domain::guidance::{
    Guidance, GuidanceRoots, InstalledSkill, SkillFault, SkillInstallation, SkillSource,
    SkillSourceKind,
};
use holon_engine::ports::GuidanceHost;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Guidance of every agent, empty unless the test sets it. Remembers the roots of each read.
#[derive(Debug, Default)]
pub struct MemoryGuidance {
    guidance: Mutex<Guidance>,
    reads: Mutex<Vec<GuidanceRoots>>,
    change: Mutex<Option<String>>,
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryGuidance {
    /// Replaces the guidance, as a writer of the files does.
    pub fn set(&self, guidance: Guidance) {
        *lock(&self.guidance) = guidance;
    }

    /// Lets every skill differ from what was installed, or none.
    pub fn set_change(&self, change: Option<&str>) {
        *lock(&self.change) = change.map(str::to_owned);
    }

    /// Returns the roots of all reads so far.
    #[must_use]
    pub fn reads(&self) -> Vec<GuidanceRoots> {
        lock(&self.reads).clone()
    }
}

#[async_trait]
impl GuidanceHost for MemoryGuidance {
    fn user_home(&self) -> Option<std::path::PathBuf> {
        Some("/users/u".into())
    }

    async fn read(&self, roots: GuidanceRoots) -> Guidance {
        lock(&self.reads).push(roots);
        lock(&self.guidance).clone()
    }

    async fn installed_skills(&self, _agent_home: &str) -> Vec<InstalledSkill> {
        Vec::new()
    }

    async fn install_skill(
        &self,
        _agent_home: &str,
        _source: SkillSource,
    ) -> Result<SkillInstallation, SkillFault> {
        let message = "no skill can be installed here".to_owned();
        Err(SkillFault::Refused { message })
    }

    async fn uninstall_skill(
        &self,
        _agent_home: &str,
        name: &str,
    ) -> Result<Option<SkillSourceKind>, SkillFault> {
        let message = format!("skill {name:?} is not installed");
        Err(SkillFault::NotInstalled { message })
    }

    async fn skill_change(&self, _entrypoint: &str) -> Option<String> {
        lock(&self.change).clone()
    }
}
