//! The transports end to end: over loopback, and over a veth pair between two namespaces.

mod ends;
mod loopback;
mod namespaces;
mod rates;
mod zeromq;
