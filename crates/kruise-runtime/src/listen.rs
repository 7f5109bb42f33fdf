//! Where servers of ours listen: on both families wherever an address leaves the family open.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// This port of all addresses, of IPv4 and of IPv6.
    All(u16),
    One(SocketAddr),
}

impl Address {
    /// Go writes `:8080` for all addresses, and an IPv6 address in brackets.
    pub fn read(text: &str) -> Result<Self, String> {
        let port = text.strip_prefix(':').map(str::parse);
        match (port, text.parse()) {
            (Some(Ok(port)), _) => Ok(Self::All(port)),
            (None, Ok(address)) => Ok(Self::One(address)),
            (Some(Err(_)), _) | (None, Err(_)) => {
                Err(format!("{text} is not an address: write :PORT, ADDRESS:PORT or [IPV6-ADDRESS]:PORT"))
            }
        }
    }

    /// Both families through one socket; IPv4 alone where the machine has no IPv6.
    pub async fn listen(self) -> io::Result<TcpListener> {
        match self {
            Self::One(address) => TcpListener::bind(address).await,
            Self::All(port) => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[test]
    fn addresses_as_go_writes_them() {
        assert_eq!(Address::read(":8080"), Ok(Address::All(8080)));
        for one in ["127.0.0.1:9", "0.0.0.0:9", "[::1]:9", "[::]:9"] {
            assert_eq!(Address::read(one), Ok(Address::One(one.parse().unwrap())), "{one}");
        }
        for bad in ["8080", ":", ":x", "::1:9", ":70000"] {
            assert!(Address::read(bad).unwrap_err().contains("[IPV6-ADDRESS]:PORT"), "{bad}");
        }
    }

    /// PL-B8: one socket for both families, where the machine has both.
    #[tokio::test]
    async fn pl_b8_both_families_reach_a_server_on_all_addresses() {
        let listener = Address::All(0).listen().await.unwrap();
        let address = listener.local_addr().unwrap();
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, address.port())).await.is_ok());
        let has_six = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await.is_ok();
        assert_eq!(address.is_ipv6(), has_six);
        assert_eq!(TcpStream::connect((Ipv6Addr::LOCALHOST, address.port())).await.is_ok(), has_six);
    }
}
