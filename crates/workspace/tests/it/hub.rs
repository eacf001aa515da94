//! A stand-in for GitHub: bare repositories on disk that git reaches by `file://`.

use holon_domain::guidance::SkillSource;
use holon_workspace::{Fetcher, Git, GitHost, ReadySkill, SkillError, install_skill};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A fetcher that reaches no repository.
pub(crate) fn no_fetcher() -> Fetcher {
    let nowhere = PathBuf::from("/nonexistent");
    Fetcher::new(
        Git::default(),
        GitHost::new("file:///nonexistent"),
        nowhere.join("fetch"),
    )
}

/// Installs a skill of this machine and returns its name.
pub(crate) fn install(home: &Path, source: &SkillSource) -> Result<String, SkillError> {
    install_with(home, source, &no_fetcher())
}

/// Installs a skill and returns its name.
pub(crate) fn install_with(
    home: &Path,
    source: &SkillSource,
    fetcher: &Fetcher,
) -> Result<String, SkillError> {
    let skill = ReadySkill::prepare(source, fetcher)?;
    install_skill(home, &skill)?;
    Ok(skill.name().to_owned())
}

/// A directory with a host of repositories, a repository to push from, and an agent's home.
pub(crate) struct Hub {
    dir: tempfile::TempDir,
}

impl Hub {
    /// Makes the host with an empty repository `acme/agents`.
    pub(crate) fn new() -> Self {
        let hub = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for part in ["hub/acme", "home", "user", "agents"] {
            fs::create_dir_all(hub.path(part)).unwrap();
        }
        let bare = hub.bare();
        git(
            hub.path("hub"),
            &["init", "-q", "--bare", "-b", "main", path(&bare)],
        );
        git(&bare, &["config", "uploadpack.allowFilter", "true"]);
        git(
            hub.path("hub"),
            &["init", "-q", "-b", "main", path(&hub.path("work"))],
        );
        hub
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn bare(&self) -> PathBuf {
        self.path("hub/acme/agents.git")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn fetcher(&self) -> Fetcher {
        let base = format!("file://{}", self.path("hub").display());
        Fetcher::new(Git::default(), GitHost::new(&base), self.path("fetch"))
    }

    /// Writes a file of the repository.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let file = self.path("work").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    /// Writes a skill of the repository.
    pub(crate) fn put_skill(&self, dir: &str) -> &Self {
        let name = dir.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody\n");
        self.put(&format!("{dir}/SKILL.md"), text)
    }

    /// Commits everything, pushes it as `main`, and returns the commit.
    pub(crate) fn push(&self) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        self.push_to("refs/heads/main")
    }

    /// Pushes `HEAD` to a ref and returns the commit.
    pub(crate) fn push_to(&self, name: &str) -> String {
        let target = format!("+HEAD:{name}");
        self.git(&["push", "-q", path(&self.bare()), &target]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits a tree that git itself would not make, and pushes it as `main`. Each line is `mode type id\tname`.
    pub(crate) fn push_tree(&self, lines: &[u8]) -> String {
        let tree = self.make_tree(lines);
        let commit = self.git(&["commit-tree", "-m", "x", &tree]);
        let target = format!("+{commit}:refs/heads/main");
        self.git(&["push", "-q", path(&self.bare()), &target]);
        commit
    }

    /// Writes a tree object as it is given, with NUL after each line.
    pub(crate) fn make_tree(&self, lines: &[u8]) -> String {
        feed(self.path("work"), &["mktree", "-z", "--missing"], lines)
    }

    /// Writes a tree object from raw bytes, which git does not check.
    pub(crate) fn make_raw_tree(&self, raw: &[u8]) -> String {
        let args = ["hash-object", "-t", "tree", "--literally", "-w", "--stdin"];
        feed(self.path("work"), &args, raw)
    }

    pub(crate) fn make_blob(&self, content: &[u8]) -> String {
        feed(
            self.path("work"),
            &["hash-object", "-w", "--stdin"],
            content,
        )
    }

    /// Runs git in the repository and returns what it printed.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.path("work"), args)
    }

    /// Lists what fetches left behind.
    pub(crate) fn left_by_fetches(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("fetch")).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "lock").collect()
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn git(dir: impl AsRef<Path>, args: &[&str]) -> String {
    feed(dir, args, b"")
}

fn feed(dir: impl AsRef<Path>, args: &[&str], input: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args([
            "-c",
            "core.protectHFS=false",
            "-c",
            "core.protectNTFS=false",
        ])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env_remove("GIT_DIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}
