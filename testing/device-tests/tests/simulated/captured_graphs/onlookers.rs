//! Other threads make safe driver calls for the streams of a capture in progress. Such calls may be
//! refused, or may invalidate the capture. The capture reads nothing that such a call may change at
//! the same time, which ThreadSanitizer checks (`cargo xtask sim-test --sanitizer thread --only
//! onlookers`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use cudarc::driver::CudaStream;
use pool_cuda::{Cuda, record_use};
use pool_graph::CaptureSession;

use crate::common::{BYTES, Made, arena, pool, without_a_report};
use crate::support;

/// The number of captures in each order, and the number of fills in each capture.
const CAPTURES: usize = 4;
const FILLS: u8 = 40;

/// Captures on two streams, while other threads run `work` on these streams until the captures end.
/// Returns the number of graphs.
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

/// Returns `true` if a capture becomes a graph. The graph must then have the right effect.
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
    // A call of another thread may conflict with a replay.
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
                // Each query returns the stream's capture. If the capture changes during the query,
                // a wait for outside work invalidates it.
                for stream in streams {
                    let _ = record_use(&view, stream);
                }
            }
        });
        made.fetch_add(captures, Ordering::Relaxed);
    });
    assert!(made.into_inner() > 0, "no capture was left alone");
}
