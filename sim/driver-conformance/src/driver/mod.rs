//! The driver's calls that the questions need, wrapped so that they follow Rust's memory rules.
//!
//! Only this module contains unsafe code. Its proofs rely on four facts:
//!
//! 1. **Handles are live.** The driver creates a stream, event, graph, executable graph, module or
//!    memory pool, and a method that takes it by value destroys it. Handles are not `Clone`. Nodes
//!    borrow their graph. The unsafe method `alias` is the only exception.
//! 2. **No Rust value is stored in device memory.** A [`Span`] lies within a device allocation. If
//!    the allocation has been freed, the driver refuses the span.
//! 3. **Host memory that work in flight may access is never freed.** [`HostBuffer`] and
//!    [`Gate`](crate::Gate) live until the process ends, and their reads and writes are volatile.
//!    Synchronous calls borrow slices until they return.
//! 4. **A call that the driver lacks is not made.** `call!` looks up the symbol first and returns
//!    [`Refusal::Missing`], because cudarc would panic.
//!
//! cudarc reads a return code as an enum of the CUDA version for which it was built. A code that
//! this version lacks would be undefined behaviour in cudarc. No driver is known to return a new
//! code for these old calls.

macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        if crate::driver::library::has(stringify!($function)) {
            crate::driver::refusal::outcome(cudarc::driver::sys::$function($($argument),*))
        } else {
            Err(crate::driver::Refusal::Missing(stringify!($function)))
        }
    };
}

mod capture;
mod child_graph;
mod device;
mod event;
mod graph;
mod graph_memory;
mod host;
mod library;
mod memory;
mod memory_pool;
mod module;
mod refusal;
mod rows;
mod stream;
mod transfer;
mod virtual_memory;

pub use capture::{Captured, Mode, Status, exchange_thread_mode};
pub use child_graph::ChildGraph;
pub use device::{Attribute, Device, Facts, NoDevice, Sign, can_reach, driver_version};
pub use event::Event;
pub use graph::{Edge, Exec, Graph, Kind, Node, Update};
pub use graph_memory::Memset;
pub use host::HostBuffer;
pub use library::{has, loaded_file};
pub use memory::{Span, allocate, free, memory_information};
pub use memory_pool::{MemoryPool, PoolAttribute};
pub use module::{Function, Module};
pub use refusal::{Code, Outcome, Refusal};
pub use rows::{RowBox, copy_plane_behind, copy_rows_behind, fill_rows_behind};
pub use stream::Stream;
pub use transfer::{copy, copy_behind, download, fill, fill_behind, upload};
pub use virtual_memory::{Physical, Reserved, granularity};
