//! Another thread begins a capture immediately before a driver call that is made by a graph, its
//! staging or its drop. This is tested for each call, and for each time that it is made. There are
//! no reports, and no leaks once that capture has ended. The attack is `between` of
//! `attacks/device3/cases.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use pool_core::PoolViewMut;
use pool_cuda::{Cuda, DeferredFreeKind};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, GraphMemoryBlock, PreparedCapture, StagingConfig, StagingPool,
};

use crate::common::{NO_FLAGS, RELAXED, memory, pool, stream};
use crate::support::{orders, start, start_anew};

const N: usize = 256;
const BYTES: u64 = 4 * N as u64;

const CALLS: [&str; 24] = [
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuEventRecord",
    "cuGraphLaunch",
    "cuEventSynchronize",
    "cuStreamSynchronize",
    "cuEventQuery",
    "cuStreamIsCapturing",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD32Async",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphExecUpdate_v2",
    "cuStreamWaitEvent",
    "cuMemFreeHost",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuMemHostAlloc",
    "cuStreamGetCaptureInfo_v2",
    "cuStreamGetCaptureInfo_v3",
    "cuMemFree_v2",
    "cuGraphDestroy",
    "cuEventDestroy_v2",
];

/// The time at which the intervening capture ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    AtOnce,
    BeforeTheDrops,
    AfterTheDrops,
}

struct World {
    pool: CUDAGraphMemoryPool,
    streams: [Arc<CudaStream>; 2],
    blocks: [GraphMemoryBlock; 2],
}

impl World {
    fn new() -> Self {
        let pool = pool();
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        Self { pool, streams: [stream(), stream()], blocks }
    }

    fn prepare(&self) -> PreparedCapture {
        let lease = self.pool.lease(&self.blocks.map(|block| block.id())).unwrap();
        let session = CaptureSession::new(&self.streams[0]).unwrap().lease(lease);
        let session = session.branch(&self.streams[1]).unwrap();
        session.prepare(CudaArena::new(memory(), 1 << 18, ArenaPolicy::Monotone).unwrap()).unwrap()
    }

    fn body(&self, capture: &Capture<'_>, value: u8) -> Result<(), CaptureError> {
        let branch = capture.branch(0)?;
        let mut view = capture.acquire::<u32>((branch, N))?;
        capture.fill_bytes(branch, &mut view, value)?;
        capture.copy(capture.main(), &mut capture.block::<u32>(&self.blocks[0])?, &view)?;
        let mut other = capture.block::<u32>(&self.blocks[1])?;
        capture.copy_from_host(capture.main(), &mut other, &[u32::from(value); N])?;
        capture.scope(capture.main(), |scope| {
            let mut zeros = scope.try_acquire_zeroed::<u32, _>(N)?;
            Ok::<(), CaptureError>(zeros.fill_with_value(3)?)
        })
    }
}

/// A thread that begins a capture on request, and ends it immediately or on the next request.
struct Meddler {
    tell: Sender<()>,
    thread: JoinHandle<()>,
    armed: Arc<AtomicBool>,
}

impl Meddler {
    fn before(
        simulator: Simulator,
        (call, nth): (&str, u64),
        on: &Arc<CudaStream>,
        end: End,
    ) -> Self {
        let (tell, received) = channel();
        let (answer, answered) = channel();
        let armed = Arc::new(AtomicBool::new(true));
        let on = Arc::clone(on);
        let thread = thread::spawn(move || Self::act(&on, end, &received, &answer));
        let (go, is_armed) = (tell.clone(), Arc::clone(&armed));
        simulator.before_call(call, nth, move || {
            if is_armed.load(Ordering::SeqCst) && go.send(()).is_ok() {
                let _timeout = answered.recv_timeout(Duration::from_secs(5));
            }
        });
        Self { tell, thread, armed }
    }

    fn act(on: &Arc<CudaStream>, end: End, received: &Receiver<()>, answer: &Sender<()>) {
        if received.recv().is_err() {
            return;
        }
        let has_begun = on.begin_capture(RELAXED).is_ok();
        let stop = || drop(on.end_capture(NO_FLAGS));
        if has_begun && end == End::AtOnce {
            stop();
        }
        let _gone = answer.send(());
        let _gone = received.recv();
        if has_begun && end != End::AtOnce {
            stop();
        }
    }

    /// Ends the thread's captures, and the thread itself.
    fn leave(self) {
        self.armed.store(false, Ordering::SeqCst);
        for _ in 0..2 {
            let _gone = self.tell.send(());
        }
        self.thread.join().unwrap();
    }
}

/// The number of errors for each step that returned them.
type Errors = BTreeMap<&'static str, usize>;

fn note<T>(errors: &mut Errors, step: &'static str, taken: Result<T, CaptureError>) -> Option<T> {
    *errors.entry(step).or_default() += usize::from(taken.is_err());
    taken.ok()
}

/// Runs all operations of a graph, and leaves out those that are refused.
fn program(simulator: Simulator, call: (&str, u64), end: End, errors: &mut Errors) {
    let world = World::new();
    let prepared = world.prepare();
    let body = |capture: &Capture<'_>, value: &mut u8| world.body(capture, *value);
    let meddler =
        Meddler::before(simulator, call, &world.streams[usize::from(call.1 % 2 == 1)], end);
    let config = StagingConfig { buffers: 4, bytes: 4 * N };
    let mut graph: Option<CapturedGraph<u8>> = note(errors, "capture", prepared.capture(1, body));
    let mut staging =
        note(errors, "staging", StagingPool::with_config(world.streams[0].context(), config));
    let mut tickets = Vec::new();
    if let (Some(graph), Some(staging)) = (&mut graph, &mut staging) {
        let [one, two] = world.blocks;
        for value in 0..2_u32 {
            note(errors, "enqueue_write", graph.enqueue_write(staging, &two, &[value; N]));
            note(errors, "replay", graph.replay());
            tickets.extend(note(
                errors,
                "enqueue_read",
                graph.enqueue_read::<u32>(staging, &one, N),
            ));
        }
        if let Some(ticket) = tickets.first_mut() {
            note(errors, "wait", ticket.wait().map(drop));
        }
        if let Ok(value) = graph.state() {
            *value = 2;
        }
        note(errors, "update", graph.update(body));
        note(errors, "write", graph.write(&two, &[5_u32; N]));
        note(errors, "replay", graph.replay());
        note(errors, "read", graph.read(&one, &mut [0_u32; N]));
    }
    let mut meddler = Some(meddler);
    if end == End::BeforeTheDrops {
        meddler.take().into_iter().for_each(Meddler::leave);
    }
    drop((graph, staging));
    tickets.iter_mut().for_each(|ticket| drop(ticket.is_done()));
    drop((tickets, prepared));
    meddler.into_iter().for_each(Meddler::leave);
}

/// Checks that there are no reports and no leaks, except for buffers whose copy may be part of the
/// other thread's graph. Such buffers are kept. Returns their number.
fn check(simulator: Simulator, before: usize) -> Result<usize, String> {
    let lost = Cuda::retry_deferred_frees();
    simulator.assert_clean();
    let is_of_buffer = |leak: &String| leak.contains("host allocation") || leak.contains("event");
    let leaks = simulator.leaks();
    let is_expected = lost == Cuda::deferred_frees().of(DeferredFreeKind::HostMemory)
        && leaks.is_empty() == (lost == before)
        && leaks.iter().all(is_of_buffer);
    if is_expected { Ok(lost) } else { Err(format!("{}, {leaks:?}", Cuda::deferred_frees())) }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_begins_by_hand_between_two_calls() {
    let simulator = start();
    let (mut errors, mut programs, mut lost) = (Errors::new(), 0, 0);
    let times = if orders() > 20 { 12 } else { 6 };
    for (call, nth) in CALLS.into_iter().flat_map(|call| (1..=times).map(move |nth| (call, nth))) {
        for end in [End::AtOnce, End::BeforeTheDrops, End::AfterTheDrops] {
            start_anew(simulator, Settings::default(), nth);
            program(simulator, (call, nth), end, &mut errors);
            programs += 1;
            simulator.forget_failures();
            lost =
                check(simulator, lost).unwrap_or_else(|why| panic!("{call} {nth} {end:?}: {why}"));
        }
    }
    println!("FIGURE: {programs} programs, {lost} buffers lost; errors by step: {errors:?}");
}
