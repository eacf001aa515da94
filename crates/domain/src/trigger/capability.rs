//! Tokens of capability URLs: derived from a key of the host, never stored, and recognised wherever they occur.
//!
//! A token names its trigger and generation and proves both with a MAC, so no row is needed to tell a token of this host
//! from other text. In stored text a placeholder stands for it.

use super::TriggerRecord;
use crate::hmac;
use crate::id::TriggerId;
use std::borrow::Cow;

/// First characters of every token of a capability URL.
pub const TOKEN_PREFIX: &str = "hct_";
/// Prefix of trigger ids, which a token leaves out.
const ID_PREFIX: &str = "trig_";
/// Characters of an id behind its prefix.
const ID_CHARS: usize = 20;
/// Hexadecimal digits of the generation.
const GENERATION_CHARS: usize = 8;
/// Hexadecimal digits of the MAC.
const MAC_CHARS: usize = 64;
/// Shortest part of a MAC that is concealed inside a longer text. Parts that stay visible at two cuts leave more than half
/// of the MAC unknown.
const PART_CHARS: usize = 12;
/// Shortest part of a MAC that is concealed if it is a whole page. A reader could otherwise put the token together from
/// short pages.
const PAGE_CHARS: usize = 4;
/// Length of a token without its prefix.
const REST_CHARS: usize = ID_CHARS + GENERATION_CHARS + MAC_CHARS;

const PLACEHOLDER_BEGIN: &str = "{{external_trigger_token:";
const PLACEHOLDER_END: &str = "}}";

/// Key of a host from which the tokens of its capability URLs are derived. Shown nowhere. The default is no key: then no
/// token proves anything.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CapabilityKey(Vec<u8>);

impl std::fmt::Debug for CapabilityKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CapabilityKey(..)")
    }
}

/// The trigger and generation that a text of the form of a token names. Nothing is proven by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenClaim {
    pub trigger_id: TriggerId,
    pub generation: u64,
}

impl CapabilityKey {
    /// Takes the secret of the host.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(secret.as_bytes().to_vec())
    }

    /// Derives the token of a trigger in one generation.
    #[must_use]
    pub fn token(&self, trigger_id: &TriggerId, generation: u64) -> String {
        let claim = TokenClaim {
            trigger_id: trigger_id.clone(),
            generation,
        };
        let mac = hmac::hex(&self.mac(&claim));
        format!("{TOKEN_PREFIX}{}{generation:08x}{mac}", claim.short_id())
    }

    /// Returns true if there is a key, so that a token proves something.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns true if the token proves its claim. Takes the same time for every token of the right form.
    #[must_use]
    pub fn verify(&self, token: &str, claim: &TokenClaim) -> bool {
        let start = token.len().saturating_sub(MAC_CHARS);
        let offered = token.get(start..).and_then(hmac::from_hex);
        let offered = offered.unwrap_or_default();
        let generation = claim.generation.to_be_bytes();
        let proven = hmac::verify(&self.0, &parts(claim, &generation), &offered);
        proven && self.is_usable()
    }

    fn mac(&self, claim: &TokenClaim) -> [u8; 32] {
        let generation = claim.generation.to_be_bytes();
        hmac::hmac_sha256(&self.0, &parts(claim, &generation))
    }

    /// Replaces every token of this host by its placeholder if `triggers` has its trigger, or else by the trigger's id.
    #[must_use]
    pub fn conceal<'a>(&self, text: &'a str, triggers: &[TriggerRecord]) -> Cow<'a, str> {
        replace(text, TOKEN_PREFIX, |rest| {
            let token = rest.get(..TOKEN_PREFIX.len() + REST_CHARS)?;
            let claim = TokenClaim::read(token)?;
            if !self.verify(token, &claim) {
                return None;
            }
            let known = triggers.iter().find(|known| known.id == claim.trigger_id);
            let placeholder = known
                .filter(|known| known.generation == claim.generation)
                .and_then(TriggerRecord::placeholder);
            let shown = placeholder.unwrap_or_else(|| format!("[{}]", claim.trigger_id));
            Some((token.len(), shown))
        })
    }

    /// Replaces what a cut text shows of the MAC in a token of these triggers. Its id and generation are no secret.
    #[must_use]
    pub fn conceal_parts<'a>(&self, text: &'a str, triggers: &[TriggerRecord]) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for (mac, name) in self.live_macs(triggers) {
            if let Some(concealed) = conceal_mac(&shown, &mac, &name) {
                shown = Cow::Owned(concealed);
            }
        }
        shown
    }

    /// Replaces what a page of a longer text shows of a token of these triggers, even if the page is only a few
    /// characters long.
    #[must_use]
    pub fn conceal_page<'a>(&self, page: &'a str, triggers: &[TriggerRecord]) -> Cow<'a, str> {
        let whole = page.trim();
        let is_part = |mac: &str| whole.len() >= PAGE_CHARS && mac.contains(whole);
        let mut macs = self.live_macs(triggers);
        match macs.find(|(mac, _)| is_part(mac)) {
            Some((_, name)) => Cow::Owned(name),
            None => self.conceal_parts(page, triggers),
        }
    }

    /// Lists the MAC of each token that works, with the text that is shown for a part of it.
    fn live_macs<'a>(
        &'a self,
        triggers: &'a [TriggerRecord],
    ) -> impl Iterator<Item = (String, String)> + 'a {
        let live = triggers.iter().filter(|known| known.is_active());
        let live = live.filter(|_| self.is_usable());
        live.map(|known| {
            let claim = TokenClaim {
                trigger_id: known.id.clone(),
                generation: known.generation,
            };
            (hmac::hex(&self.mac(&claim)), format!("[{}]", known.id))
        })
    }

    /// Replaces the placeholders of these triggers by their tokens. Any other placeholder stays as it is.
    #[must_use]
    pub fn expand<'a>(&self, text: &'a str, triggers: &[TriggerRecord]) -> Cow<'a, str> {
        replace(text, PLACEHOLDER_BEGIN, |rest| {
            let end = rest.find(PLACEHOLDER_END)? + PLACEHOLDER_END.len();
            let written = rest.get(..end)?;
            let known = triggers.iter().find(|known| {
                known.is_active() && known.placeholder().as_deref() == Some(written)
            })?;
            Some((end, self.token(&known.id, known.generation)))
        })
    }
}

/// Returns true if the text may hold a token, true or false.
#[must_use]
pub fn may_hold_token(text: &str) -> bool {
    text.contains(TOKEN_PREFIX)
}

/// Returns true if the text may hold a part of a token.
#[must_use]
pub fn may_hold_part(text: &str) -> bool {
    let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
    let mut runs = text.split(|c| !is_digit(c));
    runs.any(|run| run.len() >= PART_CHARS)
}

/// Replaces every part of a MAC. Returns `None` if the text shows none.
fn conceal_mac(text: &str, mac: &str, shown: &str) -> Option<String> {
    let mut out = String::new();
    let mut kept_from = 0;
    let mut at = 0;
    while let Some(window) = text.as_bytes().get(at..at + PART_CHARS) {
        let Some(found) = std::str::from_utf8(window)
            .ok()
            .and_then(|part| mac.find(part))
        else {
            at += 1;
            continue;
        };
        let rest = text.bytes().skip(at).zip(mac.bytes().skip(found));
        let length = rest.take_while(|(one, other)| one == other).count();
        out.push_str(text.get(kept_from..at).unwrap_or_default());
        out.push_str(shown);
        at += length;
        kept_from = at;
    }
    if kept_from == 0 {
        return None;
    }
    out.push_str(text.get(kept_from..).unwrap_or_default());
    Some(out)
}

/// Returns true if the text may hold a placeholder.
#[must_use]
pub fn may_hold_placeholder(text: &str) -> bool {
    text.contains(PLACEHOLDER_BEGIN)
}

/// Spells the placeholder of a trigger. `nonce` is known to readers of the agent's rows alone, so that text from outside
/// cannot ask for a token.
pub(super) fn spell_placeholder(id: &TriggerId, generation: u64, nonce: &str) -> String {
    format!("{PLACEHOLDER_BEGIN}{id}.{generation}.{nonce}{PLACEHOLDER_END}")
}

impl TokenClaim {
    /// Reads the claim of a token. `None` if the text has not the form of one.
    #[must_use]
    pub fn read(token: &str) -> Option<Self> {
        let rest = token.strip_prefix(TOKEN_PREFIX)?;
        if rest.len() != REST_CHARS || !rest.bytes().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        let id = rest.get(..ID_CHARS)?;
        let generation = rest.get(ID_CHARS..ID_CHARS + GENERATION_CHARS)?;
        Some(Self {
            trigger_id: TriggerId::from_stored(format!("{ID_PREFIX}{id}")),
            generation: u64::from_str_radix(generation, 16).ok()?,
        })
    }

    /// Returns the id without its prefix.
    fn short_id(&self) -> &str {
        let id = self.trigger_id.as_str();
        id.strip_prefix(ID_PREFIX).unwrap_or(id)
    }
}

/// Lists the signed parts of a claim. The first part separates tokens from other uses of the key.
fn parts<'a>(claim: &'a TokenClaim, generation: &'a [u8; 8]) -> [&'a [u8]; 3] {
    let id = claim.trigger_id.as_str().as_bytes();
    [b"holon.external_trigger.v1\0", id, generation]
}

/// Replaces each occurrence of a mark for which `shown` returns the number of replaced bytes and the new text.
fn replace<'a>(
    text: &'a str,
    mark: &str,
    shown: impl Fn(&str) -> Option<(usize, String)>,
) -> Cow<'a, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let (taken, new) = match shown(found) {
            Some((taken, new)) => (taken, new),
            None => (mark.len(), mark.to_owned()),
        };
        out.push_str(&new);
        rest = found.get(taken..).unwrap_or_default();
    }
    if out.is_empty() && rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::{DeliveryMode, TriggerStatus};
    use crate::{AgentId, Timestamp};

    fn trigger(nonce: Option<&str>) -> TriggerRecord {
        TriggerRecord {
            placeholder_key: nonce.map(str::to_owned),
            ..TriggerRecord::new(
                TriggerId::from_stored("trig_0123456789abcdefghjk"),
                AgentId::parse("main").expect("a name"),
                DeliveryMode::WakeHint,
                Timestamp::default(),
            )
        }
    }

    #[test]
    fn a_token_proves_its_trigger_and_generation_to_its_own_host_only() {
        let (key, other) = (CapabilityKey::new("one"), CapabilityKey::new("two"));
        let record = trigger(None);
        let token = key.token(&record.id, 1);
        assert_eq!(token.len(), 96);
        let claim = TokenClaim::read(&token).expect("has the form");
        assert_eq!((&claim.trigger_id, claim.generation), (&record.id, 1));
        assert!(key.verify(&token, &claim) && !other.verify(&token, &claim));
        let forged = TokenClaim {
            generation: 2,
            ..claim
        };
        assert!(!key.verify(&token, &forged));
        assert_ne!(key.token(&record.id, 2), token);
        assert_eq!(format!("{key:?}"), "CapabilityKey(..)");
        let none = CapabilityKey::default();
        let claim = TokenClaim {
            generation: 1,
            ..forged
        };
        assert!(!none.verify(&none.token(&record.id, 1), &claim));
    }

    #[test]
    fn text_of_another_form_is_no_token() {
        let token = CapabilityKey::new("k").token(&trigger(None).id, 1);
        for text in [
            "",
            "hct_",
            "x",
            token.get(1..).expect("ASCII"),
            &format!("{token}0"),
            token.get(..95).expect("ASCII"),
        ] {
            assert_eq!(TokenClaim::read(text), None, "{text}");
        }
        assert_eq!(TokenClaim::read(&token.replace("hct_0", "hct_/")), None);
    }

    #[test]
    fn no_cut_of_a_text_shows_more_than_a_few_digits_of_a_token() {
        let key = CapabilityKey::new("k");
        let record = trigger(None);
        let known = std::slice::from_ref(&record);
        let token = key.token(&record.id, record.generation);
        let mac = token.get(token.len() - MAC_CHARS..).expect("ASCII");
        let text = format!("é curl http://h/callbacks/wake/{token} && echo done é");
        let ends = |text: &str| text.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
        for from in ends(&text) {
            for to in ends(&text).into_iter().filter(|to| *to > from) {
                let cut = text.get(from..to).expect("at characters");
                let shown = key.conceal_parts(cut, known);
                for part in 0..=MAC_CHARS - PART_CHARS {
                    let part = mac.get(part..part + PART_CHARS).expect("ASCII");
                    assert!(!shown.contains(part), "{from}..{to}: {shown}");
                }
                assert!(may_hold_part(cut) || shown == cut, "{cut}");
            }
        }
        // A page that lies inside the token shows nothing of it.
        for from in 0..=MAC_CHARS - PAGE_CHARS {
            let page = mac.get(from..from + PAGE_CHARS).expect("ASCII");
            assert_eq!(key.conceal_page(page, known), format!("[{}]", record.id));
        }
        let other = "a commit 0123456789abcdef0123456789abcdef01234567 and 4096";
        assert_eq!(key.conceal_parts(other, known), other);
    }

    #[test]
    fn a_token_is_concealed_and_its_placeholder_expanded_for_its_owner_only() {
        let key = CapabilityKey::new("k");
        let record = trigger(Some("n1"));
        let token = key.token(&record.id, record.generation);
        let text = format!("curl http://h/callbacks/wake/{token} && echo {token}x hct_no");
        let stored = key
            .conceal(&text, std::slice::from_ref(&record))
            .into_owned();
        assert!(
            !stored.contains(&token) && stored.ends_with("x hct_no"),
            "{stored}"
        );
        assert_eq!(key.expand(&stored, std::slice::from_ref(&record)), text);
        assert_eq!(key.expand(&stored, &[]), stored);
        let revoked = TriggerRecord {
            status: TriggerStatus::Revoked,
            ..record.clone()
        };
        assert_eq!(key.expand(&stored, &[revoked]), stored);
        let guessed = stored.replace(".n1}}", ".n2}}");
        assert_eq!(key.expand(&guessed, std::slice::from_ref(&record)), guessed);
        let foreign = key.conceal(&text, &[]);
        assert!(foreign.contains("[trig_0123456789abcdefghjk]") && !foreign.contains(&token));
        let rotated = TriggerRecord {
            generation: 2,
            ..record
        };
        assert!(!key.conceal(&text, &[rotated]).contains(&token));
    }
}
