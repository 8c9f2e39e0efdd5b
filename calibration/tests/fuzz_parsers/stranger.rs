//! A running responder against whatever strangers send it.

use icprobe::session::channel::connect;
use icprobe::session::handshake::Hello;
use icprobe::session::key::Key;
use icprobe::session::listener::{Stopper, serve_until};
use icprobe::session::{Channel, Limits};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

#[test]
fn strangers_hear_less_than_they_say_and_break_nothing() {
    let key = Key::of([1; 32]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stopper = Stopper::of(&listener).unwrap();
    let flag = stopper.flag();
    let server_key = key.clone();
    let server = thread::spawn(move || {
        let nobody = |_: Channel, _: SocketAddr| {};
        serve_until(&listener, &server_key, &Limits::default(), &flag, nobody)
    });
    let hello = Hello {
        version: 1,
        nonce: [9; 32],
    }
    .to_bytes()
    .to_vec();
    let right = vec![hello.clone(), [hello, vec![7; 100]].concat()];
    let times = (crate::cases() / 50).max(100);
    crate::fuzz_times(times, "a running responder", &right, |said| {
        let heard = converse(address, said);
        assert!(
            heard <= said.len(),
            "{heard} B heard for {} B said",
            said.len()
        );
    });
    assert!(
        connect(address, &key).is_ok(),
        "the responder does not work any more"
    );
    stopper.stop();
    server.join().unwrap().unwrap();
}

/// Says all of `said`; how many bytes come back until the responder closes.
fn converse(address: SocketAddr, said: &[u8]) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    // The responder may have closed already.
    let _ = stream.write_all(said);
    let _ = stream.shutdown(Shutdown::Write);
    let mut heard = vec![];
    let _ = stream.read_to_end(&mut heard);
    heard.len()
}
