//! The published result, its receipt, and results of earlier versions.

use super::*;
use crate::receipt;
use holon_domain::tool::ToolErrorKind;

fn file(action: FileAction, path: &str) -> ChangedFile {
    let path = path.to_owned();
    ChangedFile { action, path }
}

fn ignored(path: &str, kind: &str, value: &str) -> IgnoredMetadata {
    IgnoredMetadata {
        path: path.to_owned(),
        kind: kind.to_owned(),
        value: value.to_owned(),
    }
}

fn remark(path: &str, message: &str) -> PatchDiagnostic {
    PatchDiagnostic {
        path: path.to_owned(),
        kind: "line_mismatch".to_owned(),
        message: message.to_owned(),
    }
}

/// A patch with one change and one remark of each kind.
fn applied() -> PatchResult {
    let from_path = "b.txt".to_owned();
    PatchResult {
        changed_files: vec![
            file(FileAction::Modify, "a.txt"),
            file(FileAction::Add, "new/c.txt"),
            file(FileAction::Delete, "old.txt"),
            file(FileAction::Move { from_path }, "d.txt"),
        ],
        ignored_metadata: vec![ignored("new/c.txt", "new file mode", "100644")],
        diagnostics: vec![remark("a.txt", "it fits at line 2")],
    }
}

#[test]
fn a_result_has_the_published_names() {
    let envelope = envelope(Ok(applied()));
    let ToolOutcome::Success { result } = &envelope.outcome else {
        panic!("{envelope:?}");
    };
    let expected = json!({
        "changed_files": [
            { "action": "modify", "path": "a.txt" },
            { "action": "add", "path": "new/c.txt" },
            { "action": "delete", "path": "old.txt" },
            { "action": "move", "path": "d.txt", "from_path": "b.txt" },
        ],
        "changed_paths": ["a.txt", "new/c.txt", "old.txt", "d.txt"],
        "changed_file_count": 4,
        "ignored_metadata": [
            { "path": "new/c.txt", "kind": "new file mode", "value": "100644" },
        ],
        "diagnostics": [
            { "path": "a.txt", "kind": "line_mismatch", "message": "it fits at line 2" },
        ],
    });
    assert_eq!(*result, expected);
    assert_eq!(envelope.summary_text, "4 files changed");
}

#[test]
fn a_patch_without_remarks_lists_none() {
    let changed_files = vec![file(FileAction::Add, "x")];
    let envelope = envelope(Ok(PatchResult {
        changed_files,
        ..PatchResult::default()
    }));
    let ToolOutcome::Success { result } = &envelope.outcome else {
        panic!("{envelope:?}");
    };
    assert_eq!(
        (&result["ignored_metadata"], &result["diagnostics"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(envelope.summary_text, "A x");
}

#[test]
fn a_model_reads_a_letter_and_a_path_for_each_file_and_then_the_remarks() {
    assert_eq!(
        receipt(&envelope(Ok(applied()))),
        "M a.txt\nA new/c.txt\nD old.txt\nR b.txt -> d.txt\n\
         note: a.txt: it fits at line 2\n\
         ignored: new/c.txt: new file mode 100644"
    );
}

#[test]
fn many_remarks_of_a_sort_are_counted_and_not_shown() {
    let of = |count: usize| {
        let notes = (0..count).map(|at| remark("a.txt", &format!("remark {at}")));
        let applied = PatchResult {
            changed_files: vec![file(FileAction::Modify, "a.txt")],
            diagnostics: notes.collect(),
            ..PatchResult::default()
        };
        receipt(&envelope(Ok(applied)))
    };
    let counts = PatchResult {
        changed_files: vec![file(FileAction::Modify, "a.txt")],
        diagnostics: vec![PatchDiagnostic {
            kind: "count_mismatch".to_owned(),
            ..remark("a.txt", "the header says 3 lines")
        }],
        ..PatchResult::default()
    };
    assert_eq!(receipt(&envelope(Ok(counts))), "M a.txt");
    let all = of(SHOWN);
    assert_eq!(all.lines().count(), 1 + SHOWN);
    assert!(all.ends_with("note: a.txt: remark 7"), "{all}");
    assert_eq!(of(SHOWN + 3), format!("{all}\nnote: 3 more of this sort"));
}

/// A result in the form that was written before the published names.
fn earlier() -> ToolEnvelope {
    let result = json!({
        "changed_paths": ["a.txt", "new/c.txt", "old.txt", "d.txt"],
        "files": [
            { "path": "a.txt", "action": "modified" },
            { "path": "new/c.txt", "action": "added" },
            { "path": "old.txt", "action": "deleted" },
            { "path": "d.txt", "action": "renamed", "from": "b.txt" },
        ],
        "ignored_metadata": ["new file mode 100644"],
        "diagnostics": ["a.txt: it fits at line 2"],
    });
    ToolEnvelope::success(NAME, "4 files changed", result)
}

#[test]
fn a_result_of_an_earlier_version_reads_like_one_of_this() {
    assert_eq!(
        receipt(&earlier()),
        "M a.txt\nA new/c.txt\nD old.txt\nR b.txt -> d.txt\n\
         note: a.txt: it fits at line 2\n\
         ignored: new file mode 100644"
    );
}

#[test]
fn the_changed_paths_of_a_call_are_told_whichever_version_kept_it() {
    let paths = ["a.txt", "new/c.txt", "old.txt", "d.txt"];
    assert_eq!(changed_paths(&envelope(Ok(applied()))), paths);
    assert_eq!(changed_paths(&earlier()), paths);
}

#[test]
fn a_call_that_failed_or_is_of_another_tool_changed_no_paths() {
    let error = ToolError::new(ToolErrorKind::FileChanged, "it was changed meanwhile");
    assert_eq!(changed_paths(&envelope(Err(error))), [""; 0]);
    let other = json!({ "changed_paths": ["a.txt"] });
    let other = ToolEnvelope::success("ExecCommand", "exit 0", other);
    assert_eq!(changed_paths(&other), [""; 0]);
}
