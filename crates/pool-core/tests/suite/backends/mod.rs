//! Backends for what heap memory with a ledger cannot show: views that arm their slot, and memory
//! that is bound to its thread, logs its end, keeps its addresses and fails in every operation.

mod arming;
mod logged;

pub(crate) use arming::{Arming, ArmingView};
pub(crate) use logged::{Event, Logged, logged_pool, take_events};
