//! Runs one attempt at one provider: encode, send, decode, by its protocol.
//!
//! The only state between attempts is the cache of stored answers (`snapshot_cache`).

use super::address::Provider;
use super::classify::is_about_previous;
use super::client::Clients;
use super::deadline::Deadline;
use super::exchange::{Exchange, Trouble, Whole};
use super::headers;
use super::known::{Known, Scope};
use super::limits::HttpLimits;
use super::listing;
use super::names;
use super::report::{Asked, Stage};
use super::said::{Said, is_html};
use crate::codec::responses::Snapshot;
use crate::codec::{Decoded, Fault, anthropic, chat, codex, responses};
use crate::credential::{Credential, Credentials};
use crate::secrets::Secrets;
use holon_domain::model::{ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{PromptCapability, Transport};
use reqwest::{Client, Method, Request};
use serde_json::Value;
use std::sync::Arc;

/// State that all attempts share.
#[derive(Debug)]
pub(crate) struct Http {
    clients: Clients,
    credentials: Arc<dyn Credentials>,
    limits: HttpLimits,
    known: Known,
    secrets: Secrets,
}

impl Http {
    pub(crate) fn new(credentials: Arc<dyn Credentials>, limits: HttpLimits) -> Self {
        Self {
            clients: Clients::new(&limits, Arc::new(names::System)),
            credentials,
            limits,
            known: Known::new(),
            secrets: Secrets::default(),
        }
    }

    /// The secrets that are removed from everything shown.
    pub(crate) const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Replaces the set of secrets that are removed from everything shown; every fetched credential is added to it.
    pub(crate) fn hiding(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Resolves names with `lookup` and disables the proxy.
    #[cfg(test)]
    pub(crate) fn with_lookup(
        self,
        lookup: Arc<dyn names::Lookup>,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self {
            clients: Clients::new(&self.limits, lookup).direct()?,
            ..self
        })
    }

    /// Runs one attempt at one round.
    pub(crate) async fn call(
        &self,
        provider: &Provider,
        request: &ModelRequest,
    ) -> Result<ModelReply, ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.total);
        let bare = self.asked(provider, Some(&request.model));
        let credential = self.credential(&bare, &mut deadline).await?;
        let mut attempt = self.attempt(bare, credential.as_ref(), &mut deadline);
        let decoded = match provider.spec.transport {
            Transport::OpenaiResponses => attempt.responses(request).await?,
            Transport::OpenaiCodexResponses => attempt.codex(request).await?,
            Transport::AnthropicMessages => {
                let body = anthropic::encode(&provider.spec, request);
                attempt.json(&body, anthropic::decode).await?
            }
            Transport::OpenaiChatCompletions => {
                let body = chat::encode(&provider.spec, request);
                attempt.json(&body, chat::decode).await?
            }
        };
        Ok(decoded.reply)
    }

    /// Fetches the ids of the models the provider lists.
    pub(crate) async fn models(&self, provider: &Provider) -> Result<Vec<String>, ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.total);
        let bare = Asked {
            url: &provider.list,
            ..self.asked(provider, None)
        };
        let credential = self.credential(&bare, &mut deadline).await?;
        let mut attempt = self.attempt(bare, credential.as_ref(), &mut deadline);
        let sent = attempt.send(Method::GET, None).await;
        let whole = sent.map_err(|trouble| trouble.failure(&attempt.exchange.asked))?;
        attempt.decoded(&whole, listing::ids)
    }

    /// Checks that a credential can be obtained, if the provider needs one.
    pub(crate) async fn check(
        &self,
        provider: &Provider,
        model: &ModelRef,
    ) -> Result<(), ModelFailure> {
        let mut deadline = Deadline::starting(self.limits.total);
        let bare = self.asked(provider, Some(model));
        let credential = self.credential(&bare, &mut deadline).await?;
        headers::of(&provider.spec, credential.as_ref()).map_err(|_| unsendable(&bare))?;
        Ok(())
    }

    fn attempt<'a>(
        &'a self,
        bare: Asked<'a>,
        credential: Option<&'a Credential>,
        deadline: &'a mut Deadline,
    ) -> Attempt<'a> {
        Attempt {
            http: self,
            credential,
            exchange: Exchange {
                asked: Asked {
                    secret: credential.map(|credential| &credential.secret),
                    ..bare
                },
                limits: &self.limits,
                deadline,
            },
        }
    }

    async fn credential(
        &self,
        asked: &Asked<'_>,
        deadline: &mut Deadline,
    ) -> Result<Option<Credential>, ModelFailure> {
        let fetched = self.credentials.credential(&asked.provider.id);
        let credential = deadline
            .step(self.limits.total, fetched)
            .await
            .map_err(|late| asked.late(Stage::Credential, late))?
            .map_err(|sentence| asked.no_credential(&sentence))?;
        if let Some(credential) = &credential {
            self.secrets.learn(&credential.secret);
        }
        Ok(credential)
    }

    fn asked<'a>(&'a self, provider: &'a Provider, model: Option<&'a ModelRef>) -> Asked<'a> {
        Asked {
            provider: &provider.spec,
            model,
            url: &provider.ask,
            secret: None,
            secrets: &self.secrets,
        }
    }
}

/// State of one attempt.
struct Attempt<'a> {
    http: &'a Http,
    credential: Option<&'a Credential>,
    exchange: Exchange<'a>,
}

impl<'a> Attempt<'a> {
    /// Sends a JSON document and decodes a JSON document.
    async fn json(
        &mut self,
        body: &Value,
        decode: impl Fn(&[u8]) -> Result<Decoded, Fault>,
    ) -> Result<Decoded, ModelFailure> {
        let sent = self.send(Method::POST, Some(body)).await;
        let whole = sent.map_err(|trouble| trouble.failure(&self.exchange.asked))?;
        self.decoded(&whole, decode)
    }

    /// Calls a Responses provider: in short form if it has stored the rest, and in full if it turns out to have lost
    /// it.
    async fn responses(&mut self, request: &ModelRequest) -> Result<Decoded, ModelFailure> {
        let full = responses::encode(self.exchange.asked.provider, request);
        let decode = |body: &[u8]| responses::decode(&request.tools, body);
        if !self
            .exchange
            .asked
            .provider
            .can(PromptCapability::IncrementalResponses)
        {
            return self.json(&full, decode).await;
        }
        let scope = Scope::of(request);
        let decoded = match self.http.known.short(&scope, &full) {
            Some(short) => match self.short(&short, decode).await? {
                Some(decoded) => decoded,
                None => {
                    self.http.known.lost(&scope);
                    self.json(&full, decode).await?
                }
            },
            None => self.json(&full, decode).await?,
        };
        let snapshot = Snapshot::of(request, &full, &decoded);
        self.http.known.keep(scope, snapshot);
        Ok(decoded)
    }

    /// Sends the short form; `None` means that the provider has lost the rest.
    async fn short(
        &mut self,
        short: &Value,
        decode: impl Fn(&[u8]) -> Result<Decoded, Fault>,
    ) -> Result<Option<Decoded>, ModelFailure> {
        let whole = match self.send(Method::POST, Some(short)).await {
            Ok(whole) => whole,
            Err(Trouble::Refused { status, said, .. })
                if is_about_previous(status.as_u16(), &said) =>
            {
                return Ok(None);
            }
            Err(trouble) => return Err(trouble.failure(&self.exchange.asked)),
        };
        match decode(&whole.bytes) {
            Err(Fault::Reported { message, .. })
                if is_about_previous(400, &Said::plain(&message)) =>
            {
                Ok(None)
            }
            decoded => self.told(&whole, decoded).map(Some),
        }
    }

    /// Sends a JSON document and decodes an event stream.
    async fn codex(&mut self, request: &ModelRequest) -> Result<Decoded, ModelFailure> {
        let body = codex::encode(self.exchange.asked.provider, request);
        let mut assembler = codex::Assembler::new(self.http.limits.answer_bytes);
        let taken = async {
            let request = self.request(Method::POST, Some(&body))?;
            let client = self.client()?;
            self.exchange
                .events(client, request, |name, data| assembler.event(name, data))
                .await
        };
        let status = taken
            .await
            .map_err(|trouble| trouble.failure(&self.exchange.asked))?;
        let answer = assembler.finish(&request.tools);
        answer.map_err(|fault| self.exchange.asked.fault(&fault, status))
    }

    async fn send(&mut self, method: Method, body: Option<&Value>) -> Result<Whole, Trouble> {
        let request = self.request(method, body)?;
        let client = self.client()?;
        self.exchange.whole(client, request).await
    }

    fn request(&self, method: Method, body: Option<&Value>) -> Result<Request, ModelFailure> {
        let mut request = Request::new(method, self.exchange.asked.url.clone());
        *request.headers_mut() = headers::of(self.exchange.asked.provider, self.credential)
            .map_err(|_| unsendable(&self.exchange.asked))?;
        if let Some(body) = body {
            *request.body_mut() = Some(body.to_string().into());
        }
        Ok(request)
    }

    fn client(&self) -> Result<&'a Client, ModelFailure> {
        let asked = &self.exchange.asked;
        let client = self.http.clients.of(asked.url);
        client.map_err(|error| asked.no_client(error))
    }

    fn decoded<T>(
        &self,
        whole: &Whole,
        decode: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<T, ModelFailure> {
        self.told(whole, decode(&whole.bytes))
    }

    fn told<T>(&self, whole: &Whole, decoded: Result<T, Fault>) -> Result<T, ModelFailure> {
        let fault = match decoded {
            Ok(decoded) => return Ok(decoded),
            Err(fault) => fault,
        };
        let fault = match fault {
            Fault::Malformed { .. } if is_html(&whole.bytes) => Fault::Malformed {
                what: Said::read(&whole.bytes).message,
            },
            // The body has no stated length and ends in the middle of a document: the connection was lost.
            Fault::Malformed { .. } if whole.open_ended && is_cut(&whole.bytes) => Fault::CutOff,
            other => other,
        };
        Err(self.exchange.asked.fault(&fault, whole.status))
    }
}

/// Returns true if the bytes are the beginning of a JSON document.
fn is_cut(bytes: &[u8]) -> bool {
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    !bytes.trim_ascii().is_empty() && parsed.is_err_and(|error| error.is_eof())
}

fn unsendable(asked: &Asked<'_>) -> ModelFailure {
    asked.no_credential(&format!(
        "the credential of {} holds characters that cannot be sent; set it again",
        asked.provider.id
    ))
}
