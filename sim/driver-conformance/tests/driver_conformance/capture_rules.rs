//! Beginning, ending and invalidating captures.

use std::thread;

use driver_conformance::driver::{self, Event, Mode, Span, Status, Stream};
use driver_conformance::{Answer, Gate, Kernels, ask, codes};

#[test]
#[ignore = "needs a CUDA device"]
fn begin_twice() {
    ask("a capture begun twice", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        answers.seen("the second time", stream.begin_capture(Mode::Relaxed), codes::ILLEGAL_STATE);
        answers.seen("status after it", stream.status()?, Status::Active);
        answers.seen("its end", stream.end_capture(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn end_without_beginning() {
    ask("the end of a capture that was not begun", |_, answers| {
        let stream = Stream::non_blocking()?;
        answers.seen("cuStreamEndCapture", stream.end_capture(), codes::ILLEGAL_STATE);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn default_streams_cannot_capture() {
    ask("capture of the default streams", |_, answers| {
        let legacy = Stream::legacy().begin_capture(Mode::Relaxed);
        answers.documented("legacy", legacy, codes::CAPTURE_UNSUPPORTED);
        let per_thread = Stream::per_thread();
        answers.seen("per thread", per_thread.begin_capture(Mode::Relaxed), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_empty_capture() {
    ask("a capture of nothing", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        let graph = stream.end_capture()?;
        answers.documented("nodes", graph.nodes()?.len(), 0_usize);
        let exec = graph.instantiate();
        answers.assumed("cuGraphInstantiate", &exec, codes::SUCCESS);
        answers.assumed("cuGraphLaunch", exec?.launch(&stream), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn synchronize_the_capturing_stream() {
    ask("waiting for the stream that captures", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        let waited = stream.synchronize();
        answers.documented("cuStreamSynchronize", waited, codes::CAPTURE_UNSUPPORTED);
        answers.documented("status after it", stream.status()?, Status::Invalidated);
        answers.documented("its end", stream.end_capture(), codes::CAPTURE_INVALIDATED);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn query_the_capturing_stream() {
    ask("query of the stream that captures", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        answers.documented("cuStreamQuery", stream.query(), codes::CAPTURE_UNSUPPORTED);
        answers.documented("status after it", stream.status()?, Status::Invalidated);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn merge_two_captures() {
    ask("a capture that waits for another", |_, answers| {
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        first.begin_capture(Mode::Relaxed)?;
        second.begin_capture(Mode::Relaxed)?;
        let event = Event::recorded(&first)?;
        answers.documented("cuStreamWaitEvent", second.wait(&event), codes::CAPTURE_MERGE);
        answers.seen("the one that waited", second.status()?, Status::Invalidated);
        answers.seen("the other", first.status()?, Status::Invalidated);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn end_on_another_stream() {
    ask("a capture ended on its branch", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        stream.begin_capture(Mode::Relaxed)?;
        branch.wait(&Event::recorded(&stream)?)?;
        answers.documented("cuStreamEndCapture", branch.end_capture(), codes::CAPTURE_UNMATCHED);
        answers.seen("the stream", stream.status()?, Status::Invalidated);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn end_on_another_thread() {
    ask("a capture ended by another thread", |device, answers| {
        for (mode, expected) in [
            (Mode::Global, codes::CAPTURE_WRONG_THREAD),
            (Mode::ThreadLocal, codes::CAPTURE_WRONG_THREAD),
            (Mode::Relaxed, codes::SUCCESS),
        ] {
            let stream = Stream::non_blocking()?;
            stream.begin_capture(mode)?;
            let ended = thread::scope(|scope| {
                let end = || -> Answer { device.bind().and_then(|()| stream.end_capture()).into() };
                scope.spawn(end).join()
            });
            let ended = ended.unwrap_or_else(|_| "a panic".into());
            answers.documented(&format!("{mode:?}"), ended, expected);
            // What remains of the capture must not affect the next capture.
            let _ = stream.end_capture();
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_legacy_stream_during_a_capture() {
    ask("the legacy stream during a capture", |_, answers| {
        let span = driver::allocate(64)?;
        let legacy = Stream::legacy();
        let capturing = Stream::blocking()?;
        capturing.begin_capture(Mode::Relaxed)?;
        let filled = driver::fill_behind(&legacy, span, 1);
        answers.documented("of a blocking stream", filled, codes::CAPTURE_IMPLICIT);
        answers.seen("status after it", capturing.status()?, Status::Invalidated);
        let _ = capturing.end_capture();
        let capturing = Stream::non_blocking()?;
        capturing.begin_capture(Mode::Relaxed)?;
        let filled = driver::fill_behind(&legacy, span, 1);
        answers.documented("of a non-blocking stream", filled, codes::SUCCESS);
        answers.documented("status after it", capturing.status()?, Status::Active);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn destroy_a_capturing_stream() {
    ask("a stream destroyed while it captures", |_, answers| {
        let stream = Stream::non_blocking()?;
        stream.begin_capture(Mode::Relaxed)?;
        answers.seen("cuStreamDestroy", stream.destroy(), codes::SUCCESS);
        let next = Stream::non_blocking()?;
        answers.documented("the next stream", next.synchronize(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn calls_after_a_capture_was_spoiled() {
    ask("calls on a stream whose capture was spoiled", |_, answers| {
        let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (kernels, span) = (Kernels::load()?, driver::allocate(64)?);
        let event = Event::new()?;
        stream.begin_capture(Mode::Relaxed)?;
        driver::fill_behind(&stream, span, 1)?;
        // Waiting for a stream that is capturing invalidates the capture.
        let _ = stream.synchronize();
        let spoiled = codes::CAPTURE_INVALIDATED;
        answers.seen("cuLaunchKernel", kernels.multiply_add.launch(&stream, span, 1, 1), spoiled);
        answers.seen("cuMemsetD8Async", driver::fill_behind(&stream, span, 1), spoiled);
        answers.seen("cuLaunchHostFunc", stream.hold(Gate::closed()), spoiled);
        answers.seen("cuMemAllocAsync", stream.allocate(64), spoiled);
        answers.seen("cuEventRecord", event.record(&stream), spoiled);
        let unsupported = codes::CAPTURE_UNSUPPORTED;
        answers.seen("cuStreamSynchronize", stream.synchronize(), unsupported);
        answers.seen("cuStreamQuery", stream.query(), unsupported);
        let begun = stream.begin_capture(Mode::Relaxed);
        answers.seen("cuStreamBeginCapture", begun, codes::ILLEGAL_STATE);
        answers.documented("another stream", other.synchronize(), codes::SUCCESS);
        answers.documented("cuStreamEndCapture", stream.end_capture(), spoiled);
        answers.seen("and again", stream.end_capture(), codes::ILLEGAL_STATE);
        answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
        let next = stream.begin_capture(Mode::Relaxed).and_then(|()| stream.end_capture());
        answers.documented("the next capture", next, codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_kernel_launched_first_in_a_capture() {
    ask("a kernel launched for the first time in a capture", |_, answers| {
        let span = driver::allocate(64)?;
        for mode in Mode::ALL {
            let (stream, kernels) = (Stream::non_blocking()?, Kernels::load_only()?);
            stream.begin_capture(mode)?;
            let launched = kernels.multiply_add.launch(&stream, span, 1, 1);
            answers.seen(&format!("{mode:?}"), launched, codes::SUCCESS);
            let ended = stream.end_capture();
            answers.seen(&format!("{mode:?}, its end"), ended, codes::SUCCESS);
        }
        Ok(())
    });
}

/// A `pool-graph` probe runs a body at made-up addresses, on a stream whose capture is discarded.
/// Launches and fills accept such addresses. A probe skips its own copies and fills. A copy that a
/// body makes through cudarc is refused. The probe then returns the driver's error, and the body
/// must use the views' own `copy_from`. It does not matter whether the capture is invalidated.
#[test]
#[ignore = "needs a CUDA device"]
fn addresses_that_are_made_up() {
    ask("made-up addresses in a capture", |_, answers| {
        let stream = Stream::non_blocking()?;
        let (span, none) = (driver::allocate(64)?, Span::made_up(64));
        stream.begin_capture(Mode::Relaxed)?;
        answers.seen("a fill", driver::fill_behind(&stream, none, 1), codes::SUCCESS);
        answers.noted("status after it", stream.status()?);
        drop(stream.end_capture());
        stream.begin_capture(Mode::Relaxed)?;
        let copied = driver::copy_behind(&stream, none, span);
        answers.seen("a copy", copied, codes::INVALID_VALUE);
        answers.noted("status after it", stream.status()?);
        drop(stream.end_capture());
        answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}
