//! The driver's stream-ordered pools: granularity, thresholds, limits, and reuse across streams.

use driver_conformance::driver::{
    self, Attribute, Device, Event, MemoryPool, Outcome, PoolAttribute, Stream,
};
use driver_conformance::{Answers, ask, codes};

use crate::support::Pending;

const MEBIBYTE: usize = 1 << 20;

fn ask_of_pools(topic: &str, question: impl FnOnce(&Device, &mut Answers) -> Outcome<()>) {
    ask(topic, |device, answers| {
        if device.attribute(Attribute::MemoryPools)? == 0 {
            answers.skip("the device has no stream-ordered allocation");
            return Ok(());
        }
        question(device, answers)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn granularity() {
    ask_of_pools("what a private pool takes", |device, answers| {
        let (stream, pool) = (Stream::non_blocking()?, MemoryPool::new(device, 0)?);
        let reserved = || pool.attribute(PoolAttribute::Reserved);
        answers.seen("reserved when new", reserved()?, 0_u64);
        let byte = stream.allocate_from(&pool, 1)?;
        answers.noted("reserved for one byte", reserved()?);
        answers.noted("used for one byte", pool.attribute(PoolAttribute::Used)?);
        let whole = reserved()? % (2 * MEBIBYTE as u64) == 0;
        answers.seen("reserved in units of 2 MiB", whole, true);
        let next = stream.allocate_from(&pool, 1)?;
        answers.noted("the next byte lies so far away", byte.address().abs_diff(next.address()));
        stream.allocate_from(&pool, 64 * MEBIBYTE)?;
        answers.noted("reserved for 64 MiB more", reserved()?);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn threshold() {
    ask_of_pools("what a private pool keeps", |device, answers| {
        let (stream, pool) = (Stream::non_blocking()?, MemoryPool::new(device, 0)?);
        let reserved = || pool.attribute(PoolAttribute::Reserved);
        let threshold = pool.attribute(PoolAttribute::ReleaseThreshold)?;
        answers.documented("threshold at first", threshold, 0_u64);
        let used = |answers: &mut Answers, when: &str, kept: bool| -> Outcome<()> {
            let span = stream.allocate_from(&pool, 64 * MEBIBYTE)?;
            stream.free(span)?;
            stream.synchronize()?;
            answers.documented(&format!("{when}: memory is kept"), reserved()? > 0, kept);
            Ok(())
        };
        used(answers, "threshold 0", false)?;
        pool.set_release_threshold(u64::MAX)?;
        used(answers, "threshold unlimited", true)?;
        pool.trim_to(0)?;
        answers.documented("after a trim", reserved()?, 0_u64);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_default_pool() {
    ask_of_pools("the default pool of the device", |device, answers| {
        let pool = MemoryPool::default_of(device)?;
        let threshold = pool.attribute(PoolAttribute::ReleaseThreshold)?;
        answers.documented("threshold", threshold, 0_u64);
        answers.seen("cuMemPoolDestroy", pool.destroy(), codes::INVALID_VALUE);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn maximum() {
    ask_of_pools("a private pool with a maximum", |device, answers| {
        let stream = Stream::non_blocking()?;
        let pool = MemoryPool::new(device, 64 * MEBIBYTE)?;
        let within = stream.allocate_from(&pool, 32 * MEBIBYTE);
        answers.documented("32 of 64 MiB", within, codes::SUCCESS);
        let beyond = stream.allocate_from(&pool, 64 * MEBIBYTE);
        answers.documented("64 more", beyond, codes::OUT_OF_MEMORY);
        answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn reuse_on_one_stream() {
    ask_of_pools("memory freed and allocated on one stream", |device, answers| {
        let (pending, pool) = (Pending::new()?, MemoryPool::new(device, 0)?);
        let stream = &pending.stream;
        let first = stream.allocate_from(&pool, MEBIBYTE)?;
        stream.free(first)?;
        let second = stream.allocate_from(&pool, MEBIBYTE)?;
        let same = first.address() == second.address();
        answers.seen("the same address, before anything ran", same, true);
        answers.seen("without waiting", pending.gate.was_passed(), false);
        pending.finish()
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn reuse_across_streams() {
    ask_of_pools("memory freed on one stream and allocated on another", |device, answers| {
        let other = Stream::non_blocking()?;
        let (pending, pool) = (Pending::new()?, MemoryPool::new(device, 0)?);
        pool.set_release_threshold(u64::MAX)?;
        let first = pending.stream.allocate_from(&pool, MEBIBYTE)?;
        pending.stream.free(first)?;
        let unordered = other.allocate_from(&pool, MEBIBYTE)?;
        let same = unordered.address() == first.address();
        answers.noted("without order, while the free is pending: the same address", same);
        other.free(unordered)?;
        let waiting = Stream::non_blocking()?;
        waiting.wait(&Event::recorded(&pending.stream)?)?;
        let ordered = waiting.allocate_from(&pool, MEBIBYTE)?;
        let same = ordered.address() == first.address();
        answers.noted("behind an event after the free: the same address", same);
        answers.seen("without waiting on the host", pending.gate.was_passed(), false);
        pending.finish()
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn use_on_another_stream() {
    ask_of_pools("memory of one stream used on another", |_, answers| {
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let span = first.allocate(MEBIBYTE)?;
        second.wait(&Event::recorded(&first)?)?;
        answers.documented(
            "behind an event",
            driver::fill_behind(&second, span, 5),
            codes::SUCCESS,
        );
        answers.documented("freed on the other", second.free(span), codes::SUCCESS);
        answers.documented("and wait", second.synchronize(), codes::SUCCESS);
        answers.seen("freed again", second.free(span), codes::INVALID_VALUE);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_other_way_to_free() {
    ask_of_pools("mixing the two ways to free", |_, answers| {
        let stream = Stream::non_blocking()?;
        let ordered = stream.allocate(MEBIBYTE)?;
        stream.synchronize()?;
        answers.documented(
            "cuMemFree of stream-ordered memory",
            driver::free(ordered),
            codes::SUCCESS,
        );
        let plain = driver::allocate(MEBIBYTE)?;
        answers.seen("cuMemFreeAsync of plain memory", stream.free(plain), codes::SUCCESS);
        answers.assumed("and wait", stream.synchronize(), codes::SUCCESS);
        answers.assumed("cuMemFree of it", driver::free(plain), codes::INVALID_VALUE);
        Ok(())
    });
}

/// `CudaDevice::grant_peer_access` checks that a device can access another device's memory, and
/// then enables access to that device's memory pool. It relies on kernels of the pool's own device
/// having access from the start.
#[test]
#[ignore = "needs a CUDA device"]
fn whose_kernels_may_use_a_pool() {
    ask_of_pools("the access to a pool", |device, answers| {
        let pool = MemoryPool::new(device, 0)?;
        answers.documented("of its own device", pool.access(0)?, 3_u32);
        answers.documented("taken from that", pool.set_access(0, false).is_ok(), false);
        answers.documented("of its own device then", pool.access(0)?, 3_u32);
        let Ok(can) = driver::can_reach(1, 0) else {
            answers.skip("there is no second device");
            return pool.destroy();
        };
        answers.noted("a second device can be let", can);
        answers.documented("of a second device", pool.access(1)?, 0_u32);
        answers.documented("given to it", pool.set_access(1, true).is_ok(), can);
        answers.documented("of it then", pool.access(1)?, if can { 3_u32 } else { 0 });
        pool.destroy()
    });
}
