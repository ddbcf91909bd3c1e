//! Allocating, freeing, stale addresses, empty allocations, and the reported free memory.

use driver_conformance::driver::{self, HostBuffer, Outcome, Stream};
use driver_conformance::{Answers, ask, codes};

use crate::support::Pending;

/// Returns `true` if a call waits for work on an unrelated stream.
fn waits(
    answers: &mut Answers,
    call: &str,
    expected: bool,
    make: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    let pending = Pending::new()?;
    make()?;
    let waited = pending.gate.was_passed();
    answers.seen(&format!("{call} waits"), waited, expected);
    pending.finish()
}

#[test]
#[ignore = "needs a CUDA device"]
fn implicit_synchronisation() {
    ask("calls that wait for the work of a non-blocking stream", |_, answers| {
        let span = driver::allocate(1 << 20)?;
        waits(answers, "cuMemFree", true, || driver::free(span))?;
        waits(answers, "cuMemAlloc", false, || driver::allocate(1 << 20).map(drop))?;
        waits(answers, "cuMemHostAlloc", false, || HostBuffer::pinned(1 << 20).map(drop))?;
        waits(answers, "cuStreamCreate", false, || Stream::non_blocking().map(drop))?;
        waits(answers, "cuMemGetInfo", false, || driver::memory_information().map(drop))?;
        let stream = Stream::non_blocking()?;
        waits(answers, "cuStreamDestroy", false, || stream.destroy())?;
        let stream = Stream::non_blocking()?;
        let span = stream.allocate(1 << 20)?;
        waits(answers, "cuMemFreeAsync", false, || stream.free(span))
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn stale_addresses() {
    ask("use of memory that was freed", |_, answers| {
        let span = driver::allocate(1 << 20)?;
        answers.documented("cuMemFree", driver::free(span), codes::SUCCESS);
        answers.seen("cuMemFree again", driver::free(span), codes::INVALID_VALUE);
        let uploaded = driver::upload(span, &[1; 64]);
        answers.seen("cuMemcpyHtoD", uploaded, codes::INVALID_VALUE);
        answers.seen("cuMemcpyDtoH", driver::download(span), codes::INVALID_VALUE);
        answers.seen("cuMemsetD8", driver::fill(span, 1), codes::INVALID_VALUE);
        answers.seen("and nothing stays broken", driver::allocate(64), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_address_inside_an_allocation() {
    ask("cuMemFree of an address inside an allocation", |_, answers| {
        let span = driver::allocate(1 << 20)?;
        let inside = driver::free(span.part(256, 256));
        answers.seen("it", inside, codes::INVALID_VALUE);
        answers.documented("the allocation afterwards", driver::free(span), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn nothing_at_all() {
    ask("calls with 0 bytes", |_, answers| {
        let stream = Stream::non_blocking()?;
        let span = driver::allocate(64)?;
        let empty = span.part(0, 0);
        answers.documented("cuMemAlloc", driver::allocate(0), codes::INVALID_VALUE);
        let ordered = stream.allocate(0);
        answers.seen("cuMemAllocAsync", ordered, codes::SUCCESS);
        if let Ok(ordered) = ordered {
            answers.noted("cuMemAllocAsync: the address is null", ordered.address() == 0);
            answers.noted("cuMemFreeAsync of that address", stream.free(ordered));
        }
        // Pools and graphs never allocate 0 bytes, because an empty copy is skipped, and they treat
        // a null address as exhausted memory. They are correct with either code.
        let pinned = HostBuffer::pinned(0);
        answers.seen("cuMemHostAlloc", pinned, codes::SUCCESS);
        if let Ok(pinned) = pinned {
            answers.noted("cuMemHostAlloc: the address is null", pinned.is_null());
        }
        answers.seen("cuMemsetD8", driver::fill(empty, 1), codes::SUCCESS);
        answers.seen("cuMemsetD8Async", driver::fill_behind(&stream, empty, 1), codes::SUCCESS);
        answers.seen("cuMemcpyHtoD", driver::upload(empty, &[]), codes::SUCCESS);
        answers.seen("cuMemcpyDtoD", driver::copy(empty, empty), codes::SUCCESS);
        let copied = driver::copy_behind(&stream, empty, empty);
        answers.seen("cuMemcpyDtoDAsync", copied, codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn accounting() {
    ask("what cuMemGetInfo counts", |device, answers| {
        let free_now = || driver::memory_information().map(|(free, _)| free);
        let (_, total) = driver::memory_information()?;
        answers.noted("total", total);
        answers.noted("total of the device", device.facts().map_or(0, |facts| facts.bytes));
        let before = free_now()?;
        let small = driver::allocate(1)?;
        answers.noted("one byte takes", before.saturating_sub(free_now()?));
        let beside = free_now()?;
        let other = driver::allocate(1)?;
        answers.seen("the next byte takes", beside.saturating_sub(free_now()?), 0_usize);
        answers.noted("and lies so far away", small.address().abs_diff(other.address()));
        let before = free_now()?;
        let large = driver::allocate(64 << 20)?;
        answers.seen("64 MiB take", before.saturating_sub(free_now()?), 64_usize << 20);
        driver::free(large)?;
        answers.seen("and are back after the free", free_now()? == before, true);
        let unit = |address: u64| address % 512 == 0;
        let aligned = unit(small.address()) && unit(other.address());
        answers.seen("allocations start at multiples of 512", aligned, true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn more_than_there_is() {
    ask("an allocation that does not fit", |_, answers| {
        let (_, total) = driver::memory_information()?;
        let stream = Stream::non_blocking()?;
        answers.documented("cuMemAlloc", driver::allocate(2 * total), codes::OUT_OF_MEMORY);
        let ordered = stream.allocate(2 * total);
        answers.documented("cuMemAllocAsync", ordered, codes::OUT_OF_MEMORY);
        answers.documented("the next one that fits", driver::allocate(64), codes::SUCCESS);
        answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}
