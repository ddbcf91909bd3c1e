//! Every `CUgraphNodeType` is supported or refused, as stated in the table of docs/graphs.md.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::sys::{self, CUgraphInstantiate_flags_enum as Flags, CUresult};
use cudarc::driver::{CudaStream, result};
use pool_core::PoolViewMut;
use pool_graph::{
    ArenaPolicy, CaptureError, CaptureSession, CudaArena, GraphMemoryError, NodeKind,
    UnreadableReason,
};

use crate::common::{Made, NO_FLAGS, RELAXED, arena, memory, stream, without_a_report};
use crate::hand_made::{Foreign, Kind};

/// The text that contains the table.
const DOCUMENT: &str = include_str!("../../../../../docs/graphs.md");

/// The kinds by number, each with the method that adds such a node to a graph, and the outcomes in
/// enqueued work and in a scope.
const TABLE: [(u32, Kind, &str, &str); 14] = [
    (0, Kind::Kernel, "supported", "supported"),
    (1, Kind::Copy, "supported", "ForeignMemory"),
    (2, Kind::Fill, "supported", "ForeignMemory"),
    (3, Kind::Host, "supported", "ForeignNode"),
    (4, Kind::ChildGraph, "supported", "ForeignNode"),
    (5, Kind::Empty, "supported", "supported"),
    (6, Kind::Wait, "supported", "ForeignNode"),
    (7, Kind::Record, "supported", "ForeignNode"),
    (8, Kind::ExternalSignal, "UnreadableNode", "ForeignNode"),
    (9, Kind::ExternalWait, "UnreadableNode", "ForeignNode"),
    (10, Kind::Allocate, "MemoryNodes", "MemoryNodes"),
    (11, Kind::Allocate, "MemoryNodes", "MemoryNodes"),
    (12, Kind::BatchMemoryOperations, "UnreadableNode", "ForeignNode"),
    (13, Kind::Conditional, "UnreadableNode", "ForeignNode"),
];

/// Adds a node on its stream. An empty node is added to the graph and becomes the stream's last
/// node.
fn put(foreign: &Foreign, kind: Kind) {
    match kind {
        Kind::Empty => foreign.put_empty(),
        _ => foreign.put(kind),
    }
}

fn outcome(kind: Kind, in_scope: bool) -> &'static str {
    let main = stream();
    let foreign = Foreign::new(&main);
    let session = CaptureSession::new(&main).unwrap();
    let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
        if in_scope {
            return capture.scope(capture.main(), |scope| {
                let mut view = scope.try_acquire::<u8, _>(100)?;
                put(&foreign, kind);
                Ok::<(), CaptureError>(view.fill_with_value(1)?)
            });
        }
        // SAFETY: the enqueued work uses memory that lives long enough.
        unsafe {
            capture.enqueue(capture.main(), &[], |_| {
                put(&foreign, kind);
                Ok(())
            })
        }
    });
    match made {
        Ok(mut graph) => {
            graph.replay().unwrap();
            graph.synchronize().unwrap();
            "supported"
        }
        Err(CaptureError::ForeignMemory { .. }) => "ForeignMemory",
        Err(CaptureError::ForeignNode { .. }) => "ForeignNode",
        Err(CaptureError::MemoryNodes { .. }) => "MemoryNodes",
        Err(CaptureError::UnreadableNode { reason: UnreadableReason::Kind, .. }) => {
            "UnreadableNode"
        }
        Err(other) => panic!("{kind:?}: {other:?}"),
    }
}

/// The document has a row for each kind, with its outcome. The unit test
/// `every_kind_of_node_is_known_or_refused_by_its_number` checks that all other numbers are
/// `UnreadableNode`.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_kind_of_node_is_as_its_row_says() {
    without_a_report(|| {
        for (number, kind, in_work, in_scope) in TABLE {
            let found = (outcome(kind, false), outcome(kind, true));
            assert_eq!(found, (in_work, in_scope), "{kind:?}");
            let start = format!("| {number} | ");
            let row = DOCUMENT.lines().find(|line| line.starts_with(&start));
            let row = row.unwrap_or_else(|| panic!("no row for {number}"));
            let cells: Vec<&str> =
                row.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
            let assert_documented = |cell: &str, outcome: &str| {
                let is_named = cell.split(['`', ' ', ',', ':']).any(|word| word == outcome);
                assert!(is_named, "{number}: {cell:?} does not contain {outcome}");
            };
            assert_documented(cells[2], in_work);
            assert_documented(cells[3], in_scope);
        }
        let numbers = DOCUMENT.lines().filter(|line| line.starts_with("| other | ")).count();
        assert_eq!(numbers, 1, "what a later driver may add");
    });
}

/// The same rows apply to the nodes of a child graph, and to the nodes of a graph nested in it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_node_that_cannot_be_read_in_a_child_graph() {
    without_a_report(|| {
        for (kind, named) in [
            (sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL, NodeKind::ExternalSignal),
            (sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT, NodeKind::ExternalWait),
            (
                sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
                NodeKind::BatchMemoryOperations,
            ),
        ] {
            for nested in [false, true] {
                let (main, other) = (stream(), stream());
                let foreign = Foreign::new(&main);
                let beside = Foreign::new(&other);
                other.begin_capture(RELAXED).unwrap();
                beside.put(Kind::Fill);
                let inner = other.end_capture(NO_FLAGS).unwrap().unwrap();
                Foreign::add_behind(inner.cu_graph(), kind);
                let outer = Foreign::around(inner.cu_graph());
                let child = if nested { outer } else { inner.cu_graph() };
                let session = CaptureSession::new(&main).unwrap();
                let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
                    // SAFETY: the graph never runs.
                    unsafe {
                        capture.enqueue(capture.main(), &[], |_| {
                            foreign.put_child(child);
                            Ok(())
                        })
                    }
                });
                let reason = UnreadableReason::Kind;
                let refused = CaptureError::UnreadableNode { kind: named, reason };
                assert_eq!(made.map(drop), Err(refused), "nested: {nested}");
                // SAFETY: the graph belongs to this test, and the node contains a copy of it.
                unsafe { sys::cuGraphDestroy(outer) }.result().unwrap();
            }
        }
    });
}

/// Memory nodes are refused, whatever flag the caller uses for its own graph. The flag applies to
/// the instantiation of a graph, and this crate never sets it. A graph with memory nodes cannot be
/// a node of a capture either, because the driver refuses its launch during a capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_nodes_with_and_without_auto_free() {
    without_a_report(|| {
        let auto_free = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        for frees in [false, true] {
            let (main, other) = (stream(), stream());
            let allocate = |stream: &Arc<CudaStream>| {
                // SAFETY: no work uses the allocation.
                let address = unsafe { result::malloc_async(stream.cu_stream(), 64) }?;
                if frees {
                    // SAFETY: the allocation is freed once.
                    unsafe { result::free_async(address, stream.cu_stream()) }?;
                }
                Ok::<(), CaptureError>(())
            };
            let prepared = CaptureSession::new(&main).unwrap().prepare(arena()).unwrap();
            let made: Made = prepared.capture((), |capture, ()| {
                // SAFETY: the work uses no memory.
                unsafe { capture.enqueue(capture.main(), &[], allocate) }
            });
            let nodes = if frees { 2 } else { 1 };
            assert_eq!(made.map(drop), Err(CaptureError::MemoryNodes { nodes }));
            for flags in [NO_FLAGS, auto_free] {
                other.begin_capture(RELAXED).unwrap();
                allocate(&other).unwrap();
                let graph = other.end_capture(flags).unwrap().unwrap();
                let made: Made = prepared.capture((), |capture, ()| {
                    let launch = |stream: &Arc<CudaStream>| {
                        let (exec, stream) = (graph.cu_graph_exec(), stream.cu_stream());
                        // SAFETY: both handles are live, and the graph uses only its own memory.
                        Ok(unsafe { sys::cuGraphLaunch(exec, stream) }.result()?)
                    };
                    // SAFETY: as above.
                    unsafe { capture.enqueue(capture.main(), &[], launch) }
                });
                let Err(CaptureError::Driver(error)) = &made else { panic!("{made:?}") };
                // With the other answers, the simulator refuses the memory nodes, not the launch.
                let expected = if Settings::default().other_answers {
                    CUresult::CUDA_ERROR_NOT_SUPPORTED
                } else {
                    CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                };
                assert_eq!(error.code(), Some(expected.into()));
            }
            let made: Made = prepared.capture((), |_, ()| Ok(()));
            made.unwrap().replay().unwrap();
        }
    });
}

/// A node of an unreadable kind may contain a fork. A linear arena therefore treats it as a fork,
/// also in a child graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_linear_arena_refuses_what_it_cannot_read() {
    without_a_report(|| {
        let main = stream();
        let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Linear).unwrap();
        let foreign = Foreign::new(&main);
        let captured = || {
            main.begin_capture(RELAXED).unwrap();
            foreign.put(Kind::Fill);
            main.end_capture(NO_FLAGS).unwrap().unwrap()
        };
        arena.check_graph(&captured()).unwrap();
        for kind in [
            sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT,
        ] {
            let graph = captured();
            Foreign::add_behind(graph.cu_graph(), kind);
            let checked = arena.check_graph(&graph);
            assert!(matches!(checked, Err(GraphMemoryError::ForkedCapture { .. })), "{checked:?}");
        }
    });
}
