//! Sticky errors: which calls fail after a kernel has faulted, and which calls still work.

use driver_conformance::driver::{self, Event, Mode, Stream};
use driver_conformance::{Kernels, ask, codes};

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_in_a_kernel() {
    ask("calls after a kernel stored where there is no memory", |device, answers| {
        let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (kernels, span) = (Kernels::load()?, driver::allocate(64)?);
        let event = Event::new()?;
        answers.documented("the launch", kernels.fault(&stream, span), codes::SUCCESS);
        let sticky = codes::ILLEGAL_ADDRESS;
        answers.documented("cuStreamSynchronize", stream.synchronize(), sticky);
        answers.documented("and again", stream.synchronize(), sticky);
        answers.documented("another stream", other.synchronize(), sticky);
        answers.documented("cuCtxSynchronize", device.synchronize(), sticky);
        answers.documented("cuMemAlloc", driver::allocate(64), sticky);
        answers.documented("cuMemFree", driver::free(span), sticky);
        answers.documented("cuMemcpyDtoH", driver::download(span), sticky);
        answers.documented(
            "cuLaunchKernel",
            kernels.multiply_add.launch(&other, span, 1, 1),
            sticky,
        );
        answers.seen("cuMemGetInfo", driver::memory_information(), sticky);
        answers.seen("cuStreamCreate", Stream::non_blocking(), sticky);
        answers.seen("cuEventQuery", event.query(), sticky);
        answers.seen("cuEventRecord", event.record(&other), sticky);
        answers.seen("cuStreamBeginCapture", other.begin_capture(Mode::Relaxed), sticky);
        answers.seen("cuEventDestroy", event.destroy(), sticky);
        answers.seen("cuStreamDestroy", other.destroy(), sticky);
        answers.seen("asking the device", device.facts(), codes::SUCCESS);
        answers.seen("cuCtxSetCurrent", device.bind(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_in_a_graph() {
    ask("calls after a graph's kernel stored where there is no memory", |_, answers| {
        let (stream, kernels) = (Stream::non_blocking()?, Kernels::load()?);
        let span = driver::allocate(64)?;
        stream.begin_capture(Mode::ThreadLocal)?;
        answers.documented("in the capture", kernels.fault(&stream, span), codes::SUCCESS);
        let exec = stream.end_capture()?.instantiate()?;
        answers.documented("the launch", exec.launch(&stream), codes::SUCCESS);
        answers.documented("the wait", stream.synchronize(), codes::ILLEGAL_ADDRESS);
        answers.documented("the next launch", exec.launch(&stream), codes::ILLEGAL_ADDRESS);
        answers.seen("cuGraphExecDestroy", exec.destroy(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn errors_that_do_not_stay() {
    ask("calls after an error that is no fault", |device, answers| {
        let stream = Stream::non_blocking()?;
        answers.documented("0 bytes", driver::allocate(0), codes::INVALID_VALUE);
        answers.documented("a wait after it", device.synchronize(), codes::SUCCESS);
        answers.seen("a capture that was not begun", stream.end_capture(), codes::ILLEGAL_STATE);
        answers.documented("a wait after that", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}
