//! Proxies whose word about the client's address is taken.
//!
//! Each proxy adds the address that it was connected from at the right end of `X-Forwarded-For`. So from the right, the
//! first address that is not a trusted proxy is the client's; everything left of it the client may have made up.
//! `X-Forwarded-Proto` and `X-Forwarded-Host` are never read: addresses in answers come from the configuration.

use std::net::IpAddr;

use axum::http::HeaderMap;

use crate::failure::Failure;

/// The networks of proxies that are believed. Without any, nobody is.
#[derive(Default)]
pub struct TrustedProxies {
    networks: Vec<Network>,
}

/// Addresses that begin with the same bits.
struct Network {
    base: IpAddr,
    prefix_bits: u32,
}

impl TrustedProxies {
    /// Networks such as `10.0.0.0/8`; an address alone is a network of one.
    pub fn new(networks: &[String]) -> Result<Self, Failure> {
        let read = |text: &String| {
            let wrong = || Failure::Usage(format!("--trusted-proxies {text}: must look like 10.0.0.0/8"));
            Network::read(text.trim()).ok_or_else(wrong)
        };
        Ok(TrustedProxies { networks: networks.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Returns the address of the client behind a connection.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        // A listener on both families sees clients of IPv4 as mapped addresses, which no network of IPv4 contains.
        let mut client = peer.to_canonical();
        if !self.trusts(client) {
            return client;
        }
        let values: Vec<&str> =
            headers.get_all("x-forwarded-for").iter().map(|value| value.to_str().unwrap_or_default()).collect();
        // From the right: each proxy appends what it saw, and what comes before the first stranger is that
        // stranger's word.
        for hop in values.iter().rev().flat_map(|value| value.rsplit(',')) {
            // What cannot be read ends what can be believed.
            let Some(address) = read_hop(hop.trim()) else { break };
            client = address.to_canonical();
            if !self.trusts(client) {
                break;
            }
        }
        client
    }

    /// Returns whether an address is that of a proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }
}

impl Network {
    fn read(text: &str) -> Option<Self> {
        let (base, bits) = text.split_once('/').map_or((text, None), |(base, bits)| (base, Some(bits)));
        let base: IpAddr = base.parse().ok()?;
        let longest = if base.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.map_or(Some(longest), |bits| bits.parse().ok())?;
        // A prefix that is too long would match nobody and look as if it worked.
        (prefix_bits <= longest).then_some(Network { base, prefix_bits })
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                (base.to_bits() ^ address.to_bits()).leading_zeros() >= self.prefix_bits
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                (base.to_bits() ^ address.to_bits()).leading_zeros() >= self.prefix_bits
            }
            // An address is in no network of the other family, also not in one of no bits.
            _ => false,
        }
    }
}

/// Returns an address with or without port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn read_hop(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Ok(socket) = text.parse::<std::net::SocketAddr>() {
        return Some(socket.ip());
    }
    text.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(trusted: &str, peer: &str, forwarded: &[&str]) -> String {
        let trusted: Vec<String> = trusted.split(',').filter(|text| !text.is_empty()).map(str::to_owned).collect();
        let headers = forwarded.iter().map(|value| {
            (axum::http::HeaderName::from_static("x-forwarded-for"), axum::http::HeaderValue::from_str(value).unwrap())
        });
        let mut map = HeaderMap::new();
        headers.for_each(|(name, value)| {
            map.append(name, value);
        });
        TrustedProxies::new(&trusted).unwrap().client(peer.parse().unwrap(), &map).to_string()
    }

    #[test]
    fn no_proxy_is_trusted_unless_configured() {
        assert_eq!(client("", "203.0.113.5", &["198.51.100.1"]), "203.0.113.5");
        assert_eq!(client("10.0.0.0/8", "203.0.113.5", &["198.51.100.1"]), "203.0.113.5");
        assert_eq!(client("10.0.0.0/8", "10.1.2.3", &[]), "10.1.2.3");
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_is_the_client() {
        let trusted = "10.0.0.0/8,2001:db8::/32";
        for (forwarded, expected) in [
            (&["198.51.100.1"][..], "198.51.100.1"),
            (&["1.1.1.1, 198.51.100.1"], "198.51.100.1"),
            (&["1.1.1.1,198.51.100.1, 10.9.9.9"], "198.51.100.1"),
            (&["1.1.1.1", "198.51.100.1", "10.9.9.9"], "198.51.100.1"),
            (&["198.51.100.1:4711"], "198.51.100.1"),
            (&["[2001:db9::1]:4711"], "2001:db9::1"),
            (&["[2001:db9::1]"], "2001:db9::1"),
            (&["2001:db9::1, 2001:db8::7"], "2001:db9::1"),
            (&["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            (&["198.51.100.1, unknown"], "10.1.2.3"),
            (&["198.51.100.1, , 10.0.0.2"], "10.0.0.2"),
            (&["::ffff:198.51.100.1"], "198.51.100.1"),
        ] {
            assert_eq!(client(trusted, "10.1.2.3", forwarded), expected, "{forwarded:?}");
        }
        assert_eq!(client(trusted, "::ffff:10.1.2.3", &["198.51.100.1"]), "198.51.100.1");
    }

    #[test]
    fn networks_are_read_strictly() {
        assert_eq!(client("10.0.0.7", "10.0.0.8", &["1.1.1.1"]), "10.0.0.8");
        assert_eq!(client("0.0.0.0/0", "203.0.113.5", &["1.1.1.1"]), "1.1.1.1");
        for wrong in ["10.0.0.0/33", "::/129", "10.0.0", "example", "10.0.0.0/", "10.0.0.0/-1"] {
            assert!(TrustedProxies::new(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}
