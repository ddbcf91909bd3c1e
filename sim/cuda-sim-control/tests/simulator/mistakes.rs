//! Planted mistakes: each must be found, in every order that a seed draws.

use cuda_sim_control::{Mistake, Report, Settings};
use cudarc::driver::{CudaContext, DevicePtrMut, result, sys};
use driver_conformance::driver::{self, HostBuffer, Mode, Outcome, Stream};

use crate::support::{filled, join, seeds_with, start};

const SEEDS: u64 = 50;

/// A producer and a consumer on two streams, with or without the event between them.
fn producer_and_consumer(joined: bool) -> Outcome<Vec<u8>> {
    let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (from, to) = (filled(4096, 1)?, filled(4096, 2)?);
    driver::fill_behind(&first, from, 3)?;
    if joined {
        join(&second, &first)?;
    }
    driver::copy_behind(&second, to, from)?;
    let host = HostBuffer::pinned(4096)?;
    host.download_behind(&second, to)?;
    second.synchronize()?;
    first.synchronize()?;
    Ok(host.read())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_missing_join_is_reported_whatever_the_data() {
    let simulator = start();
    let wrong = std::cell::Cell::new(0);
    let reported = seeds_with(simulator, SEEDS, Mistake::Race, |_| {
        let bytes = producer_and_consumer(false)?;
        wrong.set(wrong.get() + u32::from(bytes != [3; 4096]));
        Ok(())
    });
    println!("reported in {reported} of {SEEDS} seeds, data wrong in {}", wrong.get());
    assert_eq!(reported, SEEDS);
    // Both orders must occur, or the order is not adversarial; a background thread may always have
    // one.
    assert!(Settings::default().background || (1..50).contains(&wrong.get()));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_join_is_no_mistake() {
    let reported = seeds_with(start(), SEEDS, Mistake::Race, |_| {
        assert_eq!(producer_and_consumer(true)?, [3; 4096]);
        Ok(())
    });
    assert_eq!(reported, 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn use_after_free() {
    let reported = seeds_with(start(), SEEDS, Mistake::UseAfterFree, |_| {
        let stream = Stream::non_blocking()?;
        let span = filled(4096, 1)?;
        driver::free(span)?;
        assert!(driver::fill_behind(&stream, span.part(8, 8), 0).is_err());
        stream.synchronize()
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn use_after_a_free_in_stream_order() {
    let reported = seeds_with(start(), SEEDS, Mistake::UseAfterFree, |_| {
        let stream = Stream::non_blocking()?;
        let span = stream.allocate(4096)?;
        stream.free(span)?;
        assert!(driver::fill_behind(&stream, span, 0).is_err());
        stream.synchronize()
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_out_of_bounds() {
    let reported = seeds_with(start(), SEEDS, Mistake::OutOfBounds, |_| {
        let (small, large) = (filled(1000, 1)?, filled(1001, 2)?);
        // SAFETY: the simulator looks addresses up, and refuses this one.
        let refused = unsafe { sys::cuMemcpyDtoD_v2(small.address(), large.address(), 1001) };
        assert_eq!(refused, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(driver::download(small)?, [1; 1000]);
        Ok(())
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_double_free() {
    let reported = seeds_with(start(), SEEDS, Mistake::DoubleFree, |_| {
        let span = filled(4096, 1)?;
        driver::free(span)?;
        assert!(driver::free(span).is_err());
        let stream = Stream::non_blocking()?;
        let span = stream.allocate(4096)?;
        stream.free(span)?;
        assert!(stream.free(span).is_err());
        Ok(())
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_free_on_one_stream_while_another_reads() {
    let program = |ordered: bool| {
        move |_: &driver::Device| {
            let (owner, reader) = (Stream::non_blocking()?, Stream::non_blocking()?);
            let (span, to) = (owner.allocate(4096)?, filled(4096, 0)?);
            driver::fill_behind(&owner, span, 1)?;
            join(&reader, &owner)?;
            driver::copy_behind(&reader, to, span)?;
            if ordered {
                join(&owner, &reader)?;
            }
            owner.free(span)?;
            owner.synchronize()?;
            reader.synchronize()
        }
    };
    let simulator = start();
    assert_eq!(seeds_with(simulator, SEEDS, Mistake::Race, program(false)), SEEDS);
    assert_eq!(seeds_with(simulator, SEEDS, Mistake::Race, program(true)), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn use_before_an_allocation_in_stream_order() {
    let reported = seeds_with(start(), SEEDS, Mistake::Race, |_| {
        let (owner, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let span = owner.allocate(4096)?;
        driver::fill_behind(&other, span, 1)?;
        other.synchronize()?;
        owner.synchronize()
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn unordered_branches_inside_one_graph() {
    let program = |joined: bool| {
        move |_: &driver::Device| {
            let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
            let span = filled(4096, 0)?;
            stream.begin_capture(Mode::ThreadLocal)?;
            join(&branch, &stream)?;
            driver::fill_behind(&branch, span, 1)?;
            if joined {
                join(&stream, &branch)?;
            }
            driver::fill_behind(&stream, span.part(100, 8), 2)?;
            if !joined {
                join(&stream, &branch)?;
            }
            let exec = stream.end_capture()?.instantiate()?;
            exec.launch(&stream)?;
            stream.synchronize()
        }
    };
    let simulator = start();
    assert_eq!(seeds_with(simulator, SEEDS, Mistake::Race, program(false)), SEEDS);
    assert_eq!(seeds_with(simulator, SEEDS, Mistake::Race, program(true)), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_that_replays_into_freed_memory() {
    let reported = seeds_with(start(), SEEDS, Mistake::UseAfterFree, |_| {
        let stream = Stream::non_blocking()?;
        let span = filled(4096, 0)?;
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::fill_behind(&stream, span, 1)?;
        let exec = stream.end_capture()?.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        driver::free(span)?;
        exec.launch(&stream)?;
        // The device accesses the address when the launch runs, and the context breaks.
        assert!(stream.synchronize().is_err());
        Ok(())
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_small_copy_from_pageable_memory_is_not_awaited() {
    let reported = seeds_with(start(), SEEDS, Mistake::Race, |_| {
        let stream = Stream::non_blocking()?;
        let span = driver::allocate(64)?;
        driver::upload(span, &[1; 64])?;
        // The copy was ordered after the legacy stream, which this stream does not wait for.
        driver::fill_behind(&stream, span, 2)?;
        stream.synchronize()
    });
    assert_eq!(reported, SEEDS);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_streams_that_write_one_pinned_buffer() {
    let reported = seeds_with(start(), SEEDS, Mistake::Race, |_| {
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (one, two) = (filled(64, 1)?, filled(64, 2)?);
        let host = HostBuffer::pinned(64)?;
        host.download_behind(&first, one)?;
        host.download_behind(&second, two)?;
        first.synchronize()?;
        second.synchronize()
    });
    assert_eq!(reported, SEEDS);
}

/// Frees page-locked memory while a stream, a graph launch or a stream of another device copies
/// from it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pinned_buffer_that_is_freed_under_its_copy() {
    let simulator = start();
    for (by_graph, device, waits) in
        [(false, 0, false), (true, 0, false), (false, 1, false), (false, 1, true), (true, 0, true)]
    {
        let settings = Settings { devices: 2, ..Settings::default() };
        assert!(simulator.reset(settings));
        let context = CudaContext::new(device).unwrap();
        let stream = context.new_stream().unwrap();
        let mut to = stream.alloc_zeros::<u8>(64).unwrap();
        stream.synchronize().unwrap();
        let owner = CudaContext::new(0).unwrap();
        owner.bind_to_thread().unwrap();
        // SAFETY: no other code uses it yet.
        let host = unsafe { result::malloc_host(64, sys::CU_MEMHOSTALLOC_PORTABLE) }.unwrap();
        context.bind_to_thread().unwrap();
        let (address, handle) = (to.device_ptr_mut(&stream).0, stream.cu_stream());
        // SAFETY: both have 64 bytes; the host's initial bytes do not matter.
        let copy = || unsafe { sys::cuMemcpyHtoDAsync_v2(address, host, 64, handle) }.result();
        let graph = by_graph.then(|| {
            stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
            copy().unwrap();
            stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap()
        });
        match &graph {
            Some(graph) => graph.launch().unwrap(),
            None => copy().unwrap(),
        }
        if waits {
            stream.synchronize().unwrap();
        }
        owner.bind_to_thread().unwrap();
        // SAFETY: the simulator keeps the memory, and must report the early free.
        unsafe { result::free_host(host) }.unwrap();
        let mistakes: Vec<_> = simulator.reports().iter().map(Report::mistake).collect();
        let expected: &[Mistake] = if waits { &[] } else { &[Mistake::UseAfterFree] };
        assert_eq!(mistakes, expected, "graph {by_graph}, device {device}, waits {waits}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_handle_of_something_destroyed() {
    let reported = seeds_with(start(), 1, Mistake::StaleHandle, |_| {
        let stream = Stream::non_blocking()?;
        // SAFETY: the simulator never dereferences a handle; it looks it up.
        let again = unsafe { stream.alias() };
        stream.destroy()?;
        assert!(again.synchronize().is_err());
        Ok(())
    });
    assert_eq!(reported, 1);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_free_that_waits_for_its_own_device_alone() {
    let simulator = start();
    assert!(simulator.reset(Settings { devices: 2, ..Settings::default() }));
    let (here, there) = (CudaContext::new(0).unwrap(), CudaContext::new(1).unwrap());
    let other = there.new_stream().unwrap();
    let to = other.clone_htod(&[0_u8; 64]).unwrap().leak();
    here.bind_to_thread().unwrap();
    let from = driver::allocate(64).unwrap();
    driver::upload(from, &[1; 64]).unwrap();
    Stream::legacy().synchronize().unwrap();
    // SAFETY: the stream is live; the simulator keeps the memory that the copy reads.
    let copied = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from.address(), 64, other.cu_stream()) };
    assert_eq!(copied, sys::CUresult::CUDA_SUCCESS);
    driver::free(from).unwrap();
    assert_eq!(simulator.reports()[0].mistake(), Mistake::Race);
}

/// Signals through a channel that a stream has come so far.
extern "C" fn tell(channel: *mut std::ffi::c_void) {
    // SAFETY: its caller keeps the channel until it has received the message.
    let channel = unsafe { &*channel.cast_const().cast::<std::sync::mpsc::Sender<()>>() };
    let _ = channel.send(());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_host_function_tells_is_known() {
    let reported = seeds_with(start(), SEEDS, Mistake::Race, |device| {
        let context = CudaContext::new(0).unwrap();
        let (first, second) = (context.new_stream().unwrap(), Stream::non_blocking()?);
        let span = filled(64, 0)?;
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let place: *const _ = &raw const sender;
        let raw = first.cu_stream();
        // SAFETY: stream and memory are live, and the channel lives until the context was waited
        // for.
        assert_eq!(unsafe { sys::cuMemsetD8Async(span.address(), 1, 64, raw) } as u32, 0);
        // SAFETY: as above.
        let put = unsafe { sys::cuLaunchHostFunc(raw, Some(tell), place.cast_mut().cast()) };
        assert_eq!(put as u32, 0);
        while receiver.try_recv().is_err() {
            // The query lets the stream make progress.
            // SAFETY: the stream is live.
            let _ = unsafe { sys::cuStreamQuery(raw) };
        }
        driver::fill_behind(&second, span, 2)?;
        device.synchronize()?;
        assert_eq!(driver::download(span)?, [2; 64]);
        Ok(())
    });
    assert_eq!(reported, 0);
}
