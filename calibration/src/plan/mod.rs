//! Plans of campaigns: pure functions from the plan's text to an ordered list of runs.
//!
//! [`Plan::parse`] reads, [`Plan::points`] multiplies the lists of the grids, [`schedule()`] puts the runs in order and
//! [`search::next`] decides the trials of a search. Nothing here touches a network, a clock or a file.

pub mod catalogue;
mod document;
mod expand;
pub mod mark;
pub mod options;
mod point;
pub mod schedule;
pub mod search;

pub use document::{Grid, LabChoice, Plan, Reference, Repeats, Stream};
pub use expand::Context;
pub use mark::RunKind;
pub use point::{Background, Point, digest_of};
pub use schedule::{RunId, RunSpec, schedule};
pub use search::SearchRule;
