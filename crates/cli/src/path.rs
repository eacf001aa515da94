//! Makes typed paths absolute before they are sent to a host, which has another working directory.

use crate::exit::Failure;
use holon_domain::model::ModelRef;
use std::path::Path;

/// Makes a path absolute, relative to the directory in which this command was started.
pub(crate) fn absolute(flag: &str, path: &Path) -> Result<String, Failure> {
    let full = std::path::absolute(path)
        .map_err(|error| Failure::usage(format!("{flag} {}: {error}", path.display())))?;
    match full.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Failure::usage(format!(
            "{flag} {} is not valid UTF-8; rename it or name another",
            path.display()
        ))),
    }
}

/// Makes the path of a scripted model absolute; other models stay unchanged.
pub(crate) fn model(flag: &str, text: &str) -> Result<String, Failure> {
    let model =
        ModelRef::parse(text).map_err(|error| Failure::usage(format!("{flag}: {error}")))?;
    if model.provider() != "scripted" {
        return Ok(model.to_string());
    }
    let script = absolute(flag, Path::new(model.model()))?;
    Ok(format!("scripted/{script}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_script_is_seen_from_here_and_other_models_stay_as_they_are() {
        let here = std::env::current_dir().unwrap();
        let full = format!("scripted/{}/a/b.json", here.display());
        assert_eq!(model("--model", "scripted/./a/b.json").unwrap(), full);
        assert_eq!(
            model("--model", "scripted//x/b.json").unwrap(),
            "scripted//x/b.json"
        );
        assert_eq!(model("--model", "openai/gpt").unwrap(), "openai/gpt");
    }
}
