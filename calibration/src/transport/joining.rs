//! Waiting for a peer's data connections: check of the source address, and timeout error.

use crate::error::{Error, Result};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A wait for the data connections of one peer.
pub struct Joining {
    peer: IpAddr,
    count: usize,
    /// Plural name of a connection in messages, such as "TCP data connections".
    what: &'static str,
    patience: Duration,
    until: Instant,
}

impl Joining {
    /// Starts to wait for `count` connections of `peer`, for at most `patience`.
    pub fn new(peer: IpAddr, count: usize, what: &'static str, patience: Duration) -> Self {
        let until = Instant::now() + patience;
        Self {
            peer,
            count,
            what,
            patience,
            until,
        }
    }

    /// Whether an address is the peer's; an IPv4 address may be mapped into IPv6.
    pub fn is_peer(&self, address: IpAddr) -> bool {
        address.to_canonical() == self.peer.to_canonical()
    }

    /// Time left for the `open` connections that have not come, above zero.
    ///
    /// # Errors
    /// If the time is over.
    pub fn left(&self, open: usize) -> Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Ok(left);
        }
        Err(Error::peer(format!(
            "{open} of {} {} of {} did not come within {} s: look for a firewall between the hosts",
            self.count,
            self.what,
            self.peer,
            self.patience.as_secs_f64()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_missing_connections_when_time_is_over() {
        let peer = "192.0.2.1".parse().unwrap();
        let waiting = Joining::new(peer, 3, "TCP data connections", Duration::from_secs(60));
        assert!(waiting.left(2).unwrap() > Duration::from_secs(50));
        let over = Joining::new(peer, 3, "TCP data connections", Duration::ZERO);
        let error = over.left(2).unwrap_err().to_string();
        assert!(
            error.starts_with("2 of 3 TCP data connections of 192.0.2.1 did not come within 0 s:")
        );
    }

    #[test]
    fn knows_the_peer_by_either_form_of_its_address() {
        let waiting = Joining::new("192.0.2.1".parse().unwrap(), 1, "sockets", Duration::ZERO);
        assert!(waiting.is_peer("192.0.2.1".parse().unwrap()));
        assert!(waiting.is_peer("::ffff:192.0.2.1".parse().unwrap()));
        assert!(!waiting.is_peer("192.0.2.2".parse().unwrap()));
    }
}
