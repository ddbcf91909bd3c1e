//! A program captured through cudarc, in which nodes of the graph allocate and free the
//! temporaries.

use std::collections::BTreeSet;
use std::sync::Arc;

use cudarc::driver::sys::{
    CUgraphInstantiate_flags_enum as Flags, CUstreamCaptureMode_enum as Mode,
};
use cudarc::driver::{CudaGraph, CudaStream, DriverError, result};
use driver_conformance::driver::Device;
use pool_graph::DeviceMemory;

use crate::clock::Clock;
use crate::programs::{Program, Step, value_of};
use crate::record::{Measured, Outcome};

/// Measures one program. The bytes are the device memory that graphs hold after the replays, and
/// this graph is the only one.
pub(crate) fn measure(
    memory: &DeviceMemory,
    device: &Device,
    program: &Program,
    clock: Clock,
) -> Outcome {
    let new_stream = |_| memory.context().new_stream().unwrap();
    let streams: Vec<Arc<CudaStream>> = (0..program.streams).map(new_stream).collect();
    let largest = program.sizes.iter().copied().max().unwrap_or(1);
    memory.context().bind_to_thread().unwrap();
    // SAFETY: the bytes are freed once, below, after all work has ended.
    let sink = |_| unsafe { result::malloc_sync(largest) }.unwrap();
    let sinks: Vec<u64> = streams.iter().map(sink).collect();

    device.trim_graph_memory().unwrap();
    let before = device.graph_memory_reserved().unwrap();
    let (graph, left) = capture(program, &streams, &sinks).unwrap();
    let microseconds = clock.median(|| {
        graph.launch().unwrap();
        streams[0].synchronize().unwrap();
    });
    let bytes = device.graph_memory_reserved().unwrap() - before;

    // The next launch would free the allocations that the program leaves, but no launch follows the
    // last one.
    for address in left {
        // SAFETY: the graph allocated the address and contains no node that frees it; all replays
        // are over.
        unsafe { result::free_sync(address) }.unwrap();
    }
    drop(graph);
    device.trim_graph_memory().unwrap();
    for sink in sinks {
        // SAFETY: the sink was allocated above, and all replays have been synchronized.
        unsafe { result::free_sync(sink) }.unwrap();
    }
    Outcome::Measured(Measured { bytes, microseconds })
}

/// A temporary in the capture.
struct Live {
    address: u64,
    bytes: usize,
    home: usize,
    users: BTreeSet<usize>,
    ended: bool,
}

/// A capture in progress.
struct UnderWay<'s> {
    streams: &'s [Arc<CudaStream>],
    begun: Vec<bool>,
}

impl UnderWay<'_> {
    /// Returns a stream, and adds it to the capture if necessary.
    fn stream(&mut self, number: usize) -> Result<&Arc<CudaStream>, DriverError> {
        if !std::mem::replace(&mut self.begun[number], true) {
            self.streams[number].join(&self.streams[0])?;
        }
        Ok(&self.streams[number])
    }
}

/// Returns the graph, and the addresses that it allocates but does not free.
fn capture(
    program: &Program,
    streams: &[Arc<CudaStream>],
    sinks: &[u64],
) -> Result<(CudaGraph, Vec<u64>), DriverError> {
    streams[0].begin_capture(Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let mut begun = vec![false; streams.len()];
    begun[0] = true;
    let mut under_way = UnderWay { streams, begun };
    let mut live: Vec<Live> = Vec::new();
    for step in &program.steps {
        put(*step, &mut under_way, &mut live, sinks)?;
    }
    for branch in (1..streams.len()).filter(|&branch| under_way.begun[branch]) {
        streams[0].join(&streams[branch])?;
    }
    let graph = streams[0].end_capture(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)?;
    let left = live.iter().filter(|one| !one.ended).map(|one| one.address).collect();
    Ok((graph.expect("the capture is not spoiled"), left))
}

fn put(
    step: Step,
    under_way: &mut UnderWay<'_>,
    live: &mut Vec<Live>,
    sinks: &[u64],
) -> Result<(), DriverError> {
    match step {
        Step::Take { stream: home, bytes } => {
            let stream = under_way.stream(home)?.cu_stream();
            // SAFETY: the memory is used only between its allocation and its free below.
            let address = unsafe { result::malloc_async(stream, bytes) }?;
            let value = value_of(live.len());
            // SAFETY: `bytes` bytes were allocated.
            unsafe { result::memset_d8_async(address, value, bytes, stream) }?;
            live.push(Live { address, bytes, home, users: BTreeSet::from([home]), ended: false });
        }
        Step::Read { stream, temporary } | Step::CopyOut { stream, temporary } => {
            let from = &mut live[temporary];
            from.users.insert(stream);
            let on = under_way.stream(stream)?.cu_stream();
            // SAFETY: the sink of a stream is as large as the largest temporary. In generated
            // programs, a stream uses only earlier definitions, for which the streams wait.
            unsafe { result::memcpy_dtod_async(sinks[stream], from.address, from.bytes, on) }?;
        }
        Step::End { temporary } => {
            let Live { address, home, ref users, ref mut ended, .. } = live[temporary];
            *ended = true;
            let home_stream = Arc::clone(under_way.stream(home)?);
            for &user in users.iter().filter(|&&user| user != home) {
                home_stream.join(under_way.stream(user)?)?;
            }
            // SAFETY: all its uses come earlier.
            unsafe { result::free_async(address, home_stream.cu_stream()) }?;
        }
        Step::Wait { later, earlier } => {
            let earlier = Arc::clone(under_way.stream(earlier)?);
            under_way.stream(later)?.join(&earlier)?;
        }
        Step::Use { .. } => unreachable!("the generator's programs read what they have filled"),
    }
    Ok(())
}
