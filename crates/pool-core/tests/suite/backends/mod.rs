//! Backends for cases that heap memory with a ledger cannot show: views that arm their slot, and
//! memory that is bound to its thread, logs its end, keeps its addresses and fails in every
//! operation.

mod logged;

use pool_conformance::HeapBackend;
use pool_conformance::arming::{ArmingBackend, ArmingView as View};

/// Heap memory whose views can arm their slot.
pub(crate) type Arming = ArmingBackend<HeapBackend>;

/// A view of that memory.
pub(crate) type ArmingView<E> = View<HeapBackend, E>;

pub(crate) use logged::{Event, Logged, logged_pool, take_events};
