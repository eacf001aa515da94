//! Brings deliveries to operators: posts them to an address, or runs a program with them.
//!
//! Secrets are read from the credential store for every attempt, so a new one is used at once. Neither a report nor an
//! error shows one.

mod attached;
mod content;
mod program;

pub(crate) use self::attached::AttachedFiles;
use self::content::{Content, content_of};
use super::wall_clock;
use async_trait::async_trait;
use holon_config::{CredentialError, credentials};
use holon_domain::delivery::{DeliveryTarget, Submission, SubmitResult, TargetAuth, TargetKind};
use holon_domain::hmac::key_of;
use holon_domain::limits::{DELIVERY_ANSWER_BYTES, DELIVERY_ATTEMPT_MS, WEB_REDIRECTS};
use holon_domain::provider::AuthKind;
use holon_domain::proxy::ProxyVariables;
use holon_domain::{Timestamp, text};
use holon_engine::ports::{Destination, OutboundHost, SubmitReport};
use holon_web::{HostRules, Origin, Request, Response, WebClient, WebError};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most bytes of an answer that a report or an error shows.
const SHOWN_BYTES: usize = 400;

/// The outbound host of a home.
#[derive(Debug)]
pub(crate) struct Outbound {
    home: PathBuf,
    web: WebClient,
    attached: AttachedFiles,
}

impl Outbound {
    pub(crate) fn new(home: PathBuf, proxies: ProxyVariables, attached: AttachedFiles) -> Self {
        Self {
            home,
            web: WebClient::new(proxies),
            attached,
        }
    }

    /// Looks into the credential store or changes it. It is a file, so this runs off the async threads.
    async fn with_credentials<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Path) -> Result<T, CredentialError> + Send + 'static,
    ) -> Result<T, String> {
        let home = self.home.clone();
        match tokio::task::spawn_blocking(move || act(&home)).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the credential store was not read: {stopped}")),
        }
    }

    async fn secret(&self, profile: String) -> Result<SecretString, String> {
        let missing = format!("the credential store has no secret {profile}");
        let read = move |home: &Path| credentials::stored_secret(home, &profile);
        self.with_credentials(read).await?.ok_or(missing)
    }

    async fn post(
        &self,
        url: &str,
        auth: TargetAuth,
        profile: String,
        content: Content,
    ) -> SubmitReport {
        let mut headers = content.headers;
        let (mut shown, host) = (headers.clone(), site_of(url));
        let secret = match auth {
            TargetAuth::None => None,
            TargetAuth::Bearer | TargetAuth::Hmac => match self.secret(profile).await {
                Ok(secret) => Some(secret),
                Err(error) => return unsent(error),
            },
        };
        if let Some(secret) = &secret {
            let secret = secret.expose_secret();
            let seconds = wall_clock().as_millis() / 1_000;
            let added = authentication(auth, secret, &content.id, seconds, &content.body);
            let Some(added) = added else {
                let error = "the stored secret holds no key: whsec_ goes on with base64 of one";
                return unsent(error.to_owned());
            };
            shown.extend(added.iter().map(|(name, _)| (name.clone(), "…".to_owned())));
            headers.extend(added);
        }
        let request = Request {
            method: holon_web::Method::POST,
            url: url.to_owned(),
            origin: Origin::Configured,
            headers,
            body: content.body,
            timeout: Duration::from_millis(DELIVERY_ATTEMPT_MS),
            max_bytes: DELIVERY_ANSWER_BYTES,
            max_redirects: WEB_REDIRECTS,
            rules: HostRules::default(),
        };
        let sent = describe_request(&host, &shown, &request.body);
        report(sent, self.web.send(&request).await)
    }
}

/// Concludes an attempt. The status decides, also if the body of the answer did not end in time: the receiver has taken
/// what it answered with success, and would get it twice.
fn report(sent: String, answered: Result<Response, WebError>) -> SubmitReport {
    match answered {
        Ok(response) => SubmitReport {
            received: describe_answer(&response),
            result: judge(&response),
            sent,
        },
        Err(error) => SubmitReport {
            received: hide_queries(error.clone()).to_string(),
            result: judge_error(error),
            sent,
        },
    }
}

#[async_trait]
impl OutboundHost for Outbound {
    async fn submit(&self, destination: &Destination, delivery: &Submission) -> SubmitReport {
        let parcel = self.attached.parcel(delivery).await;
        let content = content_of(destination, &parcel);
        match destination {
            Destination::Target(DeliveryTarget { name, kind, id, .. }) => match kind {
                TargetKind::Http { url, auth } | TargetKind::Ntfy { url, auth } => {
                    let profile = DeliveryTarget::secret_profile(name, id.as_ref());
                    self.post(url, *auth, profile, content).await
                }
                TargetKind::Command { argv } => program::run(argv, &parcel).await,
            },
            Destination::Binding(binding) => {
                let profile = binding.secret_profile(&delivery.agent_id);
                let auth = binding.delivery_auth.kind;
                self.post(&binding.delivery_callback_url, auth, profile, content)
                    .await
            }
        }
    }

    async fn keep_secret(&self, profile: &str, secret: &str) -> Result<(), String> {
        let (profile, secret) = (profile.to_owned(), SecretString::from(secret.trim()));
        let keep = move |home: &Path| {
            credentials::set(home, &profile, AuthKind::BearerToken, &secret).map(drop)
        };
        self.with_credentials(keep).await
    }

    async fn forget_secret(&self, profile: &str) -> Result<(), String> {
        let profile = profile.to_owned();
        let forget = move |home: &Path| credentials::remove(home, &profile).map(drop);
        self.with_credentials(forget).await
    }

    async fn forget_secrets(&self, prefix: &str, kept: &[String]) -> Result<(), String> {
        let (prefix, kept) = (prefix.to_owned(), kept.to_vec());
        let is_meant =
            move |id: &str| id.starts_with(&prefix) && !kept.iter().any(|kept| kept == id);
        let forget = move |home: &Path| credentials::remove_where(home, is_meant).map(drop);
        self.with_credentials(forget).await
    }

    async fn has_secret(&self, profile: &str) -> Result<bool, String> {
        let profile = profile.to_owned();
        let look = move |home: &Path| credentials::stored_secret(home, &profile);
        Ok(self.with_credentials(look).await?.is_some())
    }
}

/// Returns the headers that authenticate a delivery. `None` if the secret holds no key to sign with.
fn authentication(
    auth: TargetAuth,
    secret: &str,
    id: &str,
    seconds: i64,
    body: &[u8],
) -> Option<Vec<(String, String)>> {
    Some(match auth {
        TargetAuth::None => Vec::new(),
        TargetAuth::Bearer => vec![("authorization".to_owned(), format!("Bearer {secret}"))],
        TargetAuth::Hmac => vec![
            ("webhook-id".to_owned(), id.to_owned()),
            ("webhook-timestamp".to_owned(), seconds.to_string()),
            (
                "webhook-signature".to_owned(),
                holon_web::sign_delivery(&key_of(secret)?, id, seconds, body),
            ),
        ],
    })
}

/// An attempt that sent nothing and may succeed later.
fn unsent(error: String) -> SubmitReport {
    SubmitReport {
        result: SubmitResult::Retry {
            error,
            retry_after_ms: None,
        },
        sent: String::new(),
        received: String::new(),
    }
}

/// Returns an address without its query, which may hold a token.
fn site_of(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    text::prefix(url, end).to_owned()
}

fn describe_request(url: &str, headers: &[(String, String)], body: &[u8]) -> String {
    let mut lines = vec![format!("POST {url}")];
    lines.extend(
        headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    lines.push(String::new());
    lines.push(String::from_utf8_lossy(body).into_owned());
    lines.join("\n")
}

fn describe_answer(response: &Response) -> String {
    let body = String::from_utf8_lossy(&response.body);
    let body = text::preview(body.trim(), SHOWN_BYTES);
    format!("{} {body}", response.status).trim_end().to_owned()
}

/// Judges an answer. Most failures may pass; some say that this text will never be taken.
fn judge(response: &Response) -> SubmitResult {
    let error = || format!("the endpoint answered {}", describe_answer(response));
    match response.status {
        200..=299 => SubmitResult::Accepted {
            transport_delivery_id: transport_id(&response.body),
        },
        400 | 405 | 406 | 410 | 411 | 413 | 414 | 415 | 422 | 431 | 451 => {
            SubmitResult::Refused { error: error() }
        }
        _ => SubmitResult::Retry {
            error: error(),
            retry_after_ms: retry_after(response, wall_clock()),
        },
    }
}

fn judge_error(error: WebError) -> SubmitResult {
    let error = hide_queries(error);
    let words = error.to_string();
    match error {
        WebError::Address { .. } => SubmitResult::Refused { error: words },
        WebError::Header { .. }
        | WebError::Forbidden { .. }
        | WebError::HostDenied { .. }
        | WebError::BadRedirect { .. }
        | WebError::TooManyRedirects(_)
        | WebError::DropsBody { .. }
        | WebError::TimedOut(_)
        | WebError::Connection(_) => SubmitResult::Retry {
            error: words,
            retry_after_ms: None,
        },
    }
}

/// Removes the queries from the addresses that an error names. A redirect may repeat the one of the delivery.
fn hide_queries(mut error: WebError) -> WebError {
    match &mut error {
        WebError::Address { url, .. } => *url = site_of(url),
        WebError::BadRedirect { location, .. } | WebError::DropsBody { location, .. } => {
            *location = site_of(location);
        }
        WebError::Header { .. }
        | WebError::Forbidden { .. }
        | WebError::HostDenied { .. }
        | WebError::TooManyRedirects(_)
        | WebError::TimedOut(_)
        | WebError::Connection(_) => {}
    }
    error
}

/// Reads the id that a receiver gave the delivery.
fn transport_id(body: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let id = answer.get("transport_delivery_id")?.as_str()?;
    Some(id.to_owned())
}

/// Reads the pause that a receiver asks for: seconds, or the date of its end. A date is compared with the receiver's own
/// clock if the answer has its date, so that clocks that differ do not matter.
fn retry_after(response: &Response, now: Timestamp) -> Option<u64> {
    let header = |name: &str| response.headers.get(name)?.to_str().ok();
    let asked = header("retry-after")?.trim();
    if let Ok(seconds) = asked.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let until = Timestamp::from_http_date(asked)?;
    let sent = header("date").and_then(Timestamp::from_http_date);
    Some(until.millis_since(sent.unwrap_or(now)))
}

#[cfg(test)]
mod tests;
