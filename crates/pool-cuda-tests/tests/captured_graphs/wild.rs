//! Random bodies, tame ones and such as are meddled with: scopes in scopes, lent views, things forgotten,
//! updates with other blocks, captures ended and begun by hand, other threads in the middle of a call, graphs
//! of two streams with common blocks. A tame body becomes a graph; and whatever became one runs without a
//! race, a stale address or a leak, also when the memory of those who meddled is gone.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use fastrand::Rng;
use pool_cuda::AcquireShaped;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CaptureView, CapturedGraph, CudaArena,
    GraphMemoryBlock, PreparedCapture,
};

use crate::common::{BYTES, NO_FLAGS, RELAXED, memory, pool, stream};
use crate::hand_made::{Foreign, Kind};
use crate::support::{start, start_anew};

const N: usize = 4096;

/// The steps that bodies have taken so far.
static STEPS: AtomicUsize = AtomicUsize::new(0);

/// Says of a failure after how many steps it was found.
struct Count;

impl Drop for Count {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("FIGURE: found after {} steps", STEPS.load(Ordering::SeqCst));
        }
    }
}

/// What a body has, an update with another one of it.
#[derive(Clone)]
struct State {
    seed: u64,
    blocks: [GraphMemoryBlock; 3],
    value: u8,
    /// Whether it forgets guards and views.
    forgets: bool,
    /// Whether it keeps to one stream, so that its arena may rewind.
    is_single: bool,
    /// Whether its memory is planned: where no use of a view comes any more, another one has its bytes.
    is_planned: bool,
    /// The one block that it uses, where it does not use all of them: another graph may have the others.
    keeps_to: Option<usize>,
    /// Whether it reads blocks, and writes none.
    reads: bool,
    meddler: Option<Arc<Meddler>>,
}

/// Whoever has the streams of a session, too.
struct Meddler {
    streams: [Arc<CudaStream>; 2],
    /// On each of them.
    foreign: [Foreign; 2],
    /// Another handle of the arena, and where that begins.
    arena: OnceLock<(CudaArena, u64)>,
    /// Whether there is something to be meddled with.
    armed: AtomicBool,
}

impl Meddler {
    fn new(streams: [&Arc<CudaStream>; 2]) -> Arc<Self> {
        let foreign = streams.map(Foreign::new);
        let armed = AtomicBool::new(true);
        let (streams, arena) = (streams.map(Arc::clone), OnceLock::new());
        Arc::new(Self { streams, foreign, arena, armed })
    }

    /// The capture is over.
    fn leave(&self) {
        self.armed.store(false, Ordering::SeqCst);
        for stream in &self.streams {
            if pool_cuda::is_capturing(stream).unwrap() {
                let _ = stream.end_capture(NO_FLAGS);
            }
        }
    }

    /// Does something now, or when the driver is called next.
    fn meddle(self: &Arc<Self>, random: &mut Rng) {
        let (one, kind) = (random.usize(..2), random.usize(..5));
        // Not kernels: nothing tells those of a scope from others.
        let kind = [Kind::Fill, Kind::Copy, Kind::Host, Kind::Record, Kind::ChildGraph][kind];
        let calls = ["cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuStreamWaitEvent"];
        let call = calls[random.usize(..calls.len())];
        let ends_regions = self.arena.get().is_some() && random.bool();
        match if ends_regions { 6 } else { random.usize(..6) } {
            6 => self.end_regions(),
            0 => {
                if let Ok(Some(graph)) = self.streams[one].end_capture(NO_FLAGS) {
                    let _ = graph.launch();
                }
            }
            1 => drop(self.streams[one].begin_capture(RELAXED)),
            2 => drop(self.streams[one].join(&self.streams[1 - one])),
            3 => drop(self.foreign[one].try_put(kind)),
            _ => {
                let own = Arc::downgrade(self);
                let put = move || {
                    let own = own.upgrade().filter(|own| own.armed.load(Ordering::SeqCst));
                    own.map(|own| own.foreign[one].try_put(kind))
                };
                let by_another = move || drop(std::thread::spawn(put).join());
                Simulator::attach().unwrap().before_call(call, 1, by_another);
            }
        }
    }
}

impl Meddler {
    /// Ends what others have in the arena, by a handle of its own.
    fn end_regions(&self) {
        let Some((arena, begin)) = self.arena.get() else { return };
        for region in 0..8 {
            let _ended = arena.deallocate(begin + region * N as u64);
        }
    }
}

/// The same steps for the same seed, dry or not, whoever meddles.
fn body(capture: &Capture<'_>, state: &mut State) -> Result<(), CaptureError> {
    let mut random = Rng::with_seed(state.seed);
    let mut views: Vec<CaptureView<'_, u8>> = Vec::new();
    for _ in 0..random.usize(3..12) {
        STEPS.fetch_add(1, Ordering::SeqCst);
        let mut meddles = random.fork();
        if let (Some(meddler), false) = (&state.meddler, capture.is_dry())
            && meddles.u8(..3) == 0
        {
            meddler.meddle(&mut meddles);
        }
        match act(capture, state, &mut random.fork(), &mut views) {
            // By somebody who forgot it.
            Err(CaptureError::Lent { .. }) if state.forgets => {}
            done => done?,
        }
    }
    Ok(())
}

fn act<'c>(
    capture: &'c Capture<'c>,
    state: &State,
    random: &mut Rng,
    views: &mut Vec<CaptureView<'c, u8>>,
) -> Result<(), CaptureError> {
    let (one, act, value) = (random.usize(..2), random.usize(..10), state.value);
    let on = [capture.main(), if state.is_single { capture.main() } else { capture.branch(0)? }];
    let (here, there) = (on[one], on[1 - one]);
    let block = random.usize(..3);
    let block = &state.blocks[state.keeps_to.unwrap_or(block)];
    let forgets = random.bool() && state.forgets;
    match act {
        3 | 6 | 7 | 9 if state.reads => {}
        0 | 1 => {
            let view = capture.acquire_on(here, N)?;
            let is_its_own = |other: &CaptureView<'_, u8>| {
                other.device_pointer().abs_diff(view.device_pointer()) >= N as u64
            };
            let may_share = state.is_planned || views.iter().all(is_its_own);
            assert!(may_share, "bytes of two that live");
            views.push(view);
        }
        2 if forgets => std::mem::forget(views.pop()),
        2 => drop(views.pop()),
        3 => capture.fill_bytes(here, &mut capture.block::<u8>(block)?, value)?,
        4 => views.iter_mut().try_for_each(|view| capture.fill_bytes(here, view, value))?,
        5 => {
            let Some(view) = views.last_mut() else { return Ok(()) };
            capture.copy(here, view, &capture.block(block)?)?;
        }
        6 => {
            let Some(view) = views.first() else { return Ok(()) };
            capture.copy(here, &mut capture.block(block)?, view)?;
        }
        7 => {
            let mut to = capture.block::<u8>(block)?;
            capture.copy_from_host(here, &mut to, &[value; N])?;
        }
        8 if state.is_single => one_scope(capture, value)?,
        8 => scopes(capture, [one, 1 - one], value)?,
        _ => {
            let mut block = capture.block::<u8>(block)?;
            let mut lent = capture.lend(here, &mut block)?;
            lent.view_mut()?.fill(value)?;
            let Some(view) = views.last_mut() else { return Ok(()) };
            let mut other = capture.lend(there, view)?;
            other.view_mut()?.copy_from(&lent.view()?)?;
            other.view_mut()?.fill(1)?;
            if forgets {
                std::mem::forget((lent, other));
            }
        }
    }
    Ok(())
}

/// A scope, whose shapes lie in the arena, too.
fn one_scope(capture: &Capture<'_>, value: u8) -> Result<(), CaptureError> {
    capture.scope(capture.main(), |scope| {
        let mut view = scope.try_acquire_zeroed::<u8>(N)?;
        let shaped = scope.try_acquire_shaped::<u8>(&[N, 1])?;
        let (mut array, _) = shaped.array.into_parts();
        array.copy_from(&view.as_view())?;
        Ok::<(), CaptureError>(view.fill(value)?)
    })
}

/// A scope on one stream, and another one inside of it on the other, which uses the first one's memory.
fn scopes(
    capture: &Capture<'_>,
    [outer, inner]: [usize; 2],
    value: u8,
) -> Result<(), CaptureError> {
    let on = [capture.main(), capture.branch(0)?];
    capture.scope(on[outer], |scope| {
        let mut view = scope.try_acquire_zeroed::<u8>(N)?;
        capture.scope(on[inner], |other| {
            let mut beside = other.try_acquire_filled(N, value)?;
            // In a probe a driver may refuse cudarc's own fills, for there is no memory.
            let is_refused = capture.is_dry() && Settings::default().other_answers;
            if is_refused {
                view.on(other.context().stream())?;
            } else {
                other.context().stream().memset_zeros(&mut view)?;
            }
            Ok::<(), CaptureError>(beside.fill(3)?)
        })?;
        Ok::<(), CaptureError>(view.fill(value)?)
    })
}

fn prepared(session: CaptureSession, state: &State) -> Result<PreparedCapture, CaptureError> {
    if !state.is_planned {
        let policy = if state.is_single { ArenaPolicy::Linear } else { ArenaPolicy::Monotone };
        let arena = CudaArena::new(memory(), 1 << 18, policy)?;
        if let Some(meddler) = &state.meddler {
            let stream = &meddler.streams[0];
            arena.install(stream)?;
            let other = CudaArena::on(stream).ok_or(CaptureError::Spoiled)?;
            other.clear(stream)?;
            let begin = arena.lease().ranges().next().map_or(0, |range| range.address);
            let _ = meddler.arena.set((other, begin));
        }
        return session.prepare(arena);
    }
    let options = pool_plan::Options { rounds: Some(10), ..pool_plan::Options::default() };
    let probe = session.probe_with(&options, &mut state.clone(), body)?;
    session.planned(&probe)
}

/// Whether a body that nobody meddled with may be refused so: the other graph has the block.
fn is_shared<T>(made: &Result<T, CaptureError>) -> bool {
    matches!(made, Err(CaptureError::SharedBlock { .. }))
}

/// Whether nobody meddles.
fn is_tame(seed: u64) -> bool {
    seed & 1 == 0
}

/// Whether bodies forget guards and views.
fn forgets(seed: u64) -> bool {
    seed & 6 == 0
}

/// Two graphs of two streams with the same blocks, replayed beside each other and updated; how many came to
/// be, and what was said of the others.
fn program(seed: u64, refused: &mut BTreeMap<String, usize>) -> usize {
    let mut random = Rng::with_seed(seed);
    let (streams, pool) = ([stream(), stream(), stream(), stream()], pool());
    let blocks = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
    let (is_tame, forgets) = (is_tame(seed), forgets(seed));
    let mut graphs: Vec<CapturedGraph<State>> = Vec::new();
    let mut meddlers = Vec::new();
    // One that writes the first block, and has a second one, which the other reads.
    let is_apart = random.u8(..3) == 0;
    for (number, pair) in streams.chunks(2).enumerate() {
        let leased = if is_apart { &blocks[number..2] } else { &blocks[..] };
        let names: Vec<_> = leased.iter().map(GraphMemoryBlock::id).collect();
        let lease = pool.lease(&names).unwrap();
        let session = CaptureSession::new(&pair[0]).unwrap().branch(&pair[1]).unwrap().lease(lease);
        let meddler = (!is_tame).then(|| Meddler::new([&pair[0], &pair[1]]));
        meddlers.extend(meddler.clone());
        let (seed, is_single, is_planned) = (random.u64(..), random.u8(..3) == 0, random.bool());
        let keeps_to = random.bool().then(|| random.usize(..3));
        let (keeps_to, reads) =
            if is_apart { (Some(number), number == 1) } else { (keeps_to, false) };
        let mut state = State {
            seed,
            blocks,
            value: 1,
            forgets,
            is_single,
            is_planned,
            keeps_to,
            reads,
            meddler,
        };
        let made = prepared(session, &state).and_then(|prepared| {
            let made = prepared.capture(state.clone(), body);
            if let Some(meddler) = state.meddler.take() {
                meddler.leave();
            }
            // The same memory serves again, whatever was done to the first capture.
            let again = prepared.capture(state, body);
            assert!(again.is_ok() || is_shared(&again), "seed {seed}: {again:?}");
            made
        });
        assert!(!is_tame || made.is_ok() || is_shared(&made), "seed {seed}: {made:?}");
        match made {
            Ok(graph) => graphs.push(graph),
            Err(error) => {
                let name = format!("{error:?}");
                let name = name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
                *refused.entry(name).or_default() += 1;
            }
        }
    }
    let replay_all = |graphs: &mut Vec<CapturedGraph<State>>| {
        graphs.iter_mut().for_each(|graph| graph.replay().unwrap());
    };
    replay_all(&mut graphs);
    for graph in &mut graphs {
        let state = graph.state().unwrap();
        (state.value, state.meddler) = (2, None);
        let other = random.bool();
        if other {
            state.blocks.rotate_left(1);
        }
        let updated = graph.update(body);
        assert!(updated.is_ok() || other, "seed {seed}: {updated:?}");
    }
    replay_all(&mut graphs);
    // The memory that came into a graph past its capture would be gone now.
    drop(meddlers);
    replay_all(&mut graphs);
    graphs.iter_mut().for_each(|graph| graph.synchronize().unwrap());
    graphs.len()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_bodies_that_are_meddled_with() {
    let simulator = start();
    let rounds = std::env::var("POOL_WILD_BODIES").ok();
    let rounds = rounds.map_or(300, |rounds| rounds.parse().unwrap());
    let (mut made, mut refused) = (0, BTreeMap::new());
    let _count = Count;
    for seed in 0..rounds {
        start_anew(simulator, Settings::default(), seed);
        made += program(seed, &mut refused);
        let reports: Vec<String> = simulator.reports().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "seed {seed}: {reports:?}");
        // What was forgotten leaks; and an event of cudarc's that a spoiled capture refused.
        if is_tame(seed) && !forgets(seed) {
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "seed {seed}: {leaks:?}");
        }
    }
    let (bodies, steps) = (2 * rounds, STEPS.load(Ordering::SeqCst));
    println!("FIGURE: {made} graphs of {bodies} bodies, {steps} steps; refused: {refused:?}");
    assert!(made > 0);
}
