//! The transports end to end: over loopback, and over a veth pair between two namespaces.

pub mod ends;
mod loopback;
mod namespaces;
mod zeromq;
