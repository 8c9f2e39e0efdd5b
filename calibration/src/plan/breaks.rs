//! The payload sizes at which a model of an interconnect breaks, so that a campaign measures on both sides.

use std::collections::BTreeSet;

/// Ethernet's least payload of a frame, in bytes (IEEE Std 802.3); shorter ones are padded.
const ETHERNET_LEAST_BYTES: u64 = 46;
/// IPv4 header without options, in bytes (RFC 791).
const IP_BYTES: u64 = 20;
/// UDP header, in bytes (RFC 768).
const UDP_BYTES: u64 = 8;
/// TCP header with the time-stamp option, in bytes (RFC 9293, RFC 7323).
const TCP_BYTES: u64 = 32;
/// ZMTP's frame header: flags and an eight-byte length above 255 B, a one-byte length below (ZMTP 3.1, RFC 37 of ZeroMQ).
const ZMTP_LONG_BYTES: u64 = 9;
const ZMTP_SHORT_LARGEST_BYTES: u64 = 255;
/// libzmq's default size of its batch buffers, in bytes.
const ZEROMQ_BATCH_BYTES: u64 = 8192;

/// The payload sizes of a protocol over a given MTU, in bytes, smallest first.
///
/// Powers of two and the largest payload; for TCP the multiples of the segment size (MTU − 52 with
/// time stamps), for UDP the sizes that fill their fragments (RFC 791: fragments in units of 8 B),
/// for ZeroMQ those of TCP less its own header, for Ethernet the padding limit and the MTU; each
/// break with the size below and the size above. Multiples are 1 and 1 + 2^k, and the last that fits.
pub fn payloads(protocol: &str, mtu_bytes: u64) -> Vec<u64> {
    let largest = match protocol {
        "udp" => u64::from(crate::settings::UDP_PAYLOAD_MAX),
        "ethernet" => mtu_bytes,
        _ => 65_535,
    };
    let segment = mtu_bytes.saturating_sub(IP_BYTES + TCP_BYTES);
    let fragment = mtu_bytes.saturating_sub(IP_BYTES) / 8 * 8;
    let breaks = match protocol {
        "tcp" => multiples(segment, 0, largest),
        "zeromq" => {
            let mut breaks = multiples(segment, ZMTP_LONG_BYTES, largest);
            breaks.extend([
                ZMTP_SHORT_LARGEST_BYTES,
                ZEROMQ_BATCH_BYTES - ZMTP_LONG_BYTES,
            ]);
            breaks
        }
        "udp" => multiples(fragment, UDP_BYTES, largest),
        _ => vec![ETHERNET_LEAST_BYTES],
    };
    let mut payloads: BTreeSet<u64> = (0..16).map(|power| 1 << power).collect();
    payloads.extend(breaks.iter().flat_map(|b| [b - 1, *b, b + 1]));
    payloads.insert(largest);
    payloads
        .into_iter()
        .filter(|p| (1..=largest).contains(p))
        .collect()
}

/// `n · unit − header` for n = 1, 2, 3, 5, 9, 17, 33 … and the greatest n whose value fits.
fn multiples(unit: u64, header: u64, largest: u64) -> Vec<u64> {
    if unit <= header + 1 {
        return Vec::new();
    }
    let greatest = (largest + header) / unit;
    let counts = std::iter::once(1).chain((0..16).map(|power| 1 + (1 << power)));
    let counts: BTreeSet<u64> = counts
        .chain([greatest])
        .filter(|n| (1..=greatest).contains(n))
        .collect();
    counts.into_iter().map(|n| n * unit - header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn udp_has_the_aligned_sizes_of_the_literature() {
        let sizes = payloads("udp", 1500);
        for aligned in [1472, 2952, 4432, 7392, 13_312, 25_152, 48_832, 65_112] {
            assert!(
                sizes.contains(&aligned) && sizes.contains(&(aligned + 1)),
                "{aligned}"
            );
        }
        assert_eq!(sizes.last(), Some(&65_507));
        assert_eq!(sizes.first(), Some(&1));
    }

    #[test]
    fn tcp_has_segments_and_zeromq_its_header() {
        let tcp = payloads("tcp", 1500);
        assert!(
            [1447, 1448, 1449, 2896, 45 * 1448, 65_535]
                .iter()
                .all(|p| tcp.contains(p))
        );
        let zeromq = payloads("zeromq", 1500);
        assert!(
            [255, 256, 1439, 1440, 8183, 8184]
                .iter()
                .all(|p| zeromq.contains(p))
        );
        assert!(payloads("tcp", 9000).contains(&8948));
    }

    #[test]
    fn ethernet_ends_at_the_mtu() {
        let sizes = payloads("ethernet", 1500);
        assert!([45, 46, 47, 1024, 1500].iter().all(|p| sizes.contains(p)));
        assert_eq!(sizes.last(), Some(&1500));
    }

    #[test]
    fn an_mtu_too_small_for_headers_leaves_powers_of_two() {
        for protocol in ["tcp", "udp", "zeromq", "ethernet"] {
            for mtu in [0, 21, 28, 52, 60, 68] {
                let sizes = payloads(protocol, mtu);
                assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
