//! libzmq, loaded only for ZeroMQ runs, so that other runs do not need it.

use crate::error::{Context, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;

/// File name of the library: the ABI of libzmq 4 and later.
const FILE: &str = "libzmq.so.5";

/// Declares the functions taken from the library, and how they are found.
macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The library's functions, as zmq.h declares them.
        pub struct Library {
            $(pub(super) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
            /// Keeps the functions in memory.
            _file: libloading::Library,
        }

        impl Library {
            fn find(file: libloading::Library) -> std::result::Result<Self, libloading::Error> {
                Ok(Self {
                    // SAFETY: the types are those that zmq.h declares for these names, and the
                    // functions are used only while `_file` keeps them in memory.
                    $($field: *unsafe { file.get($symbol.to_bytes_with_nul()) }?,)*
                    _file: file,
                })
            }
        }
    };
}

functions! {
    context_new = c"zmq_ctx_new": fn() -> *mut c_void;
    context_set = c"zmq_ctx_set": fn(*mut c_void, c_int, c_int) -> c_int;
    context_terminate = c"zmq_ctx_term": fn(*mut c_void) -> c_int;
    socket_new = c"zmq_socket": fn(*mut c_void, c_int) -> *mut c_void;
    socket_close = c"zmq_close": fn(*mut c_void) -> c_int;
    bind = c"zmq_bind": fn(*mut c_void, *const c_char) -> c_int;
    connect = c"zmq_connect": fn(*mut c_void, *const c_char) -> c_int;
    set_option = c"zmq_setsockopt": fn(*mut c_void, c_int, *const c_void, usize) -> c_int;
    option = c"zmq_getsockopt": fn(*mut c_void, c_int, *mut c_void, *mut usize) -> c_int;
    send = c"zmq_send": fn(*mut c_void, *const c_void, usize, c_int) -> c_int;
    message_init = c"zmq_msg_init": fn(*mut c_void) -> c_int;
    message_receive = c"zmq_msg_recv": fn(*mut c_void, *mut c_void, c_int) -> c_int;
    message_data = c"zmq_msg_data": fn(*mut c_void) -> *mut c_void;
    message_size = c"zmq_msg_size": fn(*const c_void) -> usize;
    message_close = c"zmq_msg_close": fn(*mut c_void) -> c_int;
    last_error = c"zmq_errno": fn() -> c_int;
    error_text = c"zmq_strerror": fn(c_int) -> *const c_char;
    version_into = c"zmq_version": fn(*mut c_int, *mut c_int, *mut c_int) -> ();
}

/// libzmq's own error numbers start here (zmq.h); below are the system's.
const OWN_ERRORS: c_int = 156_384_712;

impl Library {
    /// Loads the library.
    ///
    /// # Errors
    /// libzmq is not installed, or its version is incompatible.
    pub fn open() -> Result<Self> {
        let missing = "ZeroMQ needs libzmq at both ends: install libzmq5 (Debian, Ubuntu) or zeromq (Fedora, Arch)";
        // SAFETY: libzmq's initialisers have no effects outside the library.
        let file = unsafe { libloading::Library::new(FILE) }.or_question(missing)?;
        Self::find(file).or_question(missing)
    }

    /// The version, as `4.3.4`.
    pub fn version(&self) -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the three integers live through the call.
        unsafe { (self.version_into)(&mut major, &mut minor, &mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    /// The error of the last call of this thread.
    #[cold]
    pub fn error(&self) -> io::Error {
        // SAFETY: takes nothing.
        let number = unsafe { (self.last_error)() };
        if number < OWN_ERRORS {
            return io::Error::from_raw_os_error(number);
        }
        // SAFETY: the library returns a text that is never freed.
        let text = unsafe { CStr::from_ptr((self.error_text)(number)) };
        io::Error::other(text.to_string_lossy().into_owned())
    }
}
