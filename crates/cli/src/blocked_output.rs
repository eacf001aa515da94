//! Ends a program that was told to end and cannot, because nobody reads its output.
//!
//! A command that listens to signals is not ended by them. If a write then waits for a reader that has stopped, the
//! command never gets to the signal. A thread of its own hears it too, and watches standard output and standard error
//! from then on: if one of them takes nothing for a while, it ends the program.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::AsFd as _;
use std::task::Poll;
use tokio::signal::unix::{SignalKind, signal};

/// Time for which an output may take nothing after a signal.
const PATIENCE: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};
/// Time between two looks at outputs that take more.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Exit codes of programs that a signal ends begin here.
const SIGNALLED: i32 = 128;

/// Watches the output from the first of these signals on. To be called by commands that listen to them.
pub(crate) fn end_on<const N: usize>(signals: [SignalKind; N]) {
    // The thread ends with the process. Without it only a blocked command is not ended, so a failure is not told.
    drop(
        std::thread::Builder::new()
            .name("blocked-output".to_owned())
            .spawn(move || {
                if let Some(kind) = next_of(&signals) {
                    wait_until_blocked();
                    end(kind);
                }
            }),
    );
}

/// Waits for the first of the signals. `None` if they cannot be heard.
fn next_of(kinds: &[SignalKind]) -> Option<SignalKind> {
    let runtime = holon_daemon::run_runtime().ok()?;
    runtime.block_on(async {
        let mut heard = Vec::new();
        for kind in kinds {
            heard.push((*kind, signal(*kind).ok()?));
        }
        let next = std::future::poll_fn(|context| {
            let ready = heard
                .iter_mut()
                .find_map(|(kind, signal)| signal.poll_recv(context).is_ready().then_some(*kind));
            ready.map_or(Poll::Pending, Poll::Ready)
        });
        Some(next.await)
    })
}

/// Returns once an output has taken nothing for a while. Never, if the program ends by itself.
fn wait_until_blocked() {
    let (stdout, stderr) = (io::stdout(), io::stderr());
    loop {
        for output in [stdout.as_fd(), stderr.as_fd()] {
            let mut watched = [PollFd::from_borrowed_fd(output, PollFlags::OUT)];
            if poll(&mut watched, Some(&PATIENCE)) == Ok(0) {
                return;
            }
        }
        // Waits for nothing but the time.
        match poll(&mut [], Some(&PAUSE)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "the main thread waits for a reader and can never return"
)]
fn end(kind: SignalKind) {
    std::process::exit(SIGNALLED + kind.as_raw_value());
}
