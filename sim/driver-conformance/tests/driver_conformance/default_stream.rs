//! The default streams, and which streams they wait for.

use driver_conformance::driver::{self, Stream};
use driver_conformance::{ask, codes};

use crate::support::Pending;

#[test]
#[ignore = "needs a CUDA device"]
fn legacy_waits_for_blocking_streams() {
    ask("the legacy stream behind a blocking stream", |_, answers| {
        let span = driver::allocate(64)?;
        let (legacy, pending) = (Stream::legacy(), Pending::on(Stream::blocking()?)?);
        driver::fill_behind(&legacy, span, 1)?;
        answers.documented("its work is pending", legacy.query(), codes::NOT_READY);
        legacy.synchronize()?;
        answers.documented("it waited", pending.gate.was_passed(), true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn legacy_does_not_wait_for_non_blocking_streams() {
    ask("the legacy stream beside a non-blocking stream", |_, answers| {
        let span = driver::allocate(64)?;
        let (legacy, pending) = (Stream::legacy(), Pending::new()?);
        driver::fill_behind(&legacy, span, 1)?;
        answers.documented("waiting for it", legacy.synchronize(), codes::SUCCESS);
        answers.documented("it waited for the other", pending.gate.was_passed(), false);
        pending.finish()
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn blocking_streams_wait_for_legacy() {
    ask("streams behind the legacy stream", |_, answers| {
        let span = driver::allocate(64)?;
        let (blocking, free) = (Stream::blocking()?, Stream::non_blocking()?);
        let pending = Pending::on(Stream::legacy())?;
        driver::fill_behind(&blocking, span, 1)?;
        driver::fill_behind(&free, span, 1)?;
        answers.documented("a non-blocking one", free.synchronize(), codes::SUCCESS);
        answers.documented("it waited", pending.gate.was_passed(), false);
        answers.documented("a blocking one", blocking.query(), codes::NOT_READY);
        blocking.synchronize()?;
        answers.documented("that one waited", pending.gate.was_passed(), true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_stream_of_a_thread_waits_for_legacy() {
    ask("the default stream of a thread behind the legacy stream", |_, answers| {
        let span = driver::allocate(64)?;
        let (mine, pending) = (Stream::per_thread(), Pending::on(Stream::legacy())?);
        driver::fill_behind(&mine, span, 1)?;
        mine.synchronize()?;
        answers.documented("it waited", pending.gate.was_passed(), true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_whole_context_waits_for_every_stream() {
    ask("waiting for the context", |device, answers| {
        let pending = Pending::new()?;
        device.synchronize()?;
        answers.documented("it waited for a non-blocking stream", pending.gate.was_passed(), true);
        Ok(())
    });
}
