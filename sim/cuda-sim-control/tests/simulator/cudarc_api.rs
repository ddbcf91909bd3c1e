//! Uses cudarc's unmodified safe interface and checks that data is correct in many orders.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{CudaContext, CudaStream, DriverError, sys};

use crate::support::{settings, start};

const SEEDS: u64 = 25;

/// Runs a program with many seeds. No run may produce reports or leaks.
fn in_many_orders(program: impl Fn(&Arc<CudaContext>) -> Result<(), DriverError>) {
    let simulator: Simulator = start();
    for seed in 0..SEEDS {
        assert!(simulator.reset(settings(seed)));
        let context = CudaContext::new(0).unwrap();
        program(&context).unwrap();
        context.synchronize().unwrap();
        context.check_err().unwrap();
        drop(context);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn facts_about_the_device() {
    let simulator = start();
    let context = CudaContext::new(0).unwrap();
    assert_eq!(context.name().unwrap(), "Simulated device");
    assert_eq!(context.compute_capability().unwrap(), (9, 0));
    assert!(context.has_async_alloc());
    assert_eq!(context.total_mem().unwrap(), 1 << 30);
    assert_eq!(format!("{}", CudaContext::new(7).unwrap_err().0 as u32), "101");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn copies_carry_their_bytes() {
    in_many_orders(|context| {
        let stream = context.default_stream();
        let numbers: Vec<u32> = (0..10_000).collect();
        let mut slice = stream.clone_htod(&numbers)?;
        assert_eq!(stream.clone_dtoh(&slice)?, numbers);
        stream.memset_zeros(&mut slice.slice_mut(10..20))?;
        let part = stream.clone_dtoh(&slice.slice(5..25))?;
        assert_eq!(part[..5], [5, 6, 7, 8, 9]);
        assert_eq!(part[5..15], [0; 10]);
        assert_eq!(part[15..], [20, 21, 22, 23, 24]);
        let mut other = stream.alloc_zeros::<u32>(10_000)?;
        assert_eq!(stream.clone_dtoh(&other)?, [0; 10_000]);
        stream.memcpy_dtod(&slice, &mut other)?;
        assert_eq!(stream.clone_dtoh(&other)?, stream.clone_dtoh(&slice)?);
        let copy = stream.clone_dtod(&other.slice(20..30))?;
        assert_eq!(stream.clone_dtoh(&copy)?, (20..30).collect::<Vec<u32>>());
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarc_orders_what_several_streams_share() {
    in_many_orders(|context| {
        let streams: Vec<Arc<CudaStream>> =
            (0..4).map(|_| context.new_stream()).collect::<Result<_, _>>()?;
        let mut slice = streams[0].clone_htod(&[0_u32; 256])?;
        for round in 1..20_u32 {
            let stream = &streams[(round as usize * 7) % 4];
            stream.memcpy_htod(&[round; 256], &mut slice)?;
            let reader = &streams[(round as usize * 5 + 1) % 4];
            let copy = reader.clone_dtod(&slice)?;
            assert_eq!(reader.clone_dtoh(&copy)?, [round; 256]);
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn fork_and_join() {
    in_many_orders(|context| {
        // SAFETY: the streams are joined explicitly below.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream()?;
        let mut slice = stream.alloc_zeros::<u32>(64)?;
        stream.memcpy_htod(&[7; 64], &mut slice)?;
        let branch = stream.fork()?;
        let mut other = branch.alloc_zeros::<u32>(64)?;
        branch.memcpy_dtod(&slice, &mut other)?;
        stream.join(&branch)?;
        stream.memset_zeros(&mut slice)?;
        assert_eq!(stream.clone_dtoh(&other)?, [7; 64]);
        assert_eq!(stream.clone_dtoh(&slice)?, [0; 64]);
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn events_tell_time() {
    in_many_orders(|context| {
        let stream = context.new_stream()?;
        let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let start = stream.record_event(timed)?;
        let mut slice = stream.alloc_zeros::<u8>(1 << 20)?;
        stream.memset_zeros(&mut slice)?;
        let end = stream.record_event(timed)?;
        assert!(start.elapsed_ms(&end)? > 0.0);
        assert!(end.is_complete());
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_query_gets_somewhere() {
    in_many_orders(|context| {
        let stream = context.new_stream()?;
        let mut slice = stream.alloc_zeros::<u8>(64)?;
        stream.memset_zeros(&mut slice)?;
        let event = stream.record_event(None)?;
        assert!((0..1000).any(|_| event.is_complete()));
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pinned_memory() {
    in_many_orders(|context| {
        let stream = context.new_stream()?;
        // SAFETY: the memory is written before it is read.
        let mut host = unsafe { context.alloc_pinned::<u32>(100) }?;
        host.as_mut_slice()?.fill(5);
        let slice = stream.clone_htod(&host)?;
        assert_eq!(stream.clone_dtoh(&slice)?, [5; 100]);
        stream.synchronize()
    });
}

/// Captures `to = from` with a branch that zeroes `beside`.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn capture_and_replay() {
    in_many_orders(|context| {
        // SAFETY: all work on the slices is on one stream, or is joined to that stream.
        unsafe { context.disable_event_tracking() };
        let (stream, branch) = (context.new_stream()?, context.new_stream()?);
        let mut from = stream.clone_htod(&[1_u32; 64])?;
        let mut to = stream.alloc_zeros::<u32>(64)?;
        let mut beside = stream.clone_htod(&[9_u32; 64])?;
        stream.synchronize()?;
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        branch.join(&stream)?;
        branch.memset_zeros(&mut beside)?;
        stream.memcpy_dtod(&from, &mut to)?;
        stream.join(&branch)?;
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0))?.unwrap();
        assert_eq!(stream.clone_dtoh(&to)?, [0; 64], "nothing runs in a capture");
        graph.upload()?;
        for round in 1..10 {
            stream.memcpy_htod(&[round; 64], &mut from)?;
            graph.launch()?;
            assert_eq!(stream.clone_dtoh(&to)?, [round; 64]);
            assert_eq!(stream.clone_dtoh(&beside)?, [0; 64]);
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn tracked_slices_cannot_be_captured() {
    let simulator = start();
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let mut slice = stream.alloc_zeros::<u32>(64).unwrap();
    stream.memset_zeros(&mut slice).unwrap();
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    // The slice's events were recorded outside the capture, so waiting for them invalidates the
    // capture.
    let refused = stream.memset_zeros(&mut slice);
    let ended = stream.end_capture(sys::CUgraphInstantiate_flags(0));
    assert!(refused.is_err() || ended.is_err());
    assert!(simulator.log().iter().any(|call| call.code == 905));
    let _ = context.check_err();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn threads_share_the_driver() {
    let simulator = start();
    let context = CudaContext::new(0).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let context = context.clone();
            scope.spawn(move || {
                let stream = context.new_stream().unwrap();
                for round in 0..100 {
                    let slice = stream.clone_htod(&[thread * 1000 + round; 32]).unwrap();
                    let copy = stream.clone_dtod(&slice).unwrap();
                    assert_eq!(stream.clone_dtoh(&copy).unwrap(), [thread * 1000 + round; 32]);
                }
            });
        }
    });
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn copies_between_devices() {
    let simulator = start();
    assert!(simulator.reset(Settings { devices: 2, ..settings(0) }));
    let (here, there) = (CudaContext::new(0).unwrap(), CudaContext::new(1).unwrap());
    let (near, far) = (here.new_stream().unwrap(), there.new_stream().unwrap());
    let from = near.clone_htod(&[6_u32; 32]).unwrap();
    let mut to = far.alloc_zeros::<u32>(32).unwrap();
    far.memcpy_dtod(&from, &mut to).unwrap();
    assert_eq!(far.clone_dtoh(&to).unwrap(), [6; 32]);
    println!("{} peer copies", simulator.calls("cuMemcpyPeerAsync"));
    there.check_err().unwrap();
    simulator.assert_clean();
}
