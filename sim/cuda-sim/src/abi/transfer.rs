//! Copies and fills.

use crate::world::{Copy, End, Fill, is_device_address};

fn copy(to: End, from: End, bytes: usize) -> Copy {
    Copy::row(to, from, bytes)
}

/// Returns the end of a copy for a device or host address. No address belongs to both.
pub(super) fn anywhere(address: u64) -> End {
    if is_device_address(address) { End::Device(address) } else { End::Host(address) }
}

driver_calls! {
    fn cuMemcpy(to: u64, from: u64, bytes: usize) |session| {
        let (thread, copy) = (session.thread, copy(anywhere(to), anywhere(from), bytes));
        let goal = session.copy(thread, copy, "cuMemcpy")?;
        session.reach(goal)
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: u64) |session| {
        let (thread, copy) = (session.thread, copy(anywhere(to), anywhere(from), bytes));
        let goal = session.copy_async(thread, stream, copy, "cuMemcpyAsync")?;
        session.reach(goal)
    }

    fn cuMemcpyPeer(to: u64, target: u64, from: u64, source: u64, bytes: usize) |session| {
        session.context(target)?;
        session.context(source)?;
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Device(from), bytes));
        let goal = session.copy(thread, copy, "cuMemcpyPeer")?;
        session.reach(goal)
    }

    fn cuMemcpyPeerAsync(
        to: u64,
        target: u64,
        from: u64,
        source: u64,
        bytes: usize,
        stream: u64,
    ) |session| {
        session.context(target)?;
        session.context(source)?;
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Device(from), bytes));
        let goal = session.copy_async(thread, stream, copy, "cuMemcpyPeerAsync")?;
        session.reach(goal)
    }

    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) |session| {
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Host(from), bytes));
        let goal = session.copy(thread, copy, "cuMemcpyHtoD")?;
        session.reach(goal)
    }

    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) |session| {
        let (thread, copy) = (session.thread, copy(End::Host(to), End::Device(from), bytes));
        let goal = session.copy(thread, copy, "cuMemcpyDtoH")?;
        session.reach(goal)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) |session| {
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Device(from), bytes));
        let goal = session.copy(thread, copy, "cuMemcpyDtoD")?;
        session.reach(goal)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) |session| {
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Host(from), bytes));
        let goal = session.copy_async(thread, stream, copy, "cuMemcpyHtoDAsync")?;
        session.reach(goal)
    }

    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) |session| {
        let (thread, copy) = (session.thread, copy(End::Host(to), End::Device(from), bytes));
        let goal = session.copy_async(thread, stream, copy, "cuMemcpyDtoHAsync")?;
        session.reach(goal)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) |session| {
        let (thread, copy) = (session.thread, copy(End::Device(to), End::Device(from), bytes));
        let goal = session.copy_async(thread, stream, copy, "cuMemcpyDtoDAsync")?;
        session.reach(goal)
    }

    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) |session| {
        let thread = session.thread;
        let goal = session.fill(thread, Fill::row(to, value.into(), 1, count), "cuMemsetD8")?;
        session.reach(goal)
    }

    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) |session| {
        let thread = session.thread;
        let goal = session.fill(thread, Fill::row(to, value.into(), 2, count), "cuMemsetD16")?;
        session.reach(goal)
    }

    fn cuMemsetD32_v2(to: u64, value: u32, count: usize) |session| {
        let thread = session.thread;
        let goal = session.fill(thread, Fill::row(to, value, 4, count), "cuMemsetD32")?;
        session.reach(goal)
    }

    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: u64) |session| {
        let (thread, fill) = (session.thread, Fill::row(to, value.into(), 1, count));
        session.fill_async(thread, stream, fill, "cuMemsetD8Async")
    }

    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: u64) |session| {
        let (thread, fill) = (session.thread, Fill::row(to, value.into(), 2, count));
        session.fill_async(thread, stream, fill, "cuMemsetD16Async")
    }

    fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: u64) |session| {
        let (thread, fill) = (session.thread, Fill::row(to, value, 4, count));
        session.fill_async(thread, stream, fill, "cuMemsetD32Async")
    }
}
