//! The cables: a bridge per cluster, a network namespace with one leg on it per node, and the routes between them.

use std::path::Path;

use super::command::run;
use super::network::Network;
use crate::TestbedError;

/// The name of a node's own interface, inside its namespace.
const LEG_INSIDE: &str = "eth0";

/// Makes the bridge and gives the machine its address on it.
pub(super) fn lay_bridge(network: &Network) -> Result<(), TestbedError> {
    let bridge = network.bridge();
    run("ip", &["link", "add", &bridge, "type", "bridge"])?;
    run("ip", &["address", "add", &format!("{}/24", network.host()), "dev", &bridge])?;
    run("ip", &["link", "set", &bridge, "up"])
}

/// Makes the namespace of a node at `file`, which exists, and connects it; routes from the machine to its pods and Services included.
pub(super) fn connect(network: &Network, index: u8, file: &Path) -> Result<(), TestbedError> {
    let namespace = file.display().to_string();
    run("unshare", &[&format!("--net={namespace}"), "true"])?;
    let (leg, bridge, address) = (network.leg(index), network.bridge(), network.node(index));
    run("ip", &["link", "add", &leg, "type", "veth", "peer", "name", LEG_INSIDE, "netns", &namespace])?;
    run("ip", &["link", "set", &leg, "master", &bridge, "up"])?;
    let inside = |words: &[&str]| {
        let net = format!("--net={namespace}");
        run("nsenter", &[&[net.as_str()], words].concat())
    };
    inside(&["ip", "link", "set", "lo", "up"])?;
    inside(&["ip", "address", "add", &format!("{address}/24"), "dev", LEG_INSIDE])?;
    inside(&["ip", "link", "set", LEG_INSIDE, "up"])?;
    // There is no default route: nothing leaves the machine. Service addresses need one only so that a program of
    // the node itself may send to them; the rules of kube-proxy replace the address before a packet leaves.
    inside(&["ip", "route", "add", &network.services(), "dev", LEG_INSIDE])?;
    inside(&["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])?;
    run("ip", &["route", "add", &network.pods_of(index), "via", &address.to_string()])?;
    if index == 1 {
        // The machine's way to Services, for the API server that calls webhooks: any node would do.
        run("ip", &["route", "add", &network.services(), "via", &address.to_string()])?;
    }
    Ok(())
}

/// Tells a node the way to the pods of another.
pub(super) fn introduce(network: &Network, to: &Path, other: u8) -> Result<(), TestbedError> {
    let net = format!("--net={}", to.display());
    let via = network.node(other).to_string();
    run("nsenter", &[&net, "ip", "route", "add", &network.pods_of(other), "via", &via])
}
