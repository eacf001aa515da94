//! The paths that the words of a shell line mean: home directories are filled in, a change of directory is followed, and
//! `.` and `..` are resolved. Nothing is executed or looked up.

use std::path::{Component, Path, PathBuf};

/// Ways in which a shell line begins a path below the user's home.
const HOMES: [&str; 3] = ["~/", "$HOME/", "${HOME}/"];

/// Returns the paths that the words of a line may mean, if it begins in `start`. Without a home, words that begin with one
/// are left out.
pub(super) fn paths(line: &str, start: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut directory = start.to_owned();
    let mut found = Vec::new();
    let mut before = directory.clone();
    let mut place = Place::First;
    for word in words(line).into_iter().chain([Word::End]) {
        let text = match (word, place) {
            (Word::End, Place::ChangeDirectory) => {
                // A bare change of directory leads home.
                let home = home.map_or_else(|| directory.clone(), Path::to_owned);
                before = std::mem::replace(&mut directory, home);
                place = Place::First;
                continue;
            }
            (Word::End, Place::First | Place::Argument) => {
                place = Place::First;
                continue;
            }
            (Word::Text(text), _) => text,
        };
        place = match (place, text.as_str()) {
            (Place::First, "cd" | "pushd") => Place::ChangeDirectory,
            (Place::ChangeDirectory, "-") => {
                std::mem::swap(&mut before, &mut directory);
                Place::Argument
            }
            // Options of the change of directory, and their end.
            (Place::ChangeDirectory, option) if option.starts_with('-') => Place::ChangeDirectory,
            (Place::ChangeDirectory, directory_name) => {
                if let Some(path) = resolve(directory_name, &directory, home) {
                    before = std::mem::replace(&mut directory, path);
                }
                Place::Argument
            }
            (Place::First | Place::Argument, word) => {
                found.extend(resolve(word, &directory, home));
                Place::Argument
            }
        };
    }
    found
}

/// Place of the next word in its command.
#[derive(Clone, Copy)]
enum Place {
    First,
    /// Behind a `cd` that has not said where to.
    ChangeDirectory,
    Argument,
}

/// Resolves a word as a path.
fn resolve(word: &str, directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let below_home = HOMES.iter().find_map(|prefix| word.strip_prefix(prefix));
    let path = match below_home {
        Some(rest) => home?.join(rest.trim_start_matches('/')),
        None if matches!(word, "~" | "$HOME" | "${HOME}") => home?.to_owned(),
        None => directory.join(word),
    };
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(part);
            }
        }
    }
    Some(resolved)
}

enum Word {
    Text(String),
    /// What ends a command of the line, such as `&&`.
    End,
}

/// Divides a line into words as a shell does, as far as quotes, blanks and operators go.
fn words(line: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let finish = |word: &mut String, found: &mut Vec<Word>| {
        if !word.is_empty() {
            found.push(Word::Text(std::mem::take(word)));
        }
    };
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => word.extend(rest.next()),
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => quote = Some(c),
            (None, ';' | '&' | '|' | '(' | ')' | '\n') => {
                finish(&mut word, &mut found);
                found.push(Word::End);
            }
            (None, '<' | '>' | '=') => finish(&mut word, &mut found),
            (None, c) if c.is_whitespace() => finish(&mut word, &mut found),
            (None, c) => word.push(c),
        }
    }
    finish(&mut word, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_paths_from_where_the_line_has_gone() {
        let home = Path::new("/users/u");
        for (line, expected) in [
            ("cat ~/a/b", "/users/u/a/b"),
            ("cat \"$HOME/a/b\"", "/users/u/a/b"),
            ("cat ${HOME}/a/../b", "/users/u/b"),
            ("cd a && cat ./b", "/p/a/b"),
            ("cd /x; cd y && sh b", "/x/y/b"),
            ("(cd ~/a; cat b)", "/users/u/a/b"),
            ("cat <b", "/p/b"),
            ("cd; cat a", "/users/u/a"),
            ("cd && cat a", "/users/u/a"),
            ("cd -- a; cat b", "/p/a/b"),
            ("cd -P a; cat b", "/p/a/b"),
            ("cd a; cd /x; cd -; cat b", "/p/a/b"),
            ("cat my\\ files/b", "/p/my files/b"),
            ("cat \"my \\\"own\\\" files/b\"", "/p/my \"own\" files/b"),
            ("cat 'a\\ b'", "/p/a\\ b"),
        ] {
            let found = paths(line, Path::new("/p"), Some(home));
            assert!(
                found.contains(&PathBuf::from(expected)),
                "{line}: {found:?}"
            );
        }
        let found = paths("cat ~/a $HOME/b", Path::new("/p"), None);
        assert_eq!(found, [PathBuf::from("/p/cat")]);
        let found = paths("echo cd a; cat b", Path::new("/p"), None);
        assert!(found.contains(&PathBuf::from("/p/b")), "{found:?}");
    }
}
