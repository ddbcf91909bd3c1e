//! Other threads call the driver for the streams of a capture while it is under way, by safe calls. These may be
//! refused, or spoil the capture; the capture reads nothing that such a call may change meanwhile, which
//! ThreadSanitizer sees (`cargo xtask sim-test --sanitizer thread --only onlookers`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cudarc::driver::CudaStream;
use pool_cuda::{Cuda, record_use};
use pool_graph::CaptureSession;

use crate::common::{BYTES, Made, arena, pool, without_a_report};
use crate::support;

/// Captures of each order, and fills of each.
const CAPTURES: usize = 4;
const FILLS: u8 = 40;

/// Captures on two streams, while other threads do this with them until it is over. How many became graphs.
fn captures_beside(work: impl Fn(&[Arc<CudaStream>; 2], &AtomicBool) + Sync) -> usize {
    let context = Arc::clone(Cuda::device(0).unwrap().context());
    let streams = [(); 2].map(|()| context.new_stream().unwrap());
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| work(&streams, &is_over));
        }
        let made = (0..CAPTURES).filter(|_| is_made(&streams)).count();
        is_over.store(true, Ordering::Relaxed);
        made
    })
}

/// Whether a capture becomes a graph, which then does what it was to do.
fn is_made(streams: &[Arc<CudaStream>; 2]) -> bool {
    let pool = pool();
    let block = pool.allocate(BYTES).unwrap();
    let lease = pool.lease(&[block.id()]).unwrap();
    let session = CaptureSession::new(&streams[0]).unwrap().branch(&streams[1]).unwrap();
    let prepared = session.lease(lease).prepare(arena()).unwrap();
    let graph: Made = prepared.capture((), |capture, ()| {
        let side = capture.branch(0)?;
        for value in 0..FILLS {
            let mut view = capture.block::<u8>(&block)?;
            let on = if value % 3 == 0 { side } else { capture.main() };
            capture.fill_bytes(on, &mut view, value)?;
        }
        Ok(())
    });
    let Ok(mut graph) = graph else { return false };
    let mut bytes = [0_u8; 16];
    // Another thread may be in the middle of a call that a replay would be in the way of.
    if graph.replay().is_ok() && graph.read(&block, &mut bytes).is_ok() {
        assert_eq!(bytes, [FILLS - 1; 16]);
    }
    true
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn other_threads_ask_about_the_streams_of_a_capture() {
    let made = AtomicUsize::new(0);
    without_a_report(|| {
        let captures = captures_beside(|streams, is_over| {
            let mut pool = support::pool(&Cuda::device(0).unwrap());
            let scope = pool.scope();
            let view = scope.acquire::<u8, _>(100);
            while !is_over.load(Ordering::Relaxed) {
                // It is asked which capture the stream is in; where that changes meanwhile, waiting for
                // work from outside spoils it.
                for stream in streams {
                    let _ = record_use(&view, stream);
                }
            }
        });
        made.fetch_add(captures, Ordering::Relaxed);
    });
    assert!(made.into_inner() > 0, "no capture was left alone");
}
