//! Signatures of deliveries: HMAC-SHA256 in the form of Standard Webhooks.

use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;

/// Computes the HMAC-SHA256 of a message. A key longer than a block is hashed first.
#[must_use]
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new()
        .chain_update(padded(0x36))
        .chain_update(message)
        .finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner);
    outer.finalize().into()
}

/// Returns the value of the header `webhook-signature` for a delivery: `v1,` and the base64 of the HMAC over id, time in
/// seconds and body, joined by dots.
#[must_use]
pub fn sign_delivery(key: &[u8], id: &str, seconds: i64, body: &[u8]) -> String {
    let mut message = format!("{id}.{seconds}.").into_bytes();
    message.extend_from_slice(body);
    format!("v1,{}", encode_base64(&hmac_sha256(key, &message)))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= chunk.len() {
                let digit = bits >> (18 - 6 * place) & 63;
                text.push(char::from(ALPHABET[digit as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_published_vectors_of_hmac_sha256_hold() {
        let short = hmac_sha256(&[0x0b; 20], b"Hi There");
        assert_eq!(
            hex(&short),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        let long = hmac_sha256(
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
        );
        assert_eq!(
            hex(&long),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_delivery_is_signed_as_the_published_example() {
        let key = holon_domain::hmac::key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signature = sign_delivery(
            &key.expect("a key"),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn base64_is_padded() {
        let spelled = ["", "f", "fo", "foo", "foob"].map(|text| encode_base64(text.as_bytes()));
        assert_eq!(spelled, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
    }
}
