//! Parses the command line: the program to test, the number of kills, and the seed.

use std::path::PathBuf;

const USAGE: &str = "usage: holon-storm PATH_OF_HOLON --kills N [--seed S] [--steady] [--keep]
       holon-storm PATH_OF_HOLON --load SECONDS [--clients N] [--seed S] [--keep]";
/// Number of clients of a load run, unless another is asked for.
const CLIENTS: u64 = 64;

/// The arguments of a storm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// Path of the `holon` program.
    pub(crate) program: PathBuf,
    /// Number of kills; 0 for a load run, which kills for a time.
    pub(crate) kills: u64,
    /// Duration and number of clients of a load run. Absent for a storm.
    pub(crate) load: Option<Load>,
    /// Taken from the clock if not given.
    pub(crate) seed: u64,
    /// True if the provider answers every request. Otherwise about a tenth of them fail.
    pub(crate) steady: bool,
    /// True to keep the home also if no rule was broken.
    pub(crate) keep: bool,
}

/// A load run instead of a storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) seconds: u64,
    pub(crate) clients: u64,
}

impl Arguments {
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut program, mut kills, mut seed) = (None, None, None);
        let (mut steady, mut keep) = (false, false);
        let (mut seconds, mut clients) = (None, CLIENTS);
        let mut words = words;
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words
                    .next()
                    .ok_or_else(|| format!("{word} needs a number"))?;
                value
                    .parse::<u64>()
                    .map_err(|_| format!("{word} needs a number, not {value:?}"))
            };
            match word.as_str() {
                "--kills" => kills = Some(number()?),
                "--load" => seconds = Some(number()?),
                "--clients" => clients = number()?,
                "--seed" => seed = Some(number()?),
                "--steady" => steady = true,
                "--keep" => keep = true,
                _ if word.starts_with('-') => {
                    return Err(format!("unknown option {word}; {USAGE}"));
                }
                _ => program = Some(PathBuf::from(word)),
            }
        }
        Ok(Self {
            program: program.ok_or(USAGE)?,
            kills: match (kills, seconds) {
                (Some(kills), None) => kills,
                (None, Some(_)) => 0,
                (Some(_), Some(_)) | (None, None) => return Err(USAGE.to_owned()),
            },
            load: seconds.map(|seconds| Load { seconds, clients }),
            seed: seed.unwrap_or_else(seed_of_now),
            steady,
            keep,
        })
    }
}

fn seed_of_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| u64::from(since.subsec_nanos()) ^ since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, String> {
        Arguments::parse(words.iter().map(|word| (*word).to_owned()))
    }

    #[test]
    fn program_kills_and_seed_are_read_in_any_order() {
        let expected = Arguments {
            program: PathBuf::from("p"),
            kills: 3,
            load: None,
            seed: 9,
            steady: false,
            keep: false,
        };
        assert_eq!(
            parse(&["p", "--kills", "3", "--seed", "9"]),
            Ok(expected.clone())
        );
        let kept = Arguments {
            steady: true,
            keep: true,
            ..expected
        };
        let words = ["--keep", "--seed", "9", "--steady", "--kills", "3", "p"];
        assert_eq!(parse(&words), Ok(kept.clone()));
        let load = Arguments {
            kills: 0,
            load: Some(Load {
                seconds: 60,
                clients: 8,
            }),
            steady: false,
            ..kept
        };
        let words = [
            "--load",
            "60",
            "--clients",
            "8",
            "--seed",
            "9",
            "--keep",
            "p",
        ];
        assert_eq!(parse(&words), Ok(load));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for words in [
            &["p"][..],
            &["--kills", "3"],
            &["p", "--kills"],
            &["p", "--kills", "x"],
            &["p", "--kills", "3", "--fast"],
            &["p", "--kills", "3", "--load", "60"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
