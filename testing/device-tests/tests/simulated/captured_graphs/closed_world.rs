//! Adds every kind of node to a capture explicitly, at any point and on any thread. The node is
//! refused, or attributed to a call that is responsible for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sim_control::Simulator;
use cudarc::driver::CudaStream;
use pool_core::PoolViewMut;
use pool_graph::{Capture, CaptureError, CaptureSession, NodeKind, UnreadableReason};

use crate::common::{BYTES, Made, arena, pool, stream, without_a_report};
use crate::hand_made::{Foreign, KINDS, Kind};
use crate::support::start;

/// The point at which a node is added to a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// Before the capture's first work.
    First,
    /// While an operation of the capture adds its own node: before that node, and after it.
    InFill,
    BehindFill,
    /// While one stream is made to wait for another.
    InWait,
    /// On a branch that is not yet part of the capture.
    OnBranch,
    /// At the end of the body.
    Last,
    InScope,
    InLent,
    /// While work is enqueued.
    InWork,
}

const PLACES: [Place; 9] = [
    Place::First,
    Place::InFill,
    Place::BehindFill,
    Place::InWait,
    Place::OnBranch,
    Place::Last,
    Place::InScope,
    Place::InLent,
    Place::InWork,
];

/// Adds a node when the body reaches the chosen point.
struct Meddler {
    kind: Kind,
    place: Place,
    foreign: Arc<Foreign>,
    by_another: bool,
    has: Arc<AtomicBool>,
}

impl Meddler {
    fn act(&self) -> impl FnOnce() + Send + 'static {
        let (foreign, kind, has) = (Arc::clone(&self.foreign), self.kind, Arc::clone(&self.has));
        let by_another = self.by_another;
        let put = move || {
            foreign.put(kind);
            has.store(true, Ordering::SeqCst);
        };
        move || {
            if by_another { std::thread::spawn(put).join().unwrap() } else { put() }
        }
    }

    fn comes_by(&self, place: Place) {
        if place == self.place {
            self.act()();
        }
    }

    /// Acts immediately before the driver's next call of this name.
    fn waits_for(&self, call: &'static str, place: Place) {
        if place == self.place {
            Simulator::attach().unwrap().before_call(call, 1, self.act());
        }
    }

    /// Acts immediately before the query that the capture makes after the driver's next call of
    /// this name.
    fn waits_behind(&self, call: &'static str, place: Place) {
        if place == self.place {
            let (simulator, act) = (Simulator::attach().unwrap(), self.act());
            let behind = move || simulator.before_call("cuStreamGetCaptureInfo_v3", 1, act);
            simulator.before_call(call, 1, behind);
        }
    }

    fn body(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        let main = capture.main();
        self.comes_by(Place::First);
        self.comes_by(Place::OnBranch);
        let mut view = capture.acquire::<u8>(4096)?;
        self.waits_for("cuMemsetD8Async", Place::InFill);
        self.waits_behind("cuMemsetD8Async", Place::BehindFill);
        capture.fill_bytes(main, &mut view, 1)?;
        self.waits_for("cuStreamWaitEvent", Place::InWait);
        capture.wait(capture.branch(1)?, main)?;
        capture.scope(main, |scope| {
            let mut view = scope.try_acquire_filled::<u8, _>(4096, 1)?;
            self.comes_by(Place::InScope);
            Ok::<(), CaptureError>(view.fill_with_value(2)?)
        })?;
        {
            let mut lent = capture.lend(main, &mut view)?;
            self.comes_by(Place::InLent);
            lent.view_mut()?.fill_with_value(3)?;
        }
        // SAFETY: the memory used by this node lives long enough.
        unsafe {
            capture.enqueue(main, &[], |_| {
                self.comes_by(Place::InWork);
                Ok(())
            })
        }?;
        capture.fill_bytes(main, &mut view, 4)?;
        self.comes_by(Place::Last);
        Ok(())
    }
}

/// Returns the outcome: `accounted for`, or the error of the refusal.
fn outcome(kind: Kind, place: Place, by_another: bool) -> String {
    let (main, branch, third) = (stream(), stream(), stream());
    let on = if place == Place::OnBranch { &branch } else { &main };
    let foreign = Arc::new(Foreign::new(on));
    let has = Arc::default();
    let meddler = Meddler { kind, place, foreign, by_another, has };
    let session = CaptureSession::new(&main).unwrap();
    let session = session.branch(&branch).unwrap().branch(&third).unwrap();
    let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
        if place == Place::OnBranch {
            // The test makes this stream part of the capture explicitly.
            branch.join(&main)?;
        }
        meddler.body(capture)
    });
    assert!(meddler.has.load(Ordering::SeqCst), "{kind:?} did not come to {place:?}");
    match made {
        Ok(mut graph) => {
            graph.replay().unwrap();
            graph.synchronize().unwrap();
            "accounted for".to_owned()
        }
        Err(CaptureError::ForeignWork { .. }) => "ForeignWork".to_owned(),
        Err(CaptureError::ForeignMemory { .. }) => "ForeignMemory".to_owned(),
        Err(CaptureError::ForeignNode { kind }) => format!("ForeignNode {kind:?}"),
        Err(CaptureError::MemoryNodes { .. }) => "MemoryNodes".to_owned(),
        Err(CaptureError::UnreadableNode { kind, reason: UnreadableReason::Kind }) => {
            format!("UnreadableNode {kind:?}")
        }
        Err(CaptureError::Driver(error)) => format!("{error}"),
        Err(other) => panic!("{kind:?} {place:?}: {other:?}"),
    }
}

/// Returns `true` if the outcome is the required one.
fn is_right(kind: Kind, place: Place, outcome: &str) -> bool {
    let accounted = outcome == "accounted for";
    match (place, kind) {
        // A launch does not identify its caller. The caller of `enqueue` is responsible for
        // everything except memory.
        (Place::InScope | Place::InLent, Kind::Kernel) => accounted,
        (Place::InWork, Kind::Allocate) => outcome == "MemoryNodes",
        // An empty node is on no stream.
        (Place::InWork, Kind::Empty) => outcome == "ForeignNode Empty",
        (
            Place::InWork,
            Kind::Conditional
            | Kind::ExternalSignal
            | Kind::ExternalWait
            | Kind::BatchMemoryOperations,
        ) => outcome == format!("UnreadableNode {kind:?}"),
        (Place::InWork, _) => accounted,
        _ => !accounted && !outcome.contains("cuGraphInstantiate"),
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_kind_of_node_at_every_place() {
    let simulator = start();
    let mut table = BTreeMap::new();
    let mut wrong = Vec::new();
    for place in PLACES {
        for kind in KINDS {
            let [own, another] = [false, true].map(|by| outcome(kind, place, by));
            let cell = if own == another { own } else { format!("{own}; {another}") };
            if !cell.split("; ").all(|outcome| is_right(kind, place, outcome)) {
                wrong.push((kind, place, cell.clone()));
            }
            table.insert((place, kind), cell);
        }
    }
    for ((place, kind), cell) in &table {
        println!("FIGURE: {:<10} {:<10} {cell}", format!("{place:?}"), format!("{kind:?}"));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(table.len(), PLACES.len() * KINDS.len());
    simulator.assert_clean();
}

/// D3: another thread adds a fill of foreign memory while an operation of the capture adds its own
/// node. The memory is freed before a replay.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fill_of_another_thread_in_the_window_of_an_operation() {
    without_a_report(|| {
        let simulator = Simulator::attach().unwrap();
        for call in ["cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuMemcpyHtoDAsync_v2"] {
            let (main, pool) = (stream(), pool());
            let [x, y] = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
            let foreign = Arc::new(Foreign::new(&main));
            let lease = pool.lease(&[x.id(), y.id()]).unwrap();
            let session = CaptureSession::new(&main).unwrap().lease(lease);
            let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let [mut x, mut y] = [capture.block::<u8>(&x)?, capture.block::<u8>(&y)?];
                let foreign = Arc::clone(&foreign);
                simulator.before_call(call, 1, move || {
                    std::thread::spawn(move || foreign.put(Kind::Fill)).join().unwrap();
                });
                capture.fill_bytes(capture.main(), &mut x, 1)?;
                capture.copy(capture.main(), &mut y, &x)?;
                capture.copy_from_host(capture.main(), &mut x, &[1; 4096])?;
                Ok(())
            });
            drop(foreign);
            if let Ok(mut graph) = made {
                let _ = graph.replay().and(graph.synchronize());
                panic!("{call}: a graph with memory that went");
            }
            let Err(error) = made else { continue };
            assert!(matches!(error, CaptureError::ForeignMemory { .. }), "{call}: {error:?}");
        }
    });
}

/// A kernel was added during a fill. The stream waits for the kernel again while a scope is open.
/// The kernel does not count as work of the scope.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn nothing_answers_for_what_came_in_before_it() {
    without_a_report(|| {
        let (main, other) = (stream(), stream());
        let foreign = Arc::new(Foreign::new(&main));
        let session = CaptureSession::new(&main).unwrap();
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            let mut view = capture.acquire::<u8>(4096)?;
            let (put, streams) = (Arc::clone(&foreign), [Arc::clone(&main), Arc::clone(&other)]);
            Simulator::attach().unwrap().before_call("cuMemsetD8Async", 1, move || {
                put.put(Kind::Kernel);
                streams[1].join(&streams[0]).unwrap();
            });
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            capture.scope(capture.main(), |scope| {
                main.join(&other)?;
                let mut view = scope.try_acquire::<u8, _>(100)?;
                Ok::<(), CaptureError>(view.fill_with_value(1)?)
            })
        });
        let kind = NodeKind::Kernel;
        assert_eq!(made.map(drop), Err(CaptureError::ForeignNode { kind }));
    });
}

/// D10: other code adds a child graph inside an open scope.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_child_graph_in_a_scope_is_refused() {
    without_a_report(|| {
        let main: Arc<CudaStream> = stream();
        let foreign = Foreign::new(&main);
        let session = CaptureSession::new(&main).unwrap();
        let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
            capture.scope(capture.main(), |scope| {
                let mut view = scope.try_acquire::<u8, _>(100)?;
                foreign.put(Kind::ChildGraph);
                Ok::<(), CaptureError>(view.fill_with_value(1)?)
            })
        });
        let kind = NodeKind::ChildGraph;
        assert_eq!(made.map(drop), Err(CaptureError::ForeignNode { kind }));
    });
}
