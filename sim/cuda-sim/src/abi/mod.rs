//! The C interface: the driver's calls, and the calls with which tests control the simulator.
//!
//! Only [`foreign`] (pointers from callers) and [`host`] (the host's memory and functions) contain
//! unsafe code. Each call is counted, fails if a test planned that, takes the single lock, and
//! translates its arguments.

macro_rules! driver_calls {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) |$session:ident| $body:block)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[$crate::abi::entry::Entry] =
            &[$($crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            // SAFETY: CUDA defines this name, and this library exists to provide it.
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
mod calls;
mod context;
mod control;
mod copy_node;
mod copy_rows;
mod direct;
mod entry;
mod environment;
mod error;
mod event;
mod faults;
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
#[cfg(test)]
mod read_over;
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
