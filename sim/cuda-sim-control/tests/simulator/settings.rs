//! Seeds, limits and devices. No state of one test is visible in the next.

use cuda_sim_control::{LoadError, Settings, Simulator};
use cudarc::driver::{CudaContext, sys};
use driver_conformance::driver::{self, HostBuffer, Outcome, Stream};

use crate::support::{filled, start, with_order_of, with_seed};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn one_process_starts_it_once() {
    start();
    let again = Simulator::start(Settings::default());
    assert!(matches!(again, Err(LoadError::StartedBefore)));
}

/// Enqueues unordered work on four streams, so several orders are possible.
fn unordered_work() -> Outcome<()> {
    let streams: Vec<Stream> = (0..4).map(|_| Stream::non_blocking()).collect::<Outcome<_>>()?;
    let span = filled(64, 0)?;
    for round in 0..8 {
        for (index, stream) in streams.iter().enumerate() {
            driver::fill_behind(stream, span.part(index * 16, 16), round)?;
        }
    }
    streams.iter().try_for_each(Stream::synchronize)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_seed_gives_its_order_again() {
    let simulator = start();
    let order = |seed| {
        with_order_of(simulator, seed);
        unordered_work().unwrap();
        simulator.assert_clean();
        simulator.trace()
    };
    let orders: Vec<Vec<String>> = (0..8).map(order).collect();
    assert!(orders[0].len() > 32);
    for (seed, before) in orders.iter().enumerate() {
        assert_eq!(order(seed as u64), *before);
        assert!(seed == 0 || orders[0] != *before, "seed {seed} draws the order of seed 0");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_device_has_as_much_memory_as_is_said() {
    let simulator = start();
    assert!(simulator.reset(Settings { bytes: 64 << 20, ..Settings::default() }));
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    assert_eq!(context.total_mem().unwrap(), 64 << 20);
    // SAFETY: uninitialised memory is never read.
    let half = unsafe { stream.alloc::<u8>(32 << 20) }.unwrap();
    // SAFETY: uninitialised memory is never read.
    let refused = unsafe { stream.alloc::<u8>(48 << 20) }.unwrap_err();
    assert_eq!(refused.0, sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    drop(half);
    stream.synchronize().unwrap();
    // SAFETY: uninitialised memory is never read.
    assert!(unsafe { stream.alloc::<u8>(48 << 20) }.is_ok());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_driver_is_as_old_as_is_said() {
    let simulator = start();
    let wanted = i32::try_from(Settings::default().driver_version).unwrap();
    assert_eq!(driver::driver_version(), Ok(wanted));
    assert!(simulator.reset(Settings { driver_version: 12_080, ..Settings::default() }));
    assert_eq!(driver::driver_version(), Ok(12_080));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn several_devices_are_apart() {
    let simulator = start();
    assert!(simulator.reset(Settings { devices: 3, ..Settings::default() }));
    assert_eq!(CudaContext::device_count().unwrap(), 3);
    let contexts: Vec<_> = (0..3).map(|ordinal| CudaContext::new(ordinal).unwrap()).collect();
    for (ordinal, context) in contexts.iter().enumerate() {
        let stream = context.new_stream().unwrap();
        let value = u32::try_from(ordinal).unwrap();
        let slice = stream.clone_htod(&[value; 16]).unwrap();
        assert_eq!(stream.clone_dtoh(&slice).unwrap(), [value; 16]);
    }
    assert!(CudaContext::new(3).is_err());
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn nothing_is_left_after_a_reset() {
    let simulator = start();
    with_seed(simulator, 1);
    let old = filled(4096, 1).unwrap();
    let stream = Stream::non_blocking().unwrap();
    assert!(driver::allocate(0).is_err());
    simulator.fail_any_call(1000, 999);
    assert!(!simulator.leaks().is_empty() && simulator.all_calls() > 0);
    with_seed(simulator, 1);
    assert!(simulator.leaks().is_empty() && simulator.reports().is_empty());
    assert!(stream.synchronize().is_err());
    assert!(driver::fill(old, 1).is_err());
    simulator.forget_reports();
    for _ in 0..2000 {
        driver::memory_information().unwrap();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_is_not_given_back_is_told() {
    let simulator = start();
    with_seed(simulator, 0);
    let span = driver::allocate(100).unwrap();
    HostBuffer::pinned(200).unwrap();
    Stream::non_blocking().unwrap();
    let leaks = simulator.leaks().join("\n");
    for part in ["allocation of 100 bytes", "host allocation of 200 bytes", "1 of kind stream"] {
        assert!(leaks.contains(part), "{leaks}");
    }
    driver::free(span).unwrap();
    assert!(!simulator.leaks().join("\n").contains("100 bytes"));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_device_address_is_no_address_of_the_host() {
    let simulator = start();
    with_seed(simulator, 0);
    let span = driver::allocate(4096).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let holds = |line: &str| {
        let (range, _) = line.split_once(' ')?;
        let (first, last) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some((number(first)?..number(last)?).contains(&span.address()))
    };
    assert!(maps.lines().filter_map(holds).all(|inside| !inside));
    assert!(span.address() >> 47 != 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_context_takes_what_is_left_with_it() {
    let simulator = start();
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let address = stream.clone_htod(&[1_u8; 100]).unwrap().leak();
    drop((stream, context));
    assert!(simulator.leaks().join("\n").contains("of 100 bytes"), "{:?}", simulator.leaks());
    let context = CudaContext::new(0).unwrap();
    // SAFETY: the simulator checks the address, and refuses it.
    let refused = unsafe { cudarc::driver::result::memset_d8_sync(address, 0, 100) };
    assert!(refused.is_err());
    assert_eq!(simulator.reports()[0].mistake(), cuda_sim_control::Mistake::UseAfterFree);
    drop(context);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_that_frees_by_itself_is_none_that_the_device_launches() {
    let simulator = start();
    let _context = CudaContext::new(0).unwrap();
    let (mut graph, mut executable) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuGraphCreate(&raw mut graph, 0) } as u32, 0);
    // `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `…_DEVICE_LAUNCH`.
    let flags = 1 | 4;
    // SAFETY: the output variable outlives the call, and the graph is live.
    let answer = unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, flags) };
    assert_eq!(answer, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
    simulator.assert_clean();
}
