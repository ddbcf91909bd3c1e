//! A deadlock that the third attack on the device code found with a hook of the allocator.
//!
//! The test needs its own process: `cargo xtask sim-test` runs it, and kills it if it hangs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "captured_graphs/common.rs"]
mod common;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "backend/support.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};

use common::{BYTES, Made, arena, pool, stream};
use cuda_sim_control::Settings;
use pool_graph::{CaptureSession, PreparedCapture};
use support::{start, start_anew};

/// The system allocator with a hook.
struct Hooked;

thread_local! {
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    static RAN: Cell<bool> = const { Cell::new(false) };
    static PREPARED: RefCell<Option<PreparedCapture>> = const { RefCell::new(None) };
}

// SAFETY: all calls go to the system allocator, and the hook does not unwind.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        one_more();
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        one_more();
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static HOOKED: Hooked = Hooked;

/// The hook, which creates a graph on the stream of the program's graph.
fn one_more() {
    match LEFT.get() {
        None => {}
        Some(0) => {
            LEFT.set(None);
            RAN.set(true);
            PREPARED.with_borrow(|prepared| {
                let made: Made = prepared.as_ref().unwrap().capture((), |capture, ()| {
                    capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(8)?, 1)
                });
                drop(made);
            });
        }
        Some(left) => LEFT.set(Some(left - 1)),
    }
}

/// B12: `write` registered its use of the stream (`StreamUse`) and then allocated and freed. A
/// capture of that stream in the hook waited for all users, and therefore for itself.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_in_a_hook_of_the_allocator_waits_for_no_write_of_its_own() {
    let simulator = start();
    for nth in 1.. {
        start_anew(simulator, Settings::default(), nth);
        let (main, pool) = (stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let session = CaptureSession::new(&main).unwrap();
        let session = session.lease(pool.lease(&[block.id()]).unwrap());
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 1)
        });
        let mut graph = made.unwrap();
        PREPARED.set(Some(CaptureSession::new(&main).unwrap().prepare(arena()).unwrap()));
        graph.write(&block, &[1_u8; 100]).unwrap();
        RAN.set(false);
        LEFT.set(Some(nth));
        graph.write(&block, &[1_u8; 100]).unwrap();
        LEFT.set(None);
        drop(graph);
        PREPARED.set(None);
        simulator.assert_clean();
        if !RAN.get() {
            return;
        }
    }
}
