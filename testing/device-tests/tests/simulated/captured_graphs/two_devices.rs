//! Two devices: a capture refuses streams, arenas and views of a second device at the first call.
//! Instead, one graph per device can do the same work, with events between their replays.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{CudaStream, result};
use pool_cuda::{Cuda, CudaDevice};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, GraphMemoryBlock, GraphPoolConfig,
};

use crate::common::{BYTES, Made};
use crate::support::{orders, start, start_anew};

const REFUSED: CaptureError = CaptureError::WrongContext { session: 0, other: 1 };

/// A device with a stream and a block.
struct Place {
    device: CudaDevice,
    stream: Arc<CudaStream>,
    pool: CUDAGraphMemoryPool,
    block: GraphMemoryBlock,
}

impl Place {
    fn new(ordinal: u32) -> Self {
        let device = Cuda::device(ordinal).unwrap();
        let stream = device.context().new_stream().unwrap();
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), config);
        let block = pool.allocate(BYTES).unwrap();
        Self { device, stream, pool, block }
    }

    fn session(&self) -> CaptureSession {
        let session = CaptureSession::new(&self.stream).unwrap();
        session.lease(self.pool.lease(&[self.block.id()]).unwrap())
    }

    fn arena(&self) -> CudaArena {
        let memory = DeviceMemory::new(&self.device);
        CudaArena::new(memory, 1 << 16, ArenaPolicy::Monotone).unwrap()
    }

    /// Returns a graph that fills its block through a temporary, or copies the block to a temporary
    /// and back.
    fn graph(&self, value: Option<u8>) -> CapturedGraph<()> {
        let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
            let main = capture.main();
            let mut block = capture.block::<u8>(&self.block)?;
            let mut temporary = capture.acquire::<u8>(block.len())?;
            match value {
                Some(value) => capture.fill_bytes(main, &mut temporary, value)?,
                None => capture.copy(main, &mut temporary, &block)?,
            }
            capture.copy(main, &mut block, &temporary)
        };
        self.session().prepare(self.arena()).unwrap().capture((), body).unwrap()
    }
}

fn two_devices(simulator: Simulator, seed: u64) -> [Place; 2] {
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
    [0, 1].map(Place::new)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_second_device_is_refused_at_the_first_call() {
    let simulator = start();
    let [near, far] = two_devices(simulator, 0);
    assert_eq!(near.session().branch(&far.stream).map(drop), Err(REFUSED));
    assert_eq!(near.session().prepare(far.arena()).map(drop), Err(REFUSED));
    let session = near.session().lease(far.pool.lease(&[far.block.id()]).unwrap());
    let body = |capture: &Capture<'_>, (): &mut ()| capture.block::<u8>(&far.block).map(drop);
    assert_eq!(session.probe(&mut (), body).map(drop), Err(REFUSED));
    assert_eq!(session.prepare(near.arena()).unwrap().capture((), body).map(drop), Err(REFUSED));
    let text = REFUSED.to_string();
    for words in ["device 0", "device 1", "one graph for each context", "events"] {
        assert!(text.contains(words), "{text}");
    }
    simulator.assert_clean();
}

/// Enqueued work may add a stream of another device to the capture and join it again. The
/// declaration of the work covers its uses on that stream.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn enqueued_work_may_fork_to_a_second_device() {
    let simulator = start();
    for seed in 0..orders() {
        let [near, far] = two_devices(simulator, seed);
        let session = near.session().lease(far.pool.lease(&[far.block.id()]).unwrap());
        let made: Made = session.prepare(near.arena()).unwrap().capture((), |capture, ()| {
            let fork = |stream: &Arc<CudaStream>| {
                let event = stream.context().new_event(None)?;
                event.record(stream)?;
                far.stream.wait(&event)?;
                far.device.context().bind_to_thread()?;
                let handle = far.stream.cu_stream();
                // SAFETY: the block belongs to the other device, and has the same length.
                unsafe { result::memset_d8_async(far.block.address(), 9, 64, handle) }?;
                let back = far.device.context().new_event(None)?;
                back.record(&far.stream)?;
                Ok(stream.wait(&back)?)
            };
            // SAFETY: the graph leases the block, which no other work uses at the same time.
            unsafe { capture.enqueue(capture.main(), &[], fork) }
        });
        let mut graph = made.unwrap();
        graph.replay().unwrap();
        graph.synchronize().unwrap();
        let mut found = [0_u8; 64];
        far.device.context().bind_to_thread().unwrap();
        // SAFETY: the block has this number of bytes, and the work that writes it has been
        // synchronized.
        unsafe { result::memcpy_dtoh_sync(&mut found, far.block.address()) }.unwrap();
        assert_eq!(found, [9; 64]);
        drop((graph, near, far));
        simulator.assert_clean();
    }
}

/// One graph per device, ordered by events, with a copy between the devices. The second graph
/// receives the result of the first.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_for_each_device_ordered_by_events() {
    let simulator = start();
    for seed in 0..orders() {
        let [near, far] = two_devices(simulator, seed);
        let (mut first, mut second) = (near.graph(Some(7)), far.graph(None));
        far.block_is_zero(&mut second);
        for _ in 0..3 {
            first.replay().unwrap();
            far.stream.wait(&near.stream.record_event(None).unwrap()).unwrap();
            let (to, from) = (far.device.context(), near.device.context());
            let (target, source) = (far.block.address(), near.block.address());
            to.bind_to_thread().unwrap();
            let handle = far.stream.cu_stream();
            // SAFETY: both blocks have this number of bytes, and both streams are ordered around
            // the copy.
            unsafe {
                let bytes = usize::try_from(BYTES).unwrap();
                result::memcpy_peer_async(to.cu_ctx(), target, from.cu_ctx(), source, bytes, handle)
            }
            .unwrap();
            second.replay().unwrap();
            near.stream.wait(&far.stream.record_event(None).unwrap()).unwrap();
        }
        let mut found = vec![0_u8; usize::try_from(BYTES).unwrap()];
        second.read(&far.block, &mut found).unwrap();
        assert!(found.iter().all(|byte| *byte == 7));
        drop((first, second, near, far));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

impl Place {
    fn block_is_zero(&self, graph: &mut CapturedGraph<()>) {
        graph.write(&self.block, &vec![0_u8; usize::try_from(BYTES).unwrap()]).unwrap();
    }
}
