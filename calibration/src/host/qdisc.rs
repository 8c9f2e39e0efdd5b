//! The queueing discipline at the root of an interface (rtnetlink(7), RTM_GETQDISC).

use super::netlink::{attribute, list, u32_at};

/// `struct tcmsg`: family, index, handle, parent, info.
const TC_BYTES: usize = 20;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;

/// Kind of the root queueing discipline (noqueue, fq_codel, tbf …) of the interface with this
/// index; `None` where the kernel does not say.
pub(super) fn root_kind(interface_index: u32) -> Option<String> {
    let disciplines = list(libc::RTM_GETQDISC, &[0; TC_BYTES]).ok()?;
    disciplines
        .iter()
        .find_map(|discipline| root_of(discipline, interface_index))
}

/// Kind of a queueing discipline if it stands at the root of the interface.
fn root_of(body: &[u8], interface_index: u32) -> Option<String> {
    let (index, parent) = (u32_at(body, 4)?, u32_at(body, 12)?);
    if index != interface_index || parent != TC_H_ROOT {
        return None;
    }
    let text = attribute(body.get(TC_BYTES..)?, TCA_KIND)?;
    let text = text.split(|&b| b == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loopback_has_no_queue() {
        assert_eq!(root_kind(1).as_deref(), Some("noqueue"));
        assert_eq!(root_kind(u32::MAX), None);
    }

    proptest! {
        #[test]
        fn damaged_answers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), index in any::<u32>()) {
            root_of(&bytes, index);
        }
    }
}
