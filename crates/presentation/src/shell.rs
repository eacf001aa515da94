//! Tells commands that only read from those that may change something, for the grouping of rows.
//!
//! The answer decides about the order of words on a screen and about nothing else. When in doubt a command is taken for a
//! change, so that it gets a row of its own.

/// Programs that only print, whatever their arguments are.
const READERS: &[&str] = &[
    "basename",
    "cat",
    "column",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "fd",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "less",
    "ls",
    "md5sum",
    "nl",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sha256sum",
    "sort",
    "stat",
    "tail",
    "tr",
    "tree",
    "true",
    "type",
    "uname",
    "uniq",
    "wc",
    "which",
    "whoami",
];

/// Subcommands of git that only read, whatever their arguments are.
const GIT_READERS: &[&str] = &[
    "blame",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Characters with which a shell writes files, substitutes or runs in the background.
const UNSAFE: &[char] = &['>', '`', '$', '(', '{', '\n', '<'];

/// Returns true if a command line consists of programs that only read.
pub(crate) fn is_read(command: &str) -> bool {
    let line = command.replace("2>&1", "").replace("2>/dev/null", "");
    if line.trim().is_empty() || line.contains(UNSAFE) || runs_in_background(&line) {
        return false;
    }
    line.split(['|', ';', '&'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .all(is_reader)
}

fn runs_in_background(line: &str) -> bool {
    line.replace("&&", "").contains('&')
}

fn is_reader(part: &str) -> bool {
    let mut words = part.split_whitespace();
    match words.next() {
        Some("cd") => true,
        Some("git") => words.next().is_some_and(|word| GIT_READERS.contains(&word)),
        Some("sed") => part.contains(" -n ") && !part.contains(" -i") && !part.contains("w "),
        Some("find") => !["-exec", "-delete", "-ok", "-fprint", "-fls"]
            .iter()
            .any(|action| part.contains(action)),
        Some("sort") => !part.contains(" -o") && !part.contains("--output"),
        Some(program) => READERS.contains(&program),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_read_only_if_every_part_of_it_is() {
        for command in [
            "cat a.txt",
            "ls -la src && git status",
            "rg -n pattern | head -5",
            "cd src; sed -n 1,20p lib.rs",
            "find . -name '*.rs' | wc -l",
            "grep -r x . 2>/dev/null",
        ] {
            assert!(is_read(command), "{command}");
        }
        for command in [
            "",
            "cargo test",
            "cat a > b",
            "cat a; rm a",
            "sed -i s/a/b/ f",
            "find . -delete",
            "git push",
            "ls &",
            "echo $(rm a)",
            "sort -o f f",
            "cat <<EOF",
            "sudo cat a",
        ] {
            assert!(!is_read(command), "{command}");
        }
    }
}
