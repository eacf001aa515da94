//! Signatures of webhooks: Standard Webhooks (`webhook-signature`) and GitHub's (`x-hub-signature-256`). Both are an HMAC
//! with SHA-256 over the raw body; the former covers an id and a time too.

use crate::gate::single_header;
use crate::refusal::{Refusal, RequestFault};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_domain::Timestamp;
use holon_domain::delivery::TargetAuth;
use holon_domain::hmac::{self, key_of};
use holon_domain::limits::{CREDENTIAL_BYTES, WEBHOOK_WINDOW_MS};

/// Signatures of one webhook that are compared; a sender that changes its secret sends two.
const SIGNATURES: usize = 16;

pub(crate) const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const HUB_SIGNATURE: HeaderName = HeaderName::from_static("x-hub-signature-256");

/// A signature that the secret proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Signed {
    /// Standard Webhooks: the id and the time are signed too.
    Standard { id: String },
    /// GitHub: only the body is signed, so the signature itself tells repetitions apart.
    GitHub { signature: String },
}

/// A reason for which a webhook is not proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unproven {
    /// There is no signature at all.
    Unsigned,
    Wrong,
    /// The id holds a dot.
    DottedId,
    /// The signature is right, and the time is outside of the window.
    OutsideWindow,
}

/// Checks the signature of a webhook.
pub(crate) fn check(
    headers: &HeaderMap,
    body: &[u8],
    secret: &str,
    now: Timestamp,
) -> Result<Signed, Unproven> {
    if headers.contains_key(&WEBHOOK_SIGNATURE) {
        return check_standard(headers, body, secret, now);
    }
    if !headers.contains_key(&HUB_SIGNATURE) {
        return Err(Unproven::Unsigned);
    }
    // With a plain secret both schemes have one key. A webhook of the other scheme is judged by that one only, or else
    // it would pass here without its time.
    let is_standard = headers.contains_key(&WEBHOOK_ID) || headers.contains_key(&WEBHOOK_TIMESTAMP);
    if is_standard || is_standard_content(body) {
        return Err(Unproven::Wrong);
    }
    let offered = text_of(headers, &HUB_SIGNATURE).ok_or(Unproven::Wrong)?;
    let mac = offered.strip_prefix("sha256=").and_then(hmac::from_hex);
    let mac = mac.ok_or(Unproven::Wrong)?;
    if !hmac::verify(secret.as_bytes(), &[body], &mac) {
        return Err(Unproven::Wrong);
    }
    Ok(Signed::GitHub {
        signature: hmac::hex(&mac),
    })
}

/// Returns true if a body has the form that Standard Webhooks sign: an id, a time in seconds and the body, with dots
/// between. JSON and forms, which GitHub sends, have another. An id is anything that a header can hold: one that is too
/// long for a delivery id was signed all the same.
fn is_standard_content(body: &[u8]) -> bool {
    if body.starts_with(b"{") || body.starts_with(b"[") || body.starts_with(b"payload=") {
        return false;
    }
    let is_of_header = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    let mut has_id = false;
    let mut parts = body.split(|byte| *byte == b'.');
    // The part behind the last dot is no time: a dot follows the time.
    let Some(mut part) = parts.next() else {
        return false;
    };
    for next in parts {
        let is_time = (9..=12).contains(&part.len()) && part.iter().all(u8::is_ascii_digit);
        if has_id && is_time {
            return true;
        }
        if !part.iter().all(is_of_header) {
            return false;
        }
        has_id = true;
        part = next;
    }
    false
}

fn check_standard(
    headers: &HeaderMap,
    body: &[u8],
    secret: &str,
    now: Timestamp,
) -> Result<Signed, Unproven> {
    let header = |name: HeaderName| text_of(headers, &name).ok_or(Unproven::Wrong);
    let (id, time) = (header(WEBHOOK_ID)?, header(WEBHOOK_TIMESTAMP)?);
    // Dots separate the parts of the signed text, so with one in the id the same text would read as two messages.
    if id.contains('.') {
        return Err(Unproven::DottedId);
    }
    let offered = header(WEBHOOK_SIGNATURE)?;
    let key = key_of(secret).ok_or(Unproven::Wrong)?;
    let signed: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let is_proven = |one: &str| {
        let mac = one.strip_prefix("v1,").map(|mac| STANDARD.decode(mac));
        matches!(mac, Some(Ok(mac)) if hmac::verify(&key, &signed, &mac))
    };
    // Every signature is compared, so the duration does not tell which one is right.
    let proven = offered
        .split(' ')
        .take(SIGNATURES)
        .fold(false, |proven, one| is_proven(one) | proven);
    if !proven {
        return Err(Unproven::Wrong);
    }
    let seconds: i64 = time.parse().map_err(|_| Unproven::Wrong)?;
    let apart = seconds.saturating_mul(1_000).abs_diff(now.as_millis());
    if apart > WEBHOOK_WINDOW_MS {
        return Err(Unproven::OutsideWindow);
    }
    Ok(Signed::Standard { id: id.to_owned() })
}

/// Refuses a secret that cannot be kept with the credentials and sent or signed with. White space around it is not part
/// of it.
pub(crate) fn check_sent_secret(
    secret: &str,
    auth: TargetAuth,
    fault: RequestFault,
) -> Result<(), Refusal> {
    let has_room = secret.len() <= CREDENTIAL_BYTES;
    let secret = secret.trim();
    if !has_room || secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message =
            format!("a secret has 1 to {CREDENTIAL_BYTES} visible ASCII characters and no space");
        return Err(fault
            .refuse(message)
            .hint("give only the key or token, without quotes or line breaks"));
    }
    match auth {
        TargetAuth::Hmac => check_secret(secret, fault),
        TargetAuth::Bearer | TargetAuth::None => Ok(()),
    }
}

/// Refuses a secret that has no key, with a right one as the hint.
pub(crate) fn check_secret(secret: &str, fault: RequestFault) -> Result<(), Refusal> {
    if key_of(secret).is_some() {
        return Ok(());
    }
    let message = "a secret that begins with whsec_ goes on with base64 of a key";
    Err(fault.refuse(message).hint(
        "a right one looks like whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD; make one with: \
         echo whsec_$(openssl rand -base64 24)",
    ))
}

fn text_of<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    single_header(headers, name).and_then(|value: &HeaderValue| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            let value = HeaderValue::from_str(value).expect("a value");
            (HeaderName::from_static(name), value)
        };
        pairs.iter().map(pair).collect()
    }

    /// The example of GitHub's page about the validation of deliveries.
    #[test]
    fn the_example_of_github_verifies() {
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let secret = "It's a Secret to Everybody";
        let now = Timestamp::from_millis(0);
        let sent = headers(&[("x-hub-signature-256", signature)]);
        let signed = check(&sent, b"Hello, World!", secret, now);
        let signature = signature.trim_start_matches("sha256=").to_owned();
        assert_eq!(signed, Ok(Signed::GitHub { signature }));
        assert_eq!(
            check(&sent, b"Hello, World", secret, now),
            Err(Unproven::Wrong)
        );
        assert_eq!(
            check(&sent, b"Hello, World!", "it's", now),
            Err(Unproven::Wrong)
        );
    }

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const AT_SECONDS: i64 = 1_614_265_330;

    fn standard(signature: &str) -> HeaderMap {
        headers(&[
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", signature),
        ])
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    /// The example that the libraries of Standard Webhooks are tested with.
    #[test]
    fn the_example_of_standard_webhooks_verifies() {
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned();
        let signed = check(&standard(SIGNED), BODY, SECRET, at(AT_SECONDS));
        assert_eq!(signed, Ok(Signed::Standard { id: id.clone() }));
        let several = format!("v1,bm9uc2Vuc2U= v2,x {SIGNED}");
        let signed = check(&standard(&several), BODY, SECRET, at(AT_SECONDS));
        assert_eq!(signed, Ok(Signed::Standard { id }));
    }

    #[test]
    fn a_changed_part_or_an_unreadable_signature_proves_nothing() {
        let now = at(AT_SECONDS);
        for wrong in [
            "",
            "v1",
            "v1,",
            "v2,g0hM",
            "v1,****",
            SIGNED.get(..40).unwrap(),
            "g0hM9SsE",
        ] {
            let checked = check(&standard(wrong), BODY, SECRET, now);
            assert_eq!(checked, Err(Unproven::Wrong), "{wrong}");
        }
        assert_eq!(
            check(&standard(SIGNED), b"{}", SECRET, now),
            Err(Unproven::Wrong)
        );
        for secret in ["whsec_AAAA", "whsec_*", "other"] {
            assert_eq!(
                check(&standard(SIGNED), BODY, secret, now),
                Err(Unproven::Wrong)
            );
        }
        let mut renamed = standard(SIGNED);
        renamed.insert("webhook-id", HeaderValue::from_static("msg_other"));
        assert_eq!(check(&renamed, BODY, SECRET, now), Err(Unproven::Wrong));
        let mut later = standard(SIGNED);
        later.insert("webhook-timestamp", HeaderValue::from_static("1614265331"));
        assert_eq!(check(&later, BODY, SECRET, now), Err(Unproven::Wrong));
        let mut twice = standard(SIGNED);
        twice.append("webhook-id", HeaderValue::from_static("msg_x"));
        assert_eq!(check(&twice, BODY, SECRET, now), Err(Unproven::Wrong));
        assert_eq!(
            check(&headers(&[]), BODY, SECRET, now),
            Err(Unproven::Unsigned)
        );
    }

    /// A captured Standard Webhook proves nothing under the other scheme, in which its time would not count.
    #[test]
    fn a_standard_webhook_never_passes_as_one_of_github() {
        let (secret, now) = ("plain", at(AT_SECONDS));
        let long = "m".repeat(300);
        // Ids that are refused at their own delivery were signed all the same.
        for id in ["msg_1", "an id", "a.b.c", "n\u{fc}", &long] {
            let signed = format!("{id}.1514265330.{{}}");
            let mac = hmac::hmac_sha256(secret.as_bytes(), &[signed.as_bytes()]);
            let replayed = headers(&[(
                "x-hub-signature-256",
                &format!("sha256={}", hmac::hex(&mac)),
            )]);
            let checked = check(&replayed, signed.as_bytes(), secret, now);
            assert_eq!(checked, Err(Unproven::Wrong), "{id}");
        }
        let body = br#"{"a.1514265330.b":1}"#;
        let mac = hmac::hmac_sha256(secret.as_bytes(), &[body]);
        let mut genuine = headers(&[(
            "x-hub-signature-256",
            &format!("sha256={}", hmac::hex(&mac)),
        )]);
        let signature = hmac::hex(&mac);
        let expected = Ok(Signed::GitHub { signature });
        assert_eq!(check(&genuine, body, secret, now), expected);
        for name in ["webhook-id", "webhook-timestamp"] {
            let mut mixed = genuine.clone();
            mixed.insert(name, HeaderValue::from_static("1"));
            let checked = check(&mixed, body, secret, now);
            assert_eq!(checked, Err(Unproven::Wrong), "{name}");
        }
        genuine.remove("x-hub-signature-256");
        genuine.insert("webhook-id", HeaderValue::from_static("1"));
        let unsigned = Err(Unproven::Unsigned);
        assert_eq!(check(&genuine, body, secret, now), unsigned);
    }

    #[test]
    fn a_right_signature_counts_within_five_minutes_of_its_time() {
        let signed = standard(SIGNED);
        let checked = |seconds| check(&signed, BODY, SECRET, at(seconds)).err();
        assert_eq!(checked(AT_SECONDS - 300), None);
        assert_eq!(checked(AT_SECONDS + 300), None);
        let outside = Some(Unproven::OutsideWindow);
        assert_eq!(checked(AT_SECONDS - 301), outside);
        assert_eq!(checked(AT_SECONDS + 301), outside);
        assert_eq!(checked(0), outside);
    }
}
