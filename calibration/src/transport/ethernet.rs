//! Direct Ethernet: each frame is an Ethernet frame with a separate EtherType, without IP
//! (packet(7)).
//!
//! The kernel's classic filter (BPF) passes only frames with this EtherType from the peer's
//! hardware address to this one. If frames have a header, it also checks the run's tag and the
//! stream's number. So frames of others cost this process nothing. Short payloads are padded on the
//! wire to the least size of an Ethernet frame. Both ends know the payload size, and the receiver
//! removes the padding.

use super::batch::SendBatch;
use super::datagram::{self, Attempt, Reader};
use super::options::{Options, SEND_PATIENCE};
use super::socket::{self, checked};
use super::{FrameReceiver, FrameSender};
use crate::device::Device;
use crate::error::{Context, Error, Result};
use crate::frame::HEADER_BYTES;
use rustix::net::{AddressFamily, SendFlags, SocketType};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// EtherType of the frames: Local Experimental EtherType 1 of IEEE Std 802.
pub const ETHER_TYPE: u16 = 0x88B5;
/// Length of the Ethernet header, in bytes: destination, source, EtherType.
const MAC_HEADER_BYTES: usize = 14;
/// Least payload of an Ethernet frame on the wire (IEEE Std 802.3: 64 B with header and check sum).
const LEAST_PAYLOAD_BYTES: usize = 46;
/// `PACKET_IGNORE_OUTGOING` (linux/if_packet.h).
const PACKET_IGNORE_OUTGOING: i32 = 23;
/// Pause before a frame that the interface's queue refused is offered again.
const FULL_QUEUE_PAUSE: Duration = Duration::from_micros(50);

/// A hardware address.
pub type Mac = [u8; 6];

/// Opened sockets that do not receive yet, and their interface.
pub struct Opened {
    fds: Vec<OwnedFd>,
    index: u32,
    /// The interface's own hardware address.
    pub mac: Mac,
}

/// Opens one socket per stream on an interface; nothing is received before [`Opened::join`].
///
/// # Errors
/// If the interface does not exist, CAP_NET_RAW is missing, or the payload exceeds the MTU.
pub fn open(interface: &str, options: &Options) -> Result<Opened> {
    let not_permitted =
        "cannot open a packet socket: direct Ethernet needs root or the capability CAP_NET_RAW";
    let open = || socket::open(AddressFamily::PACKET, SocketType::RAW);
    let fds: Vec<OwnedFd> = (0..options.streams)
        .map(|_| open())
        .collect::<io::Result<_>>()
        .or_question(not_permitted)?;
    let (index, mac, mtu) =
        identify(interface).or_question(format!("cannot use the interface {interface}"))?;
    check(interface, mtu, options)?;
    for fd in &fds {
        set_up(fd, options).or_peer("cannot set up a packet socket")?;
    }
    Ok(Opened { fds, index, mac })
}

fn set_up(fd: &OwnedFd, options: &Options) -> io::Result<()> {
    options.apply(fd, None)?;
    socket::set(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1_i32)
}

fn check(interface: &str, mtu: usize, options: &Options) -> Result<()> {
    let largest = options.send_bytes.max(options.receive_bytes);
    if largest > mtu {
        return Err(Error::question(format!(
            "a payload of {largest} B does not fit an Ethernet frame on {interface}: give at most its MTU, {mtu} B"
        )));
    }
    let shortest = options.send_bytes.min(options.receive_bytes);
    if options.streams > 1 && shortest < HEADER_BYTES {
        return Err(Error::question(format!(
            "{} streams of frames of {shortest} B cannot be told apart over direct Ethernet: give one stream or at least {HEADER_BYTES} B",
            options.streams
        )));
    }
    Ok(())
}

/// Index, hardware address and MTU of an interface of this thread's network namespace.
fn identify(interface: &str) -> io::Result<(u32, Mac, usize)> {
    let device = Device::open(interface).map_err(io::Error::other)?;
    Ok((device.index()?, device.mac()?, device.mtu_bytes()? as usize))
}

/// Binds a socket to the frames of the EtherType on an interface.
fn bind(fd: &OwnedFd, index: u32) -> io::Result<()> {
    let link = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ETHER_TYPE.to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of_val(&link) as libc::socklen_t;
    // SAFETY: pointer and length describe the address, which lives through the call.
    checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const link).cast(), length) })
}

impl Opened {
    /// Starts receiving the peer's frames; if frames carry a tag, only those of the run's `tag`.
    ///
    /// # Errors
    /// If the kernel refuses the filter or the interface.
    pub fn join(self, peer: Mac, tag: u32, options: &Options) -> Result<Vec<Arc<OwnedFd>>> {
        let (mac, index) = (self.mac, self.index);
        let join = |(stream, fd): (usize, OwnedFd)| -> io::Result<Arc<OwnedFd>> {
            let run = (options.receive_bytes >= HEADER_BYTES).then_some((tag, stream as u16));
            attach(&fd, &filter(mac, peer, run))?;
            bind(&fd, index)?;
            Ok(Arc::new(fd))
        };
        let joined: io::Result<_> = self.fds.into_iter().enumerate().map(join).collect();
        joined.or_peer("cannot receive direct Ethernet")
    }
}

/// The kernel's filter (classic BPF): each check is a load and a comparison that jumps to "none".
fn filter(own: Mac, peer: Mac, run: Option<(u32, u16)>) -> Vec<libc::sock_filter> {
    /// `BPF_LD | BPF_ABS` with `BPF_W` or `BPF_H`; `BPF_JMP | BPF_JEQ | BPF_K`; `BPF_RET | BPF_K`.
    const WORD: u16 = 0x20;
    const HALF: u16 = 0x28;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let word = |b: &[u8; 6]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]);
    let half = |b: &[u8; 6]| u32::from(u16::from_be_bytes([b[4], b[5]]));
    let mut checks = vec![
        (HALF, 12, u32::from(ETHER_TYPE)),
        (WORD, 6, word(&peer)),
        (HALF, 10, half(&peer)),
        (WORD, 0, word(&own)),
        (HALF, 4, half(&own)),
    ];
    if let Some((tag, stream)) = run {
        // The frame header is little endian, the filter loads big endian.
        checks.push((WORD, MAC_HEADER_BYTES as u32, tag.swap_bytes()));
        checks.push((HALF, 18, u32::from(stream.swap_bytes())));
    }
    let instruction = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut program = Vec::with_capacity(2 * checks.len() + 2);
    for (index, &(load, offset, value)) in checks.iter().enumerate() {
        let to_none = 2 * (checks.len() - index) - 1;
        program.push(instruction(load, 0, offset));
        program.push(instruction(JUMP_IF_EQUAL, to_none as u8, value));
    }
    program.push(instruction(RETURN, 0, u32::MAX));
    program.push(instruction(RETURN, 0, 0));
    program
}

fn attach(fd: &OwnedFd, program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    socket::set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Sends Ethernet frames to the peer, with one system call per frame unless batching is requested.
pub struct Sender {
    fd: Arc<OwnedFd>,
    flags: SendFlags,
    header: [u8; MAC_HEADER_BYTES],
    batch: Option<SendBatch>,
    refused: u64,
}

impl Sender {
    /// A sender on a joined socket.
    pub fn new(fd: Arc<OwnedFd>, own: Mac, peer: Mac, options: &Options) -> Self {
        let mut header = [0; MAC_HEADER_BYTES];
        header[..6].copy_from_slice(&peer);
        header[6..12].copy_from_slice(&own);
        header[12..].copy_from_slice(&ETHER_TYPE.to_be_bytes());
        let many = options.batch_frames > 1;
        let room = MAC_HEADER_BYTES + options.send_bytes;
        Self {
            fd,
            flags: socket::sending(options.polling),
            header,
            batch: many.then(|| SendBatch::new(options.batch_frames, room)),
            refused: 0,
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// Offers a frame again until the queue takes it; a queue that stays full refuses it.
    #[cold]
    fn send_again(&self, error: io::Error, frame: &[u8]) -> io::Result<bool> {
        let until = Instant::now() + SEND_PATIENCE;
        let mut error = error;
        loop {
            let attempt = datagram::judge(error)?;
            if Instant::now() >= until {
                return Ok(false);
            }
            if matches!(attempt, Attempt::Refused) {
                std::thread::sleep(FULL_QUEUE_PAUSE);
            }
            match socket::send_parts(&self.fd, &self.header, frame, self.flags) {
                Ok(_) => return Ok(true),
                Err(e) => error = e,
            }
        }
    }
}

impl FrameSender for Sender {
    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        if let Some(batch) = &mut self.batch {
            if batch.hold(&[&self.header, frame])? {
                self.flush()?;
            }
            return Ok(true);
        }
        match socket::send_parts(&self.fd, &self.header, frame, self.flags) {
            Ok(_) => Ok(true),
            Err(e) => self.send_again(e, frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(batch) = &mut self.batch {
            let again = || {
                std::thread::sleep(FULL_QUEUE_PAUSE);
                true
            };
            self.refused += datagram::send_batch(&self.fd, batch, self.flags, again)?;
        }
        Ok(())
    }

    #[inline]
    fn is_holding(&self) -> bool {
        self.batch.as_ref().is_some_and(|batch| batch.held() > 0)
    }

    fn refused(&self) -> u64 {
        self.refused
    }
}

/// Receives the peer's frames.
pub struct Receiver {
    reader: Reader,
    frame_bytes: usize,
    dropped: Cell<u64>,
}

impl Receiver {
    /// Creates a receiver on a joined socket. A payload longer than a frame is cut to one byte
    /// more.
    pub fn new(fd: Arc<OwnedFd>, options: &Options) -> Self {
        let payload = options.receive_bytes.max(LEAST_PAYLOAD_BYTES) + 1;
        Self {
            reader: Reader::new(fd, MAC_HEADER_BYTES + payload, options.polling),
            frame_bytes: options.receive_bytes,
            dropped: Cell::new(0),
        }
    }

    /// The socket.
    pub fn fd(&self) -> &OwnedFd {
        self.reader.fd()
    }
}

/// The payload of an Ethernet frame, without padding.
#[inline]
fn payload(bytes: &[u8], frame_bytes: usize) -> &[u8] {
    let payload = bytes.get(MAC_HEADER_BYTES..).unwrap_or(&[]);
    if payload.len() <= LEAST_PAYLOAD_BYTES {
        &payload[..frame_bytes.min(payload.len())]
    } else {
        payload
    }
}

impl FrameReceiver for Receiver {
    #[inline]
    fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(u64, &[u8]),
    ) -> io::Result<usize> {
        let size = self.frame_bytes;
        self.reader
            .receive(timeout, |now, bytes| each(now, payload(bytes, size)))
    }

    fn delivered_bytes(&self) -> Option<u64> {
        None
    }

    /// Sums `PACKET_STATISTICS`, which every reading resets (packet(7)).
    fn overflow(&self) -> Option<u64> {
        let mut counts = [0; 8];
        let fd = self.reader.fd();
        socket::option_bytes(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts).ok()?;
        let drops = u32::from_ne_bytes([counts[4], counts[5], counts[6], counts[7]]);
        self.dropped.set(self.dropped.get() + u64::from(drops));
        Some(self.dropped.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether the kernel with this program would accept a frame (linux/filter.h), for the
    /// instructions used here.
    fn accepts(program: &[libc::sock_filter], frame: &[u8]) -> bool {
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let step = &program[at];
            at += 1;
            let offset = step.k as usize;
            match step.code {
                0x20 => match frame.get(offset..offset + 4) {
                    Some(b) => value = u32::from_be_bytes([b[0], b[1], b[2], b[3]]),
                    None => return false,
                },
                0x28 => match frame.get(offset..offset + 2) {
                    Some(b) => value = u32::from(u16::from_be_bytes([b[0], b[1]])),
                    None => return false,
                },
                0x15 => at += usize::from(if value == step.k { step.jt } else { step.jf }),
                _ => return step.k != 0,
            }
        }
    }

    fn frame(own: Mac, peer: Mac, tag: u32, stream: u16) -> Vec<u8> {
        let mut frame = [&own[..], &peer[..], &ETHER_TYPE.to_be_bytes()].concat();
        frame.extend(tag.to_le_bytes());
        frame.extend(stream.to_le_bytes());
        frame.resize(60, 0);
        frame
    }

    proptest! {
        #[test]
        fn the_filter_takes_the_peers_frames_and_no_others(
            own: Mac, peer: Mac, tag: u32, stream: u16, at in 0usize..20, flip in 1u8..
        ) {
            let mut right = frame(own, peer, tag, stream);
            let with_run = filter(own, peer, Some((tag, stream)));
            let short = filter(own, peer, None);
            prop_assert!(accepts(&with_run, &right));
            prop_assert!(accepts(&short, &right));
            right[at] ^= flip;
            prop_assert!(!accepts(&with_run, &right));
            prop_assert_eq!(accepts(&short, &right), at >= MAC_HEADER_BYTES);
        }
    }

    #[test]
    fn padding_is_cut_and_nothing_else() {
        let padded = [1; 60];
        assert_eq!(payload(&padded, 5).len(), 5);
        assert_eq!(payload(&padded, 46).len(), 46);
        assert_eq!(payload(&padded[..17], 5).len(), 3);
        assert_eq!(payload(&[1; 114], 100).len(), 100);
        assert_eq!(payload(&[1; 115], 100).len(), 101);
        assert_eq!(payload(&[], 5).len(), 0);
    }
}
