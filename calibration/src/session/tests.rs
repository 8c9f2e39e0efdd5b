//! Parts shared by the tests of this module.

use super::channel::Channel;
use super::handshake::{Secrets, as_caller, as_responder};
use super::key::Key;
use crate::error::Result;
use std::net::{TcpListener, TcpStream};
use std::thread;

pub fn key() -> Key {
    Key::of([1; 32])
}

/// Both ends of a connection.
pub fn sockets() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// Caller and responder after their handshake.
pub fn proved() -> [(TcpStream, Secrets); 2] {
    let (near, far) = sockets();
    let responder = thread::spawn(move || {
        let secrets = as_responder(&far, &key()).unwrap();
        (far, secrets)
    });
    let secrets = as_caller(&near, &key()).unwrap();
    [(near, secrets), responder.join().unwrap()]
}

/// Caller's and responder's end of one channel.
pub fn channels() -> [Channel; 2] {
    proved().map(|(stream, secrets)| Channel::new(stream, secrets).unwrap())
}

/// Checks that an error contains `what`.
pub fn says<T>(result: Result<T>, what: &str) {
    let text = result.err().expect(what).to_string();
    assert!(text.contains(what), "{text:?} does not say {what:?}");
}
