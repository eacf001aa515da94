//! Tests of a full disk.

use super::namespace::inside;
use super::place::{Place, begin, end_of, finish, image, locator, wait_for_bytes};
use holon_process::{ShimSpec, ShimmedState, Stream, attach, start};
use std::path::PathBuf;
use std::process::Command;

const DISK: u64 = 128 << 10;

/// A small file system that is mounted only for the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(path: PathBuf) -> Self {
        Self::with_limit(path, &format!("size={DISK}"))
    }

    /// Mounts a file system with this mount option.
    fn with_limit(path: PathBuf, limit: &str) -> Self {
        std::fs::create_dir(&path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", limit, "tmpfs"])
            .arg(&path)
            .output()
            .unwrap();
        let output_text = String::from_utf8_lossy(&mount.stderr);
        assert!(mount.status.success(), "{output_text}");
        Self(path)
    }
}

impl Drop for SmallDisk {
    /// Unmounts it, because otherwise the directory below could not be removed.
    fn drop(&mut self) {
        let umount = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(umount.unwrap().success());
    }
}

#[test]
fn a_full_disk_costs_output_and_neither_the_command_nor_its_end() {
    let name = "a_full_disk_costs_output_and_neither_the_command_nor_its_end";
    inside(module_path!(), name, async {
        let place = Place::new();
        let small = SmallDisk::at(place.path().join("disk"));
        let disk = &small.0;
        let claim_dir = disk.join("state");
        std::fs::create_dir(&claim_dir).unwrap();
        let spec = ShimSpec {
            output_path: disk.join("out"),
            stderr_path: Some(disk.join("err")),
            claim_dir: claim_dir.clone(),
            accepts_input: true,
            ..place.spec("head -c 1000000 /dev/zero; printf END; echo last >&2; read x; exit 3")
        };
        let task = begin(spec).await;
        wait_for_bytes(&task, 1_000_002).await;
        let live = task.preview(Stream::Output, 100).await.unwrap();
        assert!(live.tail.ends_with("END"), "the shim still holds the end");
        task.input(1, b"\n").await.unwrap();
        let ended = end_of(&task).await;

        let facts = &ended.output.output;
        assert_eq!(facts.total_bytes, 1_000_003);
        assert!(facts.head_bytes > 0 && facts.head_bytes < DISK);
        let error = facts.error.as_deref().unwrap();
        assert!(error.contains("No space left"), "{error}");
        facts.preview(100).await.unwrap();
        // The space of the status was reserved while the disk had some.
        let ShimmedState::Ended(found) = attach(locator(&claim_dir)).await else {
            panic!("it has ended");
        };
        assert_eq!(*found, ended);
    });
}

#[test]
fn on_a_disk_that_is_full_before_the_start_nothing_runs_unrecorded() {
    let name = "on_a_disk_that_is_full_before_the_start_nothing_runs_unrecorded";
    inside(module_path!(), name, async {
        let place = Place::new();
        let small = SmallDisk::at(place.path().join("disk"));
        let disk = &small.0;
        let dirs = ["one", "two"].map(|name| disk.join(name));
        for dir in &dirs {
            std::fs::create_dir(dir).unwrap();
        }
        finish(place.spec("cat /dev/zero > disk/fill")).await;
        let spec = ShimSpec {
            claim_dir: dirs[0].clone(),
            output_path: place.path().join("out2"),
            stderr_path: None,
            ..place.spec("touch ran")
        };
        let failure = start(&image(), spec.clone())
            .await
            .expect_err("there is no room");
        assert!(failure.to_string().contains("No space left"), "{failure}");
        // Marking the spec needs no space, and is still valid when there is space again.
        for dir in &dirs {
            assert!(matches!(
                attach(locator(dir)).await,
                ShimmedState::NeverStarted
            ));
        }
        std::fs::remove_file(disk.join("fill")).unwrap();
        for claim_dir in dirs {
            let spec = ShimSpec {
                claim_dir,
                ..spec.clone()
            };
            start(&image(), spec).await.expect_err("it was given up");
        }
        assert!(!place.path().join("ran").exists());
    });
}

#[test]
fn without_room_for_its_files_a_command_is_never_taken_for_started() {
    let name = "without_room_for_its_files_a_command_is_never_taken_for_started";
    inside(module_path!(), name, async {
        for free in 0..=5 {
            let place = Place::new();
            let small = SmallDisk::with_limit(place.path().join("disk"), "nr_inodes=20");
            let disk = &small.0;
            let claim_dir = disk.join("state");
            std::fs::create_dir(&claim_dir).unwrap();
            let fillers = (0..).map(|number| disk.join(format!("fill{number}")));
            let filled: Vec<PathBuf> = fillers
                .take_while(|path| std::fs::write(path, "").is_ok())
                .collect();
            for path in filled.iter().take(free) {
                std::fs::remove_file(path).unwrap();
            }
            let spec = ShimSpec {
                claim_dir: claim_dir.clone(),
                output_path: disk.join("out"),
                stderr_path: Some(disk.join("err")),
                ..place.spec("touch ran")
            };
            let ran = place.path().join("ran");
            match start(&image(), spec).await {
                Ok(task) => {
                    end_of(&task).await;
                    assert!(ran.exists(), "{free} left");
                }
                Err(failure) => {
                    let found = attach(locator(&claim_dir)).await;
                    assert!(
                        matches!(
                            found,
                            ShimmedState::NeverStarted | ShimmedState::StartFailed(_)
                        ),
                        "{free} left: {failure}: {found:?}"
                    );
                    assert!(!ran.exists(), "{free} left");
                }
            }
        }
    });
}
