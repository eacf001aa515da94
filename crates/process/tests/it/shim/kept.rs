//! Tests of output that outlives its shim.

use super::place::{Place, begin, finish, image, kill_shim, wait_for_bytes};
use holon_domain::command::UnknownCause;
use holon_process::{Error, ShimSpec, ShimmedState, Stream, attach, kept_output, start};

const CAP: u64 = 64 << 10;

#[tokio::test]
async fn what_a_killed_shim_had_written_can_still_be_shown() {
    for cap in [CAP, 1 << 30] {
        let place = Place::new();
        let spec = ShimSpec {
            output_cap_bytes: cap,
            ..place.spec("echo $PPID >&2; echo first; exec yes")
        };
        let (out, err) = (spec.output_path.clone(), spec.stderr_path.clone());
        let task = begin(spec).await;
        wait_for_bytes(&task, 4 * CAP).await;
        let before = task.output().await.unwrap();
        kill_shim(&place.err());
        assert_eq!(task.ended().await, Err(Error::Lost));
        let found = attach(place.locator()).await;
        assert!(
            matches!(found, ShimmedState::Unknown(UnknownCause::SupervisorDied)),
            "{found:?}"
        );

        let kept = kept_output(&out, err.as_deref());
        let facts = kept.stream(Stream::Output).unwrap();
        let on_disk = std::fs::metadata(&out).unwrap().len();
        assert_eq!((facts.total_bytes, facts.head_bytes), (on_disk, on_disk));
        assert!(on_disk >= before.output.head_bytes && on_disk <= cap);
        let preview = facts.preview(100).await.unwrap();
        assert!(preview.head.starts_with("first\ny\ny\n"), "{preview:?}");
        assert!(preview.tail.contains("y\ny\ny\n"), "{preview:?}");
        let errors = kept.stream(Stream::Errors).unwrap();
        let shown = errors.preview(100).await.unwrap();
        assert_eq!(shown.head, place.err());
    }
}

#[tokio::test]
async fn a_command_that_never_began_has_empty_output_and_a_removed_file_is_missing() {
    let place = Place::new();
    let spec = ShimSpec {
        shell: Some("/no/such/shell".to_owned()),
        ..place.spec("echo x")
    };
    let (out, err) = (spec.output_path.clone(), spec.stderr_path.clone());
    start(&image(), spec)
        .await
        .expect_err("there is no such shell");
    let kept = kept_output(&out, err.as_deref());
    assert_eq!((kept.total_bytes(), &kept.output.error), (0, &None));
    let preview = kept.output.preview(100).await.unwrap();
    assert_eq!((preview.head.as_str(), preview.total_bytes), ("", 0));
    assert!(kept.output.slice(7, 100).await.unwrap().bytes.is_empty());

    std::fs::remove_file(&out).unwrap();
    let kept = kept_output(&out, err.as_deref());
    let missing = Error::OutputMissing {
        path: out.display().to_string(),
    };
    assert_eq!(kept.output.slice(7, 100).await, Err(missing.clone()));
    assert_eq!(kept.output.preview(100).await, Err(missing));
    assert_eq!(kept.errors.unwrap().preview(100).await.unwrap().head, "");
}

#[tokio::test]
async fn only_plain_files_are_read() {
    let place = Place::new();
    let pipe = place.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let link = place.path().join("link");
    std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
    for path in [pipe.as_path(), &link, place.path()] {
        let kept = kept_output(path, None);
        assert_eq!((kept.total_bytes(), &kept.errors), (0, &None));
        assert!(kept.output.error.is_some());
        assert_eq!(kept.output.preview(100).await.unwrap().head, "");
    }
}

#[tokio::test]
async fn output_that_was_not_cut_looks_the_same_without_its_record() {
    let place = Place::new();
    let ended = finish(place.spec("echo out; echo err >&2")).await;
    let err = place.path().join("err");
    let kept = kept_output(&place.path().join("out"), Some(&err));
    assert_eq!(kept, ended.output);
}
