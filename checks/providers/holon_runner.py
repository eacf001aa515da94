"""Runs the built `holon` in a home of its own, without the environment of the user."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TRANSPORTS = ("openai_responses", "openai_codex_responses", "anthropic_messages", "openai_chat_completions")


def find_holon() -> Path | None:
    """Returns the program: HOLON_BIN, or the newest build of this checkout; None if there is none."""
    if chosen := os.environ.get("HOLON_BIN"):
        return Path(chosen).resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    builds = [target / profile / "holon" for profile in ("release", "debug")]
    existing = [build for build in builds if build.is_file()]
    return max(existing, key=lambda build: build.stat().st_mtime, default=None)


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)


class Home:
    """A temporary home of Holon with one provider, and a workspace. A context manager removes it."""

    def __init__(self, holon: Path) -> None:
        self._holon = holon
        self._directory = tempfile.TemporaryDirectory(prefix="holon-check-", ignore_cleanup_errors=True)
        self.path = Path(self._directory.name)
        self.workspace = self.path / "workspace"

    def __enter__(self) -> "Home":
        self.workspace.mkdir()
        (self.path / "user").mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()

    def configure(self, provider: str, transport: str, base_url: str, key: str | None = None) -> None:
        """Writes the provider into the settings; `key` is the value of its credential's variable."""
        options = ["--transport", transport, "--base-url", base_url]
        options += ["--credential-env", "CHECK_KEY"] if key else ["--credential-source", "none"]
        self._key = key
        self.must("config", "providers", "set", provider, *options)

    def must(self, *arguments: str) -> Ran:
        """Runs a command that has to succeed."""
        ran = self.run(*arguments)
        if ran.code != 0:
            raise RuntimeError(f"holon {' '.join(arguments)} ended with {ran.code}: {ran.stderr}{ran.stdout}")
        return ran

    def run(self, *arguments: str, timeout: float = 120) -> Ran:
        variables = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.path / "user"),
            "HOLON_HOME": str(self.path / "holon"),
            "HOLON_DISABLE_PROVIDER_FALLBACK": "true",
            "RUST_LOG": "warn",
        }
        if key := getattr(self, "_key", None):
            variables["CHECK_KEY"] = key
        ended = subprocess.run(
            [str(self._holon), *arguments],
            env=variables,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout, ended.stderr)
