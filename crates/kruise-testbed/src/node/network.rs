//! Addresses and interface names of one cluster, all derived from its instance number.

use std::net::Ipv4Addr;

use crate::TestbedError;

/// Second bytes of `10.x.0.0/16` to try, before the instance number is added. Several, because a machine may route
/// some of them elsewhere already; instances are fewer than the distance.
const BASES: [u8; 3] = [200, 160, 120];

/// The block `10.x.0.0/16` of one cluster:
/// `10.x.0.0/24` machines, `10.x.64.0/18` Services, `10.x.128.0/17` pods.
#[derive(Debug, PartialEq, Eq)]
pub struct Network {
    instance: u16,
    block: u8,
}

/// A route of this machine: where it leads is not of interest.
#[derive(Debug, PartialEq, Eq)]
struct Route {
    destination: u32,
    mask: u32,
}

impl Network {
    /// The first block for this instance that the machine does not route already.
    pub fn choose(instance: u16) -> Result<Self, TestbedError> {
        let table = std::fs::read_to_string("/proc/net/route")
            .map_err(TestbedError::io("reading /proc/net/route"))?;
        let routes: Vec<Route> = table.lines().skip(1).filter_map(Route::read).collect();
        BASES
            .iter()
            .filter_map(|base| u8::try_from(u16::from(*base) + instance).ok())
            .map(|block| Self { instance, block })
            .find(|network| !routes.iter().any(|route| route.overlaps(network)))
            .ok_or_else(|| {
                let blocks = BASES.map(|base| format!("10.{}.0.0/16", u16::from(base) + instance)).join(", ");
                TestbedError::Unfit(format!(
                    "real nodes need one of the networks {blocks}, but this machine routes them all: remove one of those routes"
                ))
            })
    }

    /// Where the machine itself, and so the API server and the registry, is reached from nodes and pods.
    pub fn host(&self) -> Ipv4Addr {
        self.address(0, 1)
    }

    /// The address of a node; nodes count from 1.
    pub fn node(&self, index: u8) -> Ipv4Addr {
        self.address(0, 10 + index)
    }

    pub fn pods_of(&self, index: u8) -> String {
        format!("{}/24", self.address(128 + index, 0))
    }

    pub fn pods(&self) -> String {
        format!("{}/17", self.address(128, 0))
    }

    pub fn services(&self) -> String {
        format!("{}/18", self.address(64, 0))
    }

    /// The first Service: the API server.
    pub fn api_service(&self) -> Ipv4Addr {
        self.address(64, 1)
    }

    /// Where pods look for a name server; tests that want one start it there.
    pub fn dns_service(&self) -> Ipv4Addr {
        self.address(64, 10)
    }

    /// Interface names are limited to 15 characters.
    pub fn bridge(&self) -> String {
        format!("kn{}", self.instance)
    }

    /// The machine's end of a node's leg.
    pub fn leg(&self, index: u8) -> String {
        format!("kn{}n{index}", self.instance)
    }

    /// Unique on this machine: names the node's cgroup and its pod network.
    pub fn unique(&self, index: u8) -> String {
        format!("kruise-testbed-{}-{index}", self.instance)
    }

    fn address(&self, third: u8, fourth: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, self.block, third, fourth)
    }
}

impl Route {
    /// One line of `/proc/net/route`. The default route is none: it covers everything and means nothing.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let destination = hex(fields.nth(1)?)?;
        let mask = hex(fields.nth(5)?)?;
        (mask != 0).then_some(Self { destination, mask })
    }

    fn overlaps(&self, network: &Network) -> bool {
        let mask = self.mask & u32::from(Ipv4Addr::new(255, 255, 0, 0));
        self.destination & mask == u32::from(network.address(0, 0)) & mask
    }
}

/// The kernel prints addresses in the order of its own memory.
fn hex(field: &str) -> Option<u32> {
    u32::from_str_radix(field, 16).ok().map(|value| u32::from_be_bytes(value.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Network = Network { instance: 5, block: 205 };

    fn route(destination: [u8; 4], mask: [u8; 4]) -> Route {
        Route { destination: u32::from_be_bytes(destination), mask: u32::from_be_bytes(mask) }
    }

    #[test]
    fn overlap_is_seen_from_both_sides() {
        assert!(route([10, 205, 7, 0], [255, 255, 255, 0]).overlaps(&NETWORK));
        assert!(route([10, 0, 0, 0], [255, 0, 0, 0]).overlaps(&NETWORK));
        assert!(!route([10, 204, 0, 0], [255, 255, 0, 0]).overlaps(&NETWORK));
    }

    #[test]
    fn default_route_is_ignored() {
        assert_eq!(Route::read("eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0"), None);
        assert!(Route::read("eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0").is_some());
    }

    #[test]
    fn names_fit_into_an_interface_name() {
        let last = Network { instance: 31, block: 231 };

        assert!(last.leg(3).len() <= 15);
        assert_eq!(last.pods_of(3), "10.231.131.0/24");
    }
}
