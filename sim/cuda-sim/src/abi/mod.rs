//! The C interface: the driver's calls, and those by which tests control the simulator.
//!
//! Unsafe code is in [`foreign`] (what callers point to) and [`host`] (the host's memory and
//! functions) alone. Each call is counted, may be made to fail, takes the one lock and translates.

macro_rules! driver_calls {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$session:ident| $body:block)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[$crate::abi::entry::Entry] =
            &[$($crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            // SAFETY: the name is CUDA's, and this library exists to answer to it.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "CUDA's signatures")]
            extern "C" fn $name($($argument: $type),*) -> u32 {
                crate::abi::session::call(stringify!($name), |$session| $body)
            }
        )*
    };
}

mod attributes;
mod background;
mod context;
mod control;
mod copy_node;
mod copy_rows;
mod direct;
mod entry;
mod environment;
mod error;
mod event;
mod foreign;
mod graph;
mod hook;
mod host;
mod launch;
mod library;
mod link;
mod memory;
mod module;
mod node;
mod pages;
mod peer;
mod pool;
mod session;
mod stream;
mod sys;
mod transfer;
mod unmodelled;
mod versions;

pub use direct::{
    Findings, draw_anew, fail_call, forget_reports, is_initialized, last_findings, leaks, reports,
    start_anew, symbols,
};

/// The calls that are more than a refusal, file by file.
const CALLS: &[&[entry::Entry]] = &[
    context::CALLS,
    copy_node::CALLS,
    copy_rows::CALLS,
    entry::CALLS,
    error::CALLS,
    event::CALLS,
    graph::CALLS,
    launch::CALLS,
    library::CALLS,
    link::CALLS,
    memory::CALLS,
    module::CALLS,
    node::CALLS,
    pages::CALLS,
    peer::CALLS,
    pool::CALLS,
    stream::CALLS,
    transfer::CALLS,
];

/// Whether a call is more than a refusal.
fn is_modelled(name: &str) -> bool {
    name.starts_with("simcuda_") || calls().any(|call| call.name() == name)
}

fn calls() -> impl Iterator<Item = &'static entry::Entry> {
    CALLS.iter().copied().flatten()
}
