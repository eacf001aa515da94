//! Signatures of webhooks: Standard Webhooks (`webhook-signature`) and GitHub's (`x-hub-signature-256`). Both are an HMAC
//! with SHA-256 over the raw body; the former covers an id and a time too.

use crate::gate::single_header;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_domain::Timestamp;
use holon_domain::hmac;
use holon_domain::limits::WEBHOOK_WINDOW_MS;

/// Signatures of one webhook that are compared; a sender that changes its secret sends two.
const SIGNATURES: usize = 16;
/// Prefix of a secret that is written in base64.
const ENCODED_SECRET: &str = "whsec_";

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

fn check_standard(
    headers: &HeaderMap,
    body: &[u8],
    secret: &str,
    now: Timestamp,
) -> Result<Signed, Unproven> {
    let header = |name: HeaderName| text_of(headers, &name).ok_or(Unproven::Wrong);
    let (id, time) = (header(WEBHOOK_ID)?, header(WEBHOOK_TIMESTAMP)?);
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

/// Returns the key of a secret: the encoded bytes behind its prefix, or the secret itself. `None` if there is no key: with
/// an empty one anybody could sign.
pub(crate) fn key_of(secret: &str) -> Option<Vec<u8>> {
    let key = match secret.strip_prefix(ENCODED_SECRET) {
        Some(encoded) => STANDARD.decode(encoded).ok()?,
        None => secret.as_bytes().to_vec(),
    };
    (!key.is_empty()).then_some(key)
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

    #[test]
    fn a_secret_without_a_key_proves_nothing() {
        for (secret, has_key) in [
            ("", false),
            ("whsec_", false),
            ("whsec_!!!", false),
            ("whsec_AAAA", true),
            ("plain", true),
        ] {
            assert_eq!(key_of(secret).is_some(), has_key, "{secret:?}");
        }
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
