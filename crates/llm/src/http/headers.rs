//! Builds the headers of a request, with the credential where one is needed.
//!
//! Secret values are marked as sensitive, so the HTTP client's logs do not show them. The requests do not imitate
//! another program.

use crate::credential::Credential;
use holon_domain::provider::{AuthKind, PromptCapability, ProviderSpec, Transport};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;

const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Beta name of Anthropic's clearing of old tool results.
const CONTEXT_MANAGEMENT: &str = "context-management-2025-06-27";

/// The credential contains characters that a header cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InvalidCredential;

/// Builds the headers of a request to a provider.
pub(super) fn build(
    provider: &ProviderSpec,
    credential: Option<&Credential>,
) -> Result<HeaderMap, InvalidCredential> {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &'static str| {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    };
    put(CONTENT_TYPE.as_str(), "application/json");
    match provider.transport {
        Transport::OpenaiResponses | Transport::OpenaiChatCompletions => {
            put(ACCEPT.as_str(), "application/json");
        }
        Transport::AnthropicMessages => {
            put(ACCEPT.as_str(), "application/json");
            put("anthropic-version", ANTHROPIC_VERSION);
            if provider.can(PromptCapability::ContextManagement) {
                put("anthropic-beta", CONTEXT_MANAGEMENT);
            }
        }
        Transport::OpenaiCodexResponses => {
            put(ACCEPT.as_str(), holon_sse::MEDIA_TYPE);
            put("originator", "holon");
            put("openai-beta", "responses=experimental");
        }
    }
    if let Some(credential) = credential {
        add_credential(&mut headers, provider.transport, credential)?;
    }
    Ok(headers)
}

/// Asks for an event stream, and accepts a whole document from a server that does not stream.
pub(super) fn accept_events(headers: &mut HeaderMap) {
    const EITHER: &str = "text/event-stream, application/json";
    if headers
        .get(ACCEPT)
        .is_none_or(|kind| kind != holon_sse::MEDIA_TYPE)
    {
        headers.insert(ACCEPT, HeaderValue::from_static(EITHER));
    }
}

fn add_credential(
    headers: &mut HeaderMap,
    transport: Transport,
    credential: &Credential,
) -> Result<(), InvalidCredential> {
    let secret = credential.secret.expose_secret().trim();
    let bearer = || (AUTHORIZATION, format!("Bearer {secret}"));
    let (name, value) = match (credential.kind, transport) {
        (AuthKind::None, _) => return Ok(()),
        (AuthKind::ApiKey, Transport::AnthropicMessages) => {
            (HeaderName::from_static("x-api-key"), secret.to_owned())
        }
        (
            AuthKind::ApiKey | AuthKind::BearerToken | AuthKind::Oauth | AuthKind::SessionToken,
            _,
        ) => bearer(),
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| InvalidCredential)?;
    value.set_sensitive(true);
    headers.insert(name, value);
    if let (Transport::OpenaiCodexResponses, Some(account)) = (transport, &credential.account_id) {
        let account = HeaderValue::from_str(account).map_err(|_| InvalidCredential)?;
        headers.insert(HeaderName::from_static("chatgpt-account-id"), account);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::provider::ContextManagement;

    fn provider(transport: Transport) -> ProviderSpec {
        ProviderSpec {
            id: "p".to_owned(),
            transport,
            base_url: "http://127.0.0.1:1".to_owned(),
            store_responses: false,
            context_management: None,
            reasoning_effort: None,
            omit: std::collections::BTreeSet::new(),
        }
    }

    fn credential(kind: AuthKind) -> Credential {
        Credential {
            kind,
            secret: "canary\n".into(),
            account_id: Some("acct".to_owned()),
        }
    }

    fn sent(transport: Transport, kind: AuthKind) -> HeaderMap {
        build(&provider(transport), Some(&credential(kind))).unwrap()
    }

    #[test]
    fn a_key_goes_where_its_protocol_keeps_keys_and_everything_else_is_a_bearer() {
        for &transport in Transport::ALL {
            for &kind in AuthKind::ALL {
                let headers = sent(transport, kind);
                let key = headers
                    .get("x-api-key")
                    .map(|value| value.to_str().unwrap());
                let bearer = headers
                    .get(AUTHORIZATION)
                    .map(|value| value.to_str().unwrap());
                let expected = match (kind, transport) {
                    (AuthKind::None, _) => (None, None),
                    (AuthKind::ApiKey, Transport::AnthropicMessages) => (Some("canary"), None),
                    _ => (None, Some("Bearer canary")),
                };
                assert_eq!((key, bearer), expected, "{kind} over {transport}");
            }
        }
    }

    #[test]
    fn no_debug_output_shows_a_secret() {
        for &transport in Transport::ALL {
            let headers = sent(transport, AuthKind::ApiKey);
            assert!(!format!("{headers:?}").contains("canary"), "{transport}");
        }
        assert!(!format!("{:?}", credential(AuthKind::Oauth)).contains("canary"));
    }

    #[test]
    fn each_protocol_sends_its_required_headers() {
        let codex = sent(Transport::OpenaiCodexResponses, AuthKind::Oauth);
        assert_eq!(codex["chatgpt-account-id"], "acct");
        assert_eq!(codex["originator"], "holon");
        assert_eq!(codex[ACCEPT], "text/event-stream");
        let mut anthropic = provider(Transport::AnthropicMessages);
        let plain = build(&anthropic, None).unwrap();
        assert_eq!(plain["anthropic-version"], ANTHROPIC_VERSION);
        assert!(!plain.contains_key("anthropic-beta"));
        anthropic.context_management = Some(ContextManagement {
            trigger_input_tokens: 1,
            keep_recent_tool_uses: 1,
            clear_at_least_input_tokens: None,
        });
        assert_eq!(
            build(&anthropic, None).unwrap()["anthropic-beta"],
            CONTEXT_MANAGEMENT
        );
        let chat = sent(Transport::OpenaiChatCompletions, AuthKind::ApiKey);
        assert!(!chat.contains_key("chatgpt-account-id"));
    }

    #[test]
    fn a_secret_with_a_line_break_inside_is_not_sent() {
        let mut broken = credential(AuthKind::ApiKey);
        broken.secret = "two\nlines".into();
        let sent = build(&provider(Transport::OpenaiResponses), Some(&broken));
        assert_eq!(sent.unwrap_err(), InvalidCredential);
    }
}
