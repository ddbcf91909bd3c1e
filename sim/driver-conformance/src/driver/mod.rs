//! The driver's calls that the questions need, under Rust's rules about memory.
//!
//! This module alone is unsafe. Its proofs rely on four facts:
//!
//! 1. **Handles are live.** The driver makes a stream, event, graph, executable graph, module or
//!    memory pool, and a method that takes it by value destroys it; no handle is `Clone`. Nodes
//!    borrow their graph. The only exception is the unsafe method `alias`.
//! 2. **Device memory is not Rust's.** A [`Span`] is within a device allocation. The driver refuses
//!    a freed one: no Rust value is ever at those addresses.
//! 3. **Host memory that work in flight may access is never freed.** [`HostBuffer`] and
//!    [`Gate`](crate::Gate) live until the process ends, with volatile reads and writes.
//!    Synchronous calls borrow slices until they return.
//! 4. **A call that the driver lacks is not made.** `call!` looks up the symbol first, and returns
//!    [`Refusal::Missing`]: cudarc would panic.
//!
//! cudarc reads a return code as an enum of the CUDA version it was built for. A code unknown to
//! this version would be undefined behaviour there; no driver is known to return a new one for
//! these old calls.

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
