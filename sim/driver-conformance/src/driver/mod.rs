//! The driver's calls, as far as the questions need them, with Rust's rules about memory kept.
//!
//! This module alone is unsafe. What its proofs rely on:
//!
//! 1. **Handles are live.** A stream, event, graph, executable graph, module or memory pool is made
//!    by the driver and destroyed by a method that takes it by value; no handle is `Clone`. Nodes
//!    borrow their graph. The one way around is a method called `alias`, which is unsafe.
//! 2. **Device memory is not Rust's.** A [`Span`] comes from a device allocation and covers no more
//!    than that. A freed one is the driver's to refuse: no Rust value ever lies in those addresses.
//! 3. **Host memory that work in flight may touch is never freed.** [`HostBuffer`] and
//!    [`Gate`](crate::Gate) stay until the process ends, and are read and written as volatile.
//!    Calls that return when they are done borrow slices for that long.
//! 4. **A call that the driver lacks is not made.** `call!` asks for the symbol first, and answers
//!    [`Refusal::Missing`]: cudarc would panic.
//!
//! cudarc reads a return code as an enum of the CUDA version it was built for. A code that this
//! version does not know would be undefined behaviour there; no driver is known to invent one for
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
