//! Contexts, sockets and messages of libzmq with Rust's rules of ownership.

use super::library::Library;
use crate::error::{Context as _, Error, Result};
use std::ffi::{CString, c_int, c_void};
use std::io;
use std::sync::Arc;

/// Kinds of sockets and options, as zmq.h numbers them.
pub mod name {
    use std::ffi::c_int;
    pub const SUB: c_int = 2;
    pub const REQ: c_int = 3;
    pub const REP: c_int = 4;
    pub const PULL: c_int = 7;
    pub const PUSH: c_int = 8;
    pub const XPUB: c_int = 9;

    pub const IO_THREADS: c_int = 1;
    pub const MAX_SOCKETS: c_int = 2;

    pub const SUBSCRIBE: c_int = 6;
    pub const SNDBUF: c_int = 11;
    pub const RCVBUF: c_int = 12;
    pub const RCVMORE: c_int = 13;
    pub const EVENTS: c_int = 15;
    pub const LINGER: c_int = 17;
    pub const MAXMSGSIZE: c_int = 22;
    pub const SNDHWM: c_int = 23;
    pub const RCVHWM: c_int = 24;
    pub const RCVTIMEO: c_int = 27;
    pub const SNDTIMEO: c_int = 28;
    pub const LAST_ENDPOINT: c_int = 32;
    pub const TCP_ACCEPT_FILTER: c_int = 38;
    pub const IMMEDIATE: c_int = 39;
    pub const IPV6: c_int = 42;
    pub const PLAIN_SERVER: c_int = 44;
    pub const PLAIN_USERNAME: c_int = 45;
    pub const PLAIN_PASSWORD: c_int = 46;
    pub const ZAP_DOMAIN: c_int = 55;
    pub const TOS: c_int = 57;
    pub const XPUB_WELCOME_MSG: c_int = 72;
    pub const IN_BATCH_SIZE: c_int = 101;
    pub const OUT_BATCH_SIZE: c_int = 102;

    pub const DONT_WAIT: c_int = 1;
    pub const SEND_MORE: c_int = 2;
    pub const POLL_IN: c_int = 1;
    pub const POLL_OUT: c_int = 2;
}

/// Context of libzmq: the I/O threads of one end of a run.
pub struct Context {
    library: Library,
    pointer: *mut c_void,
    io_threads: u16,
}

// SAFETY: contexts are thread safe (zmq_ctx_new(3)).
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// A context with its number of I/O threads.
    ///
    /// # Errors
    /// libzmq is missing or refuses.
    pub fn new(io_threads: u16, sockets: usize) -> Result<Arc<Self>> {
        let library = Library::open()?;
        // SAFETY: takes nothing.
        let pointer = unsafe { (library.context_new)() };
        if pointer.is_null() {
            return Err(library.error()).or_peer("libzmq gave no context");
        }
        let context = Self {
            library,
            pointer,
            io_threads,
        };
        context.set(name::IO_THREADS, c_int::from(io_threads))?;
        context.set(name::MAX_SOCKETS, (sockets + 16).max(1023) as c_int)?;
        Ok(Arc::new(context))
    }

    /// The library.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Number of I/O threads.
    pub fn io_threads(&self) -> u16 {
        self.io_threads
    }

    fn set(&self, option: c_int, value: c_int) -> Result<()> {
        // SAFETY: the context lives, the others are plain numbers.
        if unsafe { (self.library.context_set)(self.pointer, option, value) } < 0 {
            return Err(self.library.error())
                .or_question(format!("libzmq refuses {value} I/O threads or sockets"));
        }
        Ok(())
    }
}

impl Drop for Context {
    /// Waits until what the sockets still hold is sent, or their linger time has passed.
    fn drop(&mut self) {
        // SAFETY: every socket of the context holds it by an Arc, so all are closed by now.
        unsafe { (self.library.context_terminate)(self.pointer) };
    }
}

/// A socket; used by one thread at a time.
pub struct Socket {
    pointer: *mut c_void,
    kind: c_int,
    context: Arc<Context>,
}

// SAFETY: a socket may move between threads with a full fence (zmq_socket(3)), which moving a Rust
// value to another thread implies; it is not Sync, so no two threads use it at once.
unsafe impl Send for Socket {}

impl Socket {
    /// Opens a socket of a kind.
    ///
    /// # Errors
    /// libzmq refuses.
    pub fn new(context: &Arc<Context>, kind: c_int) -> Result<Self> {
        // SAFETY: the context lives as long as the socket, by the Arc.
        let pointer = unsafe { (context.library.socket_new)(context.pointer, kind) };
        if pointer.is_null() {
            return Err(context.library.error()).or_peer("libzmq gave no socket");
        }
        Ok(Self {
            pointer,
            kind,
            context: Arc::clone(context),
        })
    }

    /// Socket type, one of the constants in [`name`].
    pub fn kind(&self) -> c_int {
        self.kind
    }

    fn library(&self) -> &Library {
        &self.context.library
    }

    fn checked(&self, result: c_int) -> io::Result<()> {
        if result < 0 {
            Err(self.library().error())
        } else {
            Ok(())
        }
    }

    /// Sets an option to bytes.
    pub fn set_bytes(&self, option: c_int, value: &[u8]) -> io::Result<()> {
        let set = self.library().set_option;
        let data = value.as_ptr().cast();
        // SAFETY: pointer and length describe the slice, which lives through the call.
        self.checked(unsafe { set(self.pointer, option, data, value.len()) })
    }

    /// Sets an option that is an int.
    pub fn set(&self, option: c_int, value: c_int) -> io::Result<()> {
        self.set_bytes(option, &value.to_ne_bytes())
    }

    /// Reads an option that is an int.
    pub fn option(&self, option: c_int) -> io::Result<c_int> {
        let mut bytes = [0; 4];
        self.option_bytes(option, &mut bytes)?;
        Ok(c_int::from_ne_bytes(bytes))
    }

    fn option_bytes(&self, option: c_int, bytes: &mut [u8]) -> io::Result<usize> {
        let mut length = bytes.len();
        let (read, data) = (self.library().option, bytes.as_mut_ptr().cast());
        // SAFETY: pointer and length describe the slice, which lives through the call.
        self.checked(unsafe { read(self.pointer, option, data, &mut length) })?;
        Ok(length)
    }

    /// Binds to an endpoint, `tcp://10.0.0.1:*`.
    pub fn bind(&self, endpoint: &str) -> io::Result<()> {
        let endpoint = CString::new(endpoint)?;
        // SAFETY: the text is a C string that lives through the call.
        self.checked(unsafe { (self.library().bind)(self.pointer, endpoint.as_ptr()) })
    }

    /// Connects to an endpoint; libzmq goes on trying in the background.
    pub fn connect(&self, endpoint: &str) -> io::Result<()> {
        let endpoint = CString::new(endpoint)?;
        // SAFETY: the text is a C string that lives through the call.
        self.checked(unsafe { (self.library().connect)(self.pointer, endpoint.as_ptr()) })
    }

    /// The port the socket is bound to.
    ///
    /// # Errors
    /// If the socket is bound to no port.
    pub fn port(&self) -> Result<u16> {
        let mut bytes = [0; 256];
        let length = self
            .option_bytes(name::LAST_ENDPOINT, &mut bytes)
            .or_peer("libzmq names no endpoint")?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let port = text.trim_end_matches('\0').rsplit(':').next();
        let port = port.and_then(|p| p.parse().ok());
        port.ok_or_else(|| Error::peer(format!("libzmq bound to {text}, which has no port")))
    }

    /// Sends a message; the library copies it.
    #[inline]
    pub fn send(&self, bytes: &[u8], flags: c_int) -> io::Result<()> {
        let send = self.library().send;
        // SAFETY: pointer and length describe the slice, which lives through the call.
        let result = unsafe { send(self.pointer, bytes.as_ptr().cast(), bytes.len(), flags) };
        if result >= 0 {
            return Ok(());
        }
        Err(self.library().error())
    }

    /// Receives the next message, or part of one, in place of what `message` held.
    #[inline]
    pub fn receive(&self, message: &mut Message, flags: c_int) -> io::Result<()> {
        let receive = self.library().message_receive;
        // SAFETY: the message was initialised when it was made and lives through the call.
        let result = unsafe { receive(message.pointer(), self.pointer, flags) };
        if result >= 0 {
            return Ok(());
        }
        Err(self.library().error())
    }

    /// Creates an empty message.
    pub fn message(&self) -> Message {
        Message::new(&self.context)
    }

    /// The context.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the socket is open and nobody else holds it.
        unsafe { (self.context.library.socket_close)(self.pointer) };
    }
}

/// `zmq_msg_t`: 64 bytes, aligned as a pointer (zmq.h).
#[repr(C, align(8))]
struct Raw([u8; 64]);

/// A received message, which the library keeps in its own memory.
pub struct Message {
    /// Boxed, so that its address, which the library keeps, stays the same.
    raw: Box<Raw>,
    context: Arc<Context>,
}

impl Message {
    fn new(context: &Arc<Context>) -> Self {
        let mut message = Self {
            raw: Box::new(Raw([0; 64])),
            context: Arc::clone(context),
        };
        // SAFETY: the memory is of the size and alignment the library asks for. It cannot fail.
        unsafe { (context.library.message_init)(message.pointer()) };
        message
    }

    fn pointer(&mut self) -> *mut c_void {
        (&raw mut *self.raw).cast()
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&mut self) -> &[u8] {
        let pointer = self.pointer();
        let library = &self.context.library;
        // SAFETY: the message is initialised. Its bytes stay valid until it is received into or
        // closed, and both need a new mutable borrow.
        unsafe {
            let length = (library.message_size)(pointer);
            let data = (library.message_data)(pointer).cast::<u8>();
            if length == 0 || data.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(data, length)
        }
    }
}

impl Drop for Message {
    fn drop(&mut self) {
        let pointer = self.pointer();
        // SAFETY: the message is initialised and not used again.
        unsafe { (self.context.library.message_close)(pointer) };
    }
}
