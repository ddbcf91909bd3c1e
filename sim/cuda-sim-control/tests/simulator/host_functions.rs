//! Host functions, and the thread that runs them.

use std::ffi::c_void;
use std::sync::mpsc::{Receiver, channel};

use cudarc::driver::{CudaContext, sys};

use crate::support::{start, with_seed};

/// Blocks until a message arrives.
extern "C" fn wait(receiver: *mut c_void) {
    // SAFETY: the test keeps the receiver until the stream has been synchronized.
    let receiver = unsafe { &*receiver.cast_const().cast::<Receiver<()>>() };
    let _ = receiver.recv();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_query_does_not_run_a_host_function_on_the_thread_that_asks() {
    let simulator = start();
    for seed in 0..10 {
        let device = with_seed(simulator, seed);
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let (sender, receiver) = channel::<()>();
        let raw = stream.cu_stream();
        let place: *const Receiver<()> = &raw const receiver;
        // SAFETY: the stream is live.
        // The receiver lives until the stream has been synchronized.
        let put = unsafe { sys::cuLaunchHostFunc(raw, Some(wait), place.cast_mut().cast()) };
        assert_eq!(put as u32, 0);
        for _ in 0..3 {
            // If the function ran on this thread, it would wait forever.
            // SAFETY: the stream is live.
            let answer = unsafe { sys::cuStreamQuery(raw) };
            assert_eq!(answer, sys::CUresult::CUDA_ERROR_NOT_READY);
        }
        sender.send(()).unwrap();
        stream.synchronize().unwrap();
        drop((stream, context, device));
    }
    simulator.assert_clean();
}
