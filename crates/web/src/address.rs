//! Tells public addresses from those inside of a network or a machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true if an address belongs to the public internet. Loopback, private, link-local, shared, reserved,
/// documentation, multicast and unspecified addresses do not, in every form in which IPv6 can carry an IPv4 address.
#[must_use]
pub const fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

const fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (100, 64..=127, _) // shared by carriers
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99) // 6to4 relays
            | (198, 18..=19, _) // benchmarks
            | (198, 51, 100)
            | (203, 0, 113)
            | (224.., _, _) // multicast, reserved, broadcast
    )
}

const fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let [high, low] = [g.to_be_bytes(), h.to_be_bytes()];
    let inner = Ipv4Addr::new(high[0], high[1], low[0], low[1]);
    match (a, b, c, d, e, f) {
        // Mapped and compatible addresses, and those of translators, lead to the IPv4 address inside. Among them are
        // the unspecified and the loopback address.
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) | (0, 0, 0, 0, 0xffff, 0) => {
            is_public_v4(inner)
        }
        (0x64, 0xff9b, 1, _, _, _) => false,
        (0x2002, _, _, _, _, _) => {
            let [high, low] = [b.to_be_bytes(), c.to_be_bytes()];
            is_public_v4(Ipv4Addr::new(high[0], high[1], low[0], low[1]))
        }
        // Teredo, documentation and other special parts of the global range.
        (0x2001, 0..=0x01ff, _, _, _, _) | (0x2001, 0x0db8, _, _, _, _) => false,
        (0x3fff, 0..=0x0fff, _, _, _, _) => false,
        (0x2000..=0x3fff, _, _, _, _, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_inside_of_a_machine_or_a_network_are_not_public() {
        for text in [
            "127.0.0.1",
            "127.255.255.254",
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "100.127.255.255",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "203.0.113.9",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "fec0::1",
            "100::1",
            "3fff::1",
            "::ffff:0:127.0.0.1",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert!(!is_public(address), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "172.32.0.1",
            "100.128.0.1",
            "11.0.0.1",
            "192.169.0.1",
            "2606:4700::1111",
            "2a00:1450:4001::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert!(is_public(address), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_as_public_as_the_one_it_carries(bits: u32) {
            let inner = Ipv4Addr::from(bits);
            prop_assert_eq!(is_public(inner.to_ipv6_mapped().into()), is_public(inner.into()));
            prop_assert_eq!(is_public(inner.to_ipv6_compatible().into()), is_public(inner.into()));
        }
    }
}
