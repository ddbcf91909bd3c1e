//! Tests the verifier on real graphs with one mutation each: an edge is removed, an edge is made
//! programmatic, or a temporary is moved by 256 bytes. If the verifier accepts a graph, an
//! exhaustive search of the graph must confirm this.

use driver_conformance::driver::Attribute;
use pool_graph::{ArenaPlan, ArenaPolicy, CaptureError, DeviceMemory};
use pool_plan::{Buffer, IntervalProblem, Options};

use crate::generator;
use crate::opened::{Edge, Opened, Work};
use crate::programs::Program;
use crate::{memory, require_device};

/// The number of each outcome for one kind of mutation.
#[derive(Debug, Default)]
struct Outcomes {
    /// The temporaries that share bytes are no longer ordered, and the verifier refuses the graph.
    found: usize,
    /// They are still ordered, and the verifier accepts the graph.
    harmless: usize,
    /// They are still ordered, but by a path that was not planned, and the verifier refuses the
    /// graph.
    strict: usize,
}

impl Outcomes {
    fn note(&mut self, opened: &Opened, edges: &[Edge], what: &str) {
        let verified = opened.capture.verify();
        match (verified, opened.is_ordered(edges)) {
            (Err(CaptureError::Unordered { .. } | CaptureError::Layout(_)), false) => {
                self.found += 1;
            }
            (Ok(_), true) => self.harmless += 1,
            (Err(CaptureError::Unordered { .. } | CaptureError::Layout(_)), true) => {
                self.strict += 1;
            }
            (answer, ordered) => panic!("{what}: {answer:?}, ordered: {ordered}"),
        }
    }
}

/// Returns short generated programs with many temporaries, on 1, 2 and 4 streams.
fn programs() -> Vec<Program> {
    let setting = |streams, seed| generator::Capture {
        operations: 50,
        streams,
        allocate: 0.3,
        free: 0.3,
        live_out: false,
        seed,
    };
    [(1, 1), (2, 2), (2, 3), (4, 4)]
        .map(|(streams, seed)| Program::generated(&setting(streams, seed)))
        .into()
}

/// Returns a policy with the given offsets. Its intervals never contain two temporaries at the same
/// time.
fn at(offsets: &[u64], program: &Program) -> (u64, ArenaPolicy) {
    let buffer = |(number, &size): (usize, &usize)| {
        let begin = i64::try_from(number).unwrap();
        let mut buffer = Buffer::new(number.to_string(), begin, begin + 1, size as u64);
        buffer.alignment = 256;
        buffer
    };
    let buffers = program.sizes.iter().enumerate().map(buffer).collect();
    let problem = IntervalProblem::new(buffers).unwrap();
    let mut plan = problem.solve(&Options::default()).unwrap();
    plan.offsets = offsets.to_vec();
    let plan = ArenaPlan::of_intervals(&problem, &plan).unwrap();
    (plan.peak(), ArenaPolicy::Planned(plan))
}

fn works(memory: &DeviceMemory) -> [Work; 2] {
    [Work::Plain, Work::kernels(memory)]
}

/// Captures each program with each kind of work and its plan, and calls `check` for each edge.
fn for_each_edge(kernels_alone: bool, mut check: impl FnMut(&Opened, &[Edge], usize)) {
    let memory = memory();
    for program in programs() {
        let offsets = Opened::planned_offsets(&memory, &program);
        for work in works(&memory) {
            if kernels_alone && matches!(work, Work::Plain) {
                continue;
            }
            let opened = Opened::new(&memory, &program, &work, at(&offsets, &program));
            let edges = opened.edges();
            let verified = opened.capture.verify().unwrap();
            assert!(verified.sharing > 0 && opened.is_ordered(&edges));
            for place in 0..edges.len() {
                check(&opened, &edges, place);
            }
            assert_eq!(opened.capture.verify(), Ok(verified), "all is as it was");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_single_edge_that_the_plan_relies_on_is_missed() {
    let _present = require_device();
    let mut outcomes = Outcomes::default();
    for_each_edge(false, |opened, edges, place| {
        let mut left = edges.to_vec();
        let gone = left.remove(place);
        opened.remove(gone);
        outcomes.note(opened, &left, "an edge gone");
        opened.add(gone);
    });
    println!("FIGURE: edges removed: {outcomes:?}");
    assert!(outcomes.found >= 100, "{outcomes:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_programmatic_edge_is_not_taken_for_order() {
    let device = require_device();
    let major = device.attribute(Attribute::CapabilityMajor).unwrap();
    if major < 9 {
        println!("SKIPPED: needs compute capability 9.0, this device has {major}.x");
        println!("NOT ASKED: programmatic edges");
        return;
    }
    let mut outcomes = Outcomes::default();
    for_each_edge(true, |opened, edges, place| {
        let mut changed = edges.to_vec();
        let loose = Edge { full: false, ..edges[place] };
        changed[place] = loose;
        opened.remove(edges[place]);
        opened.add(loose);
        assert!(opened.edges().contains(&loose), "the driver has it otherwise");
        outcomes.note(opened, &changed, "an edge programmatic");
        opened.remove(loose);
        opened.add(edges[place]);
    });
    println!("FIGURE: edges made programmatic: {outcomes:?}");
    assert!(outcomes.found >= 50, "{outcomes:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_shifted_offset_that_meets_a_neighbour_is_found() {
    let _present = require_device();
    let mut outcomes = Outcomes::default();
    let memory = memory();
    for program in programs() {
        let offsets = Opened::planned_offsets(&memory, &program);
        for work in works(&memory) {
            for moved in 0..offsets.len() {
                let down = offsets[moved].checked_sub(256);
                for offset in [Some(offsets[moved] + 256), down].into_iter().flatten() {
                    let mut shifted = offsets.clone();
                    shifted[moved] = offset;
                    let opened = Opened::new(&memory, &program, &work, at(&shifted, &program));
                    outcomes.note(&opened, &opened.edges(), "an offset shifted");
                }
            }
        }
    }
    println!("FIGURE: offsets shifted: {outcomes:?}");
    assert!(outcomes.found >= 50, "{outcomes:?}");
}
