//! State shared by the threads of a server and the test: requests, violations, gates, and the signal to stop.
//!
//! One mutex and one condition variable: every change wakes all waiting threads.

use super::recorded_request::RecordedRequest;
use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Longest wait of a test before it panics. No passing test waits that long.
const PATIENCE: Duration = Duration::from_secs(50);

/// The state of one server.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    requests: Vec<RecordedRequest>,
    request_count: usize,
    /// Requests for the models and for descriptions of the server.
    looks: Vec<RecordedRequest>,
    violations: Vec<String>,
    hang_ups: usize,
    gates: HashMap<String, GateState>,
    stopping: bool,
    /// Weak, so that a connection is closed when its own thread drops it.
    streams: Vec<Weak<TcpStream>>,
}

#[derive(Debug, Default)]
struct GateState {
    arrived: usize,
    open: bool,
}

/// Tells a thread to continue or to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadSignal {
    Continue,
    Stop,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Keeps the state readable for the test after a thread panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.changed.notify_all();
        changed
    }

    /// Waits for a condition of the test.
    fn wait(&self, what: &str, until: impl Fn(&State) -> bool) {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| !until(state));
        let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            panic!(
                "{what} did not come: {} requests, gates {:?}, complaints {:?}",
                state.request_count, state.gates, state.violations
            );
        }
    }

    /// Numbers a request and stores it, if requests are kept.
    pub(super) fn record(&self, mut request: RecordedRequest, keep: bool) -> RecordedRequest {
        self.change(|state| {
            request.index = state.request_count;
            state.request_count += 1;
            if keep {
                state.requests.push(request.clone());
            }
            request
        })
    }

    /// Stores a request that is not for an answer, if requests are kept.
    pub(super) fn record_look(&self, request: RecordedRequest, keep: bool) -> RecordedRequest {
        self.change(|state| {
            if keep {
                state.looks.push(request.clone());
            }
            request
        })
    }

    pub(super) fn complain(&self, words: String) {
        self.change(|state| state.violations.push(words));
    }

    /// Records that a client disconnected before its answer was complete.
    pub(super) fn hung_up(&self) {
        self.change(|state| state.hang_ups += 1);
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Vec<RecordedRequest> {
        self.lock().requests.clone()
    }

    /// Returns the requests that are not for an answer so far.
    pub(super) fn looks(&self) -> Vec<RecordedRequest> {
        self.lock().looks.clone()
    }

    /// Returns the violations so far.
    pub(super) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Waits for this many requests.
    pub(super) fn wait_for_requests(&self, count: usize) {
        self.wait("a request", |state| state.request_count >= count);
    }

    /// Waits until this many clients have disconnected.
    pub(super) fn wait_for_hang_ups(&self, count: usize) {
        self.wait("a hang-up", |state| state.hang_ups >= count);
    }

    /// Waits until threads have reached this gate this many times.
    pub(super) fn wait_at_gate(&self, name: &str, times: usize) {
        self.wait(name, |state| {
            let gate = state.gates.get(name);
            gate.is_some_and(|gate| gate.arrived >= times)
        });
    }

    /// Opens a gate for good.
    pub(super) fn open(&self, name: &str) {
        self.change(|state| state.gates.entry(name.to_owned()).or_default().open = true);
    }

    /// Waits at a gate until it is open.
    pub(super) fn pass(&self, name: &str) -> ThreadSignal {
        self.change(|state| state.gates.entry(name.to_owned()).or_default().arrived += 1);
        let held = |state: &mut State| {
            !state.stopping && !state.gates.get(name).is_some_and(|gate| gate.open)
        };
        let state = self.changed.wait_while(self.lock(), held);
        go(&state.unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets this much real time pass, for slow answers.
    pub(super) fn pace(&self, pause: Duration) -> ThreadSignal {
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), pause, |state| !state.stopping);
        go(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Registers a connection, unless the server is stopping.
    pub(super) fn admit(&self, stream: &Arc<TcpStream>) -> ThreadSignal {
        self.change(|state| {
            state.streams.retain(|known| known.strong_count() > 0);
            state.streams.push(Arc::downgrade(stream));
            go(state)
        })
    }

    /// Makes every thread end.
    pub(super) fn stop(&self) {
        let streams = self.change(|state| {
            state.stopping = true;
            std::mem::take(&mut state.streams)
        });
        for stream in streams.iter().filter_map(Weak::upgrade) {
            // It may be closed already.
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
    }
}

fn go(state: &State) -> ThreadSignal {
    if state.stopping {
        ThreadSignal::Stop
    } else {
        ThreadSignal::Continue
    }
}
