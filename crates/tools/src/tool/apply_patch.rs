//! `ApplyPatch`: changes files by a unified diff, all of them or none.
//!
//! Owns the arguments and the errors of a refused patch; `applied` owns the result. No file is touched here: the patch
//! is only parsed, so that a malformed one never becomes an effect.

use crate::{input, schema};
use holon_domain::block::ToolCall;
use holon_domain::intent::{ApplyPatch, HostAction, Intent};
use holon_domain::text::sha256_hex;
use holon_domain::tool::{
    FreeformGrammar, GrammarSyntax, ToolError, ToolErrorKind, ToolFamily, ToolSpec,
};
use holon_patch::{ErrorKind, Patch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

mod applied;

pub(crate) use applied::text;
pub use applied::{changed_paths, envelope};

pub const NAME: &str = "ApplyPatch";
/// Name of the error detail that holds real lines of a file.
pub(crate) const NEAREST: &str = "nearest";
/// Name of the argument in `Args`.
const ARGUMENT: &str = "patch";
/// Grammar of a unified diff for models that write one as free text. It begins with a file header, and each line is of
/// a kind that a diff has. The order of lines is left to the patch parser: to tell `---` of a header from a removed
/// `--`, a grammar would need lookahead, which the lexers of these grammars lack.
const GRAMMAR: &str = r"start: opening LINE+
opening: GIT | OLD NEW HUNK
GIT: /diff --git [^\n]+\n/
OLD: /--- [^\n]+\n/
NEW: /\+\+\+ [^\n]+\n/
HUNK: /@@[^\n]*\n/
LINE: /([ @+-][^\n]*|\\ No newline at end of file|(diff --git|rename from|rename to|new file mode|deleted file mode|old mode|new mode|index|similarity index|dissimilarity index) [^\n]+)\n/
";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Any number of files. Paths from the execution root, or absolute ones below your `agent_home`. `--- /dev/null` adds a file, `+++ /dev/null` deletes one;
    /// `diff --git a/x b/y` with `rename from x` and `rename to y` renames.
    /// Example: "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n kept line\n-old line\n+new line\n".
    #[schemars(length(min = 1))]
    patch: String,
}

/// Describes the tool for a model.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.into(),
        description: "Change text files by a unified diff: all files of the patch or none. Context and \
                      removed lines must match the file exactly; line numbers are hints. If they do not \
                      match, the error shows the nearest real lines."
            .into(),
        input_schema: schema::source::<Args>(),
        family: ToolFamily::LocalEnvironment,
    }
}

/// Describes the tool for a model that writes its arguments as free text: the same diff, without JSON around it.
pub(crate) fn freeform() -> FreeformGrammar {
    FreeformGrammar {
        syntax: GrammarSyntax::Lark,
        definition: GRAMMAR.into(),
        argument: ARGUMENT.into(),
    }
}

/// Turns a call into its intent.
pub(crate) fn interpret(spec: &ToolSpec, input: &Value) -> Result<Intent, ToolError> {
    let Args { patch } = input::parse(spec, input)?;
    Patch::parse(&patch).map_err(|error| refused(&error))?;
    let digest = sha256_hex(&patch);
    Ok(Intent::Host(HostAction::ApplyPatch(ApplyPatch { digest })))
}

/// Reads the text of a patch from the call that contains it.
///
/// # Errors
/// Fails if the call does not hold the patch that was validated; then nothing is applied.
pub fn text_of(call: &ToolCall, patch: &ApplyPatch) -> Result<String, ToolError> {
    let Args { patch: patch_text } = input::parse(&spec(), &call.input)?;
    if sha256_hex(&patch_text) == patch.digest {
        return Ok(patch_text);
    }
    Err(ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        "not run: the stored call is not the one that was checked",
    ))
}

/// Describes a refused patch for a model: the rule, the position, and the real lines nearest to the expected ones.
#[must_use]
pub fn refused(error: &holon_patch::Error) -> ToolError {
    let nearest: Vec<Value> = error
        .nearest
        .iter()
        .map(|line| json!({ "line": line.number, "text": line.text }))
        .collect();
    let mut details = json!({ "tool_name": NAME });
    if let Some(fields) = details.as_object_mut() {
        fields.extend(
            error
                .path
                .iter()
                .map(|path| ("path".to_owned(), json!(path))),
        );
        fields.extend(
            error
                .line
                .iter()
                .map(|line| ("patch_line".to_owned(), json!(line))),
        );
        if !nearest.is_empty() {
            fields.insert(NEAREST.to_owned(), json!(nearest));
        }
    }
    ToolError::new(kind(error.kind), error.message.clone())
        .details(details)
        .hint(error.hint.clone())
}

const fn kind(kind: ErrorKind) -> ToolErrorKind {
    match kind {
        ErrorKind::MissingFileHeader => ToolErrorKind::MissingFileHeader,
        ErrorKind::InvalidHunkHeader => ToolErrorKind::InvalidHunkHeader,
        ErrorKind::InvalidHunk => ToolErrorKind::InvalidHunk,
        ErrorKind::UnsupportedGitPatchFeature => ToolErrorKind::UnsupportedGitPatchFeature,
        ErrorKind::PathEscape => ToolErrorKind::PathEscape,
        ErrorKind::RenamePathMismatch => ToolErrorKind::RenamePathMismatch,
        ErrorKind::ContextNotFound => ToolErrorKind::ContextNotFound,
        ErrorKind::AmbiguousContext => ToolErrorKind::AmbiguousContext,
        ErrorKind::DuplicateFilePatch => ToolErrorKind::DuplicateFilePatch,
        ErrorKind::TargetExists => ToolErrorKind::TargetExists,
        ErrorKind::FileMissing => ToolErrorKind::FileMissing,
        ErrorKind::NotText => ToolErrorKind::NotText,
        ErrorKind::TooLarge => ToolErrorKind::TooLarge,
        ErrorKind::UnsupportedDialect => ToolErrorKind::UnsupportedDialect,
        ErrorKind::EmptyPatch => ToolErrorKind::EmptyPatch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Converts the grammar to one regular expression: rules name terminals, and terminals are expressions.
    fn expression() -> String {
        let definitions: Vec<(&str, &str)> = GRAMMAR
            .lines()
            .map(|line| {
                line.split_once(": ")
                    .expect("a name and what it stands for")
            })
            .collect();
        expanded("start", &definitions)
    }

    fn expanded(name: &str, definitions: &[(&str, &str)]) -> String {
        let found = definitions.iter().find(|(known, _)| *known == name);
        let (_, meaning) = found.unwrap_or_else(|| panic!("{name} is not defined"));
        if let Some(terminal) = meaning.strip_prefix('/') {
            return format!("(?:{})", terminal.trim_end_matches('/'));
        }
        let piece = |word: &str| match word.strip_suffix('+') {
            _ if word == "|" => word.to_owned(),
            Some(repeated) => format!("{}+", expanded(repeated, definitions)),
            None => expanded(word, definitions),
        };
        format!("(?:{})", meaning.split(' ').map(piece).collect::<String>())
    }

    fn fits(patch: &str) -> bool {
        let schema = json!({ "pattern": format!("^{}$", expression()) });
        let schema = jsonschema::draft202012::new(&schema).expect("a schema");
        schema.is_valid(&json!(patch))
    }

    #[test]
    fn what_a_diff_can_say_fits_the_grammar() {
        for patch in [
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn x()\n a\n-b\n+c\n",
            "--- a/x\n+++ b/x\n@@\n-a\n+b\n\\ No newline at end of file\n",
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+\n--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n",
            "--- a/x.sql\n+++ b/x.sql\n@@ -1 +1 @@\n--- a comment\n+++ another\n",
            "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
            "diff --git a/x b/y\nrename from x\nrename to y\n",
            "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..e69de29\n",
            "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n",
        ] {
            Patch::parse(patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
            assert!(fits(patch), "{patch}");
        }
    }

    #[test]
    fn what_is_no_diff_does_not_fit_the_grammar() {
        for text in [
            "",
            "*** Begin Patch\n*** End Patch\n",
            "{\"patch\": \"--- a/x\"}",
            "Here is the patch:\n--- a/x\n+++ b/x\n@@\n-a\n+b\n",
            "--- a/x\n@@\n-a\n",
            "--- a/x\n+++ b/x\n-a\n+b\n",
            "--- a/x\n+++ b/x\n@@\n",
            "--- a/x\n+++ b/x\n@@\nno mark\n",
        ] {
            assert!(!fits(text), "{text}");
        }
    }

    #[test]
    fn the_text_becomes_the_argument_of_that_name() {
        let schema = spec().input_schema;
        assert_eq!(schema["required"], json!([ARGUMENT]));
        assert_eq!(
            schema["properties"].as_object().map(|all| all.len()),
            Some(1)
        );
    }

    proptest! {
        #[test]
        fn whatever_fits_the_grammar_is_read_as_a_diff(
            text in proptest::string::string_regex(&expression()).expect("an expression"),
        ) {
            match Patch::parse(&text) {
                Ok(patch) => prop_assert!(!patch.files.is_empty()),
                Err(error) => prop_assert!(
                    !matches!(error.kind, ErrorKind::UnsupportedDialect | ErrorKind::EmptyPatch),
                    "{error}\n{text}"
                ),
            }
        }
    }
}
