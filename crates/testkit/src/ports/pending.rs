//! Port calls that wait for the test to answer them.

use tokio::sync::{Mutex, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// A call that waits for its answer.
#[derive(Debug)]
pub struct PendingCall<Q, A> {
    /// Request of the host.
    pub request: Q,
    answer: oneshot::Sender<A>,
}

impl<Q, A> PendingCall<Q, A> {
    /// Answers the call. The answer to a cancelled call is dropped, as the real ports do.
    pub fn answer(self, answer: A) {
        drop(self.answer.send(answer));
    }

    /// Returns once the caller no longer waits for the answer.
    pub async fn let_go(mut self) {
        self.answer.closed().await;
    }
}

/// The calls of one port method, in order.
#[derive(Debug)]
pub struct CallQueue<Q, A> {
    sender: mpsc::UnboundedSender<PendingCall<Q, A>>,
    receiver: Mutex<mpsc::UnboundedReceiver<PendingCall<Q, A>>>,
}

impl<Q, A> Default for CallQueue<Q, A> {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Mutex::new(receiver),
        }
    }
}

impl<Q, A> CallQueue<Q, A> {
    /// Waits for the next call.
    pub async fn next(&self) -> PendingCall<Q, A> {
        let next = self.receiver.lock().await.recv().await;
        next.expect("the queue keeps a sender of its own")
    }

    /// Returns true if the test has taken every call.
    pub async fn is_quiet(&self) -> bool {
        self.receiver.lock().await.is_empty()
    }

    /// Makes a call and waits for the test to answer it. `None` if `cancel` fires first or the test drops the call.
    pub(super) async fn ask(&self, request: Q, cancel: &CancellationToken) -> Option<A> {
        let (answer, waiting) = oneshot::channel();
        let sent = self.sender.send(PendingCall { request, answer });
        assert!(sent.is_ok(), "the queue keeps a receiver of its own");
        tokio::select! {
            answer = waiting => answer.ok(),
            () = cancel.cancelled() => None,
        }
    }
}
