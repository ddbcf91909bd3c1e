//! Copies to and from pageable and pinned host memory: whether they block, and what they copy.

use driver_conformance::driver::{self, HostBuffer, Outcome, Span, Stream};
use driver_conformance::{Answers, ask};

use crate::support::Pending;

const SMALL: usize = 4 << 10;
const LARGE: usize = 8 << 20;

/// Copies to the device after pending work, overwrites the source immediately, and checks the
/// target. Returns two flags: whether the call waited, and whether the old bytes arrived.
fn up(host: HostBuffer, to: Span) -> Outcome<(bool, bool)> {
    host.fill(1);
    let pending = Pending::new()?;
    host.upload_behind(&pending.stream, to)?;
    let waited = pending.gate.was_passed();
    host.fill(2);
    pending.finish()?;
    Ok((waited, driver::download(to)?.iter().all(|byte| *byte == 1)))
}

/// Copies to the host after pending work. Returns two flags: whether the call waited, and whether
/// the bytes arrived in the end.
fn down(host: HostBuffer, from: Span) -> Outcome<(bool, bool)> {
    driver::fill(from, 7)?;
    // The fill is ordered after the legacy stream, which a non-blocking stream does not wait for.
    Stream::legacy().synchronize()?;
    let pending = Pending::new()?;
    host.download_behind(&pending.stream, from)?;
    let waited = pending.gate.was_passed();
    pending.finish()?;
    Ok((waited, host.read().iter().all(|byte| *byte == 7)))
}

#[test]
#[ignore = "needs a CUDA device"]
fn pageable_up() {
    ask("cuMemcpyHtoDAsync from pageable memory", |_, answers| {
        for (size, bytes) in [("4 KiB", SMALL), ("8 MiB", LARGE)] {
            let (waited, old) = up(HostBuffer::pageable(bytes), driver::allocate(bytes)?)?;
            answers.documented(&format!("{size}: the source may be overwritten"), old, true);
            answers.seen(&format!("{size}: it waits"), waited, bytes == LARGE);
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn pageable_down() {
    ask("cuMemcpyDtoHAsync to pageable memory", |_, answers| {
        for (size, bytes) in [("4 KiB", SMALL), ("8 MiB", LARGE)] {
            let (waited, whole) = down(HostBuffer::pageable(bytes), driver::allocate(bytes)?)?;
            answers.documented(&format!("{size}: it waits"), waited, true);
            answers.documented(&format!("{size}: it is whole"), whole, true);
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn pinned_up() {
    ask("cuMemcpyHtoDAsync from pinned memory", |_, answers| {
        for (size, bytes) in [("4 KiB", SMALL), ("8 MiB", LARGE)] {
            let (waited, old) = up(HostBuffer::pinned(bytes)?, driver::allocate(bytes)?)?;
            answers.documented(&format!("{size}: it waits"), waited, false);
            answers.seen(&format!("{size}: the source may be overwritten"), old, false);
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn pinned_down() {
    ask("cuMemcpyDtoHAsync to pinned memory", |_, answers| {
        for (size, bytes) in [("4 KiB", SMALL), ("8 MiB", LARGE)] {
            let (waited, whole) = down(HostBuffer::pinned(bytes)?, driver::allocate(bytes)?)?;
            answers.documented(&format!("{size}: it waits"), waited, false);
            answers.documented(&format!("{size}: it is whole in the end"), whole, true);
        }
        Ok(())
    });
}

/// Returns `true` if a call on the legacy stream waits for a non-blocking stream.
fn synchronous(
    answers: &mut Answers,
    call: &str,
    make: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    let pending = Pending::new()?;
    make()?;
    let waited = pending.gate.was_passed();
    answers.documented(&format!("{call} waits"), waited, false);
    pending.finish()
}

#[test]
#[ignore = "needs a CUDA device"]
fn synchronous_copies_beside_a_non_blocking_stream() {
    ask("synchronous copies beside a non-blocking stream", |_, answers| {
        let span = driver::allocate(SMALL)?;
        let half = SMALL / 2;
        synchronous(answers, "cuMemcpyHtoD", || driver::upload(span, &[1; SMALL]))?;
        synchronous(answers, "cuMemcpyDtoH", || driver::download(span).map(drop))?;
        synchronous(answers, "cuMemcpyDtoD", || {
            driver::copy(span.part(0, half), span.part(half, half))
        })?;
        synchronous(answers, "cuMemsetD8", || driver::fill(span, 1))
    });
}
