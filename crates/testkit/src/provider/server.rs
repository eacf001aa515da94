//! The server: a listener on loopback, a thread per connection, and the script they share.

use super::answer::{Answer, Reaction};
use super::check;
use super::connection::{AnswerGates, Connection};
use super::error_body;
use super::gate::Gate;
use super::mint::Mint;
use super::plan;
use super::protocol::{Protocol, RequestKind};
use super::recorded_request::RecordedRequest;
use super::script::{Listing, Script};
use super::shared::{Shared, ThreadSignal};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A provider on loopback. It stops when dropped; `finish` reports violations of the protocols.
#[derive(Debug)]
pub struct Provider {
    port: u16,
    shared: Arc<Shared>,
    script: Arc<Mutex<Script>>,
    accepting: Option<JoinHandle<()>>,
}

impl Provider {
    /// Starts a server with this script.
    ///
    /// # Panics
    /// When no port is available.
    #[must_use]
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let script = Arc::new(Mutex::new(script));
        let handler = RequestHandler {
            port,
            shared: Arc::clone(&shared),
            script: Arc::clone(&script),
        };
        Self {
            port,
            shared,
            script,
            accepting: Some(std::thread::spawn(move || accept(&listener, &handler))),
        }
    }

    /// Address of the server as a provider's `base_url`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Port of the server.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the gate of this name.
    #[must_use]
    pub fn gate(&self, name: &str) -> Gate {
        Gate::new(Arc::clone(&self.shared), name)
    }

    /// Returns the requests for the models and for descriptions of the server so far. `requests` does not contain them.
    #[must_use]
    pub fn looks(&self) -> Vec<RecordedRequest> {
        self.shared.looks()
    }

    /// Returns the requests for answers so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.requests()
    }

    /// Returns the violations so far.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.violations()
    }

    /// Waits for this many requests.
    ///
    /// # Panics
    /// When they do not come in time.
    pub fn wait_for_requests(&self, count: usize) {
        self.shared.wait_for_requests(count);
    }

    /// Waits until this many clients have disconnected before their answer was complete.
    ///
    /// # Panics
    /// When they do not in time.
    pub fn wait_for_hang_ups(&self, count: usize) {
        self.shared.wait_for_hang_ups(count);
    }

    /// Stops the server and returns its requests.
    ///
    /// # Panics
    /// When a request violated its protocol, or the script was not played to its end.
    pub fn finish(mut self) -> Vec<RecordedRequest> {
        self.stop();
        let mut wrong = self.shared.violations();
        let left = lock(&self.script).source.left();
        if left > 0 {
            wrong.push(format!("{left} rounds of the script were not asked for"));
        }
        assert!(
            wrong.is_empty(),
            "the provider complains:\n{}",
            wrong.join("\n")
        );
        self.shared.requests()
    }

    fn stop(&mut self) {
        let Some(accepting) = self.accepting.take() else {
            return;
        };
        self.shared.stop();
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
        if accepting.join().is_err() {
            self.shared.complain("the listener panicked".to_owned());
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Accepts connections until told to stop, then joins the thread of each.
fn accept(listener: &TcpListener, handler: &RequestHandler) {
    let mut threads = Vec::new();
    for number in 0.. {
        let Ok((stream, _)) = listener.accept() else {
            handler
                .shared
                .complain("a connection was not accepted".to_owned());
            break;
        };
        let stream = Arc::new(stream);
        if handler.shared.admit(&stream) == ThreadSignal::Stop {
            break;
        }
        stream
            .set_nodelay(true)
            .expect("a socket takes this option");
        let connection = Connection {
            stream,
            shared: Arc::clone(&handler.shared),
            number,
        };
        let handler = handler.clone();
        threads.push(std::thread::spawn(move || {
            connection.serve(|request| handler.react(request));
        }));
    }
    for thread in threads {
        if thread.join().is_err() {
            handler
                .shared
                .complain("a round could not be chosen or played".to_owned());
        }
    }
}

/// Checks each request and looks up its round.
#[derive(Debug, Clone)]
struct RequestHandler {
    port: u16,
    shared: Arc<Shared>,
    script: Arc<Mutex<Script>>,
}

impl RequestHandler {
    /// One lock covers the number and the round, so that rounds are played in the order of the requests' numbers.
    fn react(&self, request: RecordedRequest) -> (Reaction, AnswerGates) {
        let mut script = lock(&self.script);
        let kind = RequestKind::of(&request.path, &request.body);
        let request = &match kind {
            Some(RequestKind::Models | RequestKind::Description) => {
                self.shared.record_look(request, script.keeps_requests)
            }
            Some(RequestKind::Answer(_)) | None => {
                self.shared.record(request, script.keeps_requests)
            }
        };
        let mint = Mint::new(self.port, request.index, request.model());
        for wrong in check::violations(request, &mint, script.key.as_deref()) {
            self.complain(request, &wrong);
        }
        match kind {
            Some(RequestKind::Answer(protocol)) => {
                self.answer(protocol, request, &mint, &mut script)
            }
            Some(RequestKind::Models) => {
                let first = script.first_listing.take();
                let listing = first.as_ref().unwrap_or(&script.listing);
                (describe(listing, request, &mint), AnswerGates::NONE)
            }
            Some(RequestKind::Description) => {
                let is_asked = |(path, _): &(&String, &Listing)| request.path.ends_with(*path);
                let found = script.descriptions.iter().find(is_asked);
                let reaction = match found {
                    Some((_, description)) => describe(description, request, &mint),
                    None => Reaction::Answer(error_body::not_there()),
                };
                (reaction, AnswerGates::NONE)
            }
            None => (
                Reaction::Answer(error_body::unscripted(&mint)),
                AnswerGates::NONE,
            ),
        }
    }

    fn answer(
        &self,
        protocol: Protocol,
        request: &RecordedRequest,
        mint: &Mint,
        script: &mut Script,
    ) -> (Reaction, AnswerGates) {
        match script.source.next(request) {
            Some(round) => {
                let reaction = plan::reaction(protocol, &round, mint, request);
                (reaction, AnswerGates::of(&round))
            }
            None => {
                self.complain(request, "the script was at its end");
                (
                    Reaction::Answer(error_body::unscripted(mint)),
                    AnswerGates::NONE,
                )
            }
        }
    }

    fn complain(&self, request: &RecordedRequest, wrong: &str) {
        let RecordedRequest {
            index,
            method,
            path,
            ..
        } = request;
        self.shared
            .complain(format!("request {index} ({method} {path}): {wrong}"));
    }
}

fn describe(listing: &Listing, request: &RecordedRequest, mint: &Mint) -> Reaction {
    match listing {
        Listing::Models(ids) => Reaction::Answer(error_body::models(ids)),
        Listing::Document(document) => Reaction::Answer(Answer::json(200, document)),
        Listing::Fault(fault) => plan::listing_fault(fault, mint, request),
    }
}

fn lock(script: &Mutex<Script>) -> MutexGuard<'_, Script> {
    // A panic in a choice is reported where its thread is joined.
    script.lock().unwrap_or_else(PoisonError::into_inner)
}
