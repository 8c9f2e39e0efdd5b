//! Texts that a peer wrote: made safe to print, and hardware addresses read strictly.

pub use crate::host::network::format_mac;

/// A peer's text as it may be printed: one line, no control characters, not endless.
pub fn printable(text: &str) -> String {
    const MOST: usize = 500;
    let mut safe: String = text
        .chars()
        .take(MOST)
        .map(|c| if is_harmless(c) { c } else { '\u{fffd}' })
        .collect();
    if text.chars().nth(MOST).is_some() {
        safe.push('…');
    }
    safe
}

/// Neither a control character nor one that turns the direction of writing.
fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Reads the text of one interface's hardware address: six pairs of hexadecimal digits between
/// colons, neither zero nor the address of a group or of everybody.
pub fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0u8; 6];
    let mut pairs = text.split(':');
    for byte in &mut mac {
        let pair = pairs.next()?;
        let digits = pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
        *byte = u8::from_str_radix(pair, 16).ok().filter(|_| digits)?;
    }
    let one = mac[0] & 1 == 0 && mac != [0; 6];
    (one && pairs.next().is_none()).then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_steer_a_terminal_is_not_printed() {
        assert_eq!(printable("no such device"), "no such device");
        assert_eq!(
            printable("a\x1b[2Jb\nc\u{202e}d\u{9b}e"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}e"
        );
        assert_eq!(printable("µ — 漢字"), "µ — 漢字");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(printable(&"x".repeat(500)).chars().count(), 500);
        let cut = printable(&"x".repeat(501));
        assert_eq!(cut.chars().count(), 501);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn only_the_address_of_one_interface_is_read() {
        assert_eq!(parse_mac("02:00:00:00:00:01"), Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(
            parse_mac("aE:bC:9d:00:fF:10"),
            Some([0xae, 0xbc, 0x9d, 0, 0xff, 0x10])
        );
        for wrong in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "02:00:00:00:00:1",
            "02-00-00-00-00-01",
            "+2:00:00:00:00:01",
            "02:00:00:00:00:0g",
            "02:00:00:00:00:01 ",
            "02::00:00:00:01",
            // nobody, everybody, a group
            "00:00:00:00:00:00",
            "ff:ff:ff:ff:ff:ff",
            "01:80:c2:00:00:00",
        ] {
            assert_eq!(parse_mac(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn addresses_read_as_they_are_written(mac in any::<[u8; 6]>()) {
            let one = mac[0] & 1 == 0 && mac != [0; 6];
            prop_assert_eq!(parse_mac(&format_mac(mac)), one.then_some(mac));
        }

        #[test]
        fn any_text_becomes_one_bounded_line(text in any::<String>()) {
            let safe = printable(&text);
            prop_assert!(safe.chars().count() <= 501);
            prop_assert!(!safe.chars().any(char::is_control));
        }
    }
}
