//! A capture taken apart: its graph, which tests change through the driver, and the test's own model of it. Nothing
//! here uses `pool-graph`'s records or reads.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureView, CudaArena, DeviceMemory, UnverifiedCapture,
};
use pool_kernels::{Launch, elementwise};

use crate::programs::{Kept, Program, Step, session};

/// The work of the nodes.
pub(crate) enum Work {
    /// Fills and copies of the driver, whose nodes contain addresses.
    Plain,
    /// Kernels, whose nodes do not.
    Kernels { fill: CudaFunction, copy: CudaFunction },
}

/// Bytes of the arena, and the nodes that use them.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) by: Vec<sys::CUgraphNode>,
}

/// An edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: sys::CUgraphNode,
    pub(crate) to: sys::CUgraphNode,
    /// `true` if it orders memory.
    pub(crate) full: bool,
}

/// The graph, and the uses of its bytes.
pub(crate) struct Opened {
    pub(crate) capture: UnverifiedCapture,
    pub(crate) temporaries: Vec<Used>,
    _kept: Kept,
}

impl Work {
    pub(crate) fn kernels(memory: &DeviceMemory) -> Self {
        let text = Ptx::from_src(elementwise::MODULE.text());
        let module = memory.context().load_module(text).unwrap();
        let function = |name| module.load_function(name).unwrap();
        Self::Kernels {
            fill: function(elementwise::FILL.f32),
            copy: function(elementwise::COPY.f32),
        }
    }

    fn fill(&self, stream: &Arc<CudaStream>, to: u64, bytes: usize) -> Result<(), CaptureError> {
        match self {
            // SAFETY: the callers pass temporaries of `bytes` bytes; and no graph is run.
            Self::Plain => unsafe { result::memset_d8_async(to, 1, bytes, stream.cu_stream()) }?,
            Self::Kernels { fill, .. } => {
                let count = bytes as u64 / 4;
                let mut launch = stream.launch_builder(fill);
                launch.arg(&to).arg(&1.0_f32).arg(&count);
                // SAFETY: the parameters are those of `FILL`; as above.
                unsafe { launch.launch(over(bytes)) }?;
            }
        }
        Ok(())
    }

    fn copy(
        &self,
        stream: &Arc<CudaStream>,
        to: u64,
        from: u64,
        bytes: usize,
    ) -> Result<(), CaptureError> {
        match self {
            Self::Plain => {
                // SAFETY: the callers pass a temporary of `bytes` bytes and a sink that is no
                // shorter; and no graph is run.
                unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cu_stream()) }?;
            }
            Self::Kernels { copy, .. } => {
                let count = bytes as u64 / 4;
                let mut launch = stream.launch_builder(copy);
                launch.arg(&from).arg(&to).arg(&count);
                // SAFETY: the parameters are those of `COPY`; as above.
                unsafe { launch.launch(over(bytes)) }?;
            }
        }
        Ok(())
    }
}

fn over(bytes: usize) -> LaunchConfig {
    let Launch { grid, block } = Launch::over_elements(bytes / 4);
    LaunchConfig { grid_dim: grid, block_dim: block, shared_mem_bytes: 0 }
}

impl Opened {
    /// Captures a program into an arena of `bytes` bytes.
    pub(crate) fn new(
        memory: &DeviceMemory,
        program: &Program,
        work: &Work,
        (bytes, policy): (u64, ArenaPolicy),
    ) -> Self {
        let (session, kept) = session(memory, program);
        let arena = CudaArena::new(memory.clone(), bytes, policy).unwrap();
        let used = RefCell::new(Vec::new());
        let body = |capture: &Capture<'_>, (): &mut ()| run(program, work, capture, &kept, &used);
        let capture =
            session.prepare(arena).unwrap().capture_unverified::<_, CaptureError>(&mut (), body);
        Self { capture: capture.unwrap(), temporaries: used.into_inner(), _kept: kept }
    }

    /// Returns the planner's offsets of a program's temporaries.
    pub(crate) fn planned_offsets(memory: &DeviceMemory, program: &Program) -> Vec<u64> {
        let (session, kept) = session(memory, program);
        let used = RefCell::new(Vec::new());
        let dry =
            |capture: &Capture<'_>, (): &mut ()| run(program, &Work::Plain, capture, &kept, &used);
        let probe = session.probe::<_, CaptureError>(&mut (), dry).unwrap();
        let planned = (probe.arena_bytes(), probe.policy());
        let opened = Self::new(memory, program, &Work::Plain, planned);
        let addresses = || opened.temporaries.iter().map(|one| one.address);
        let base = addresses().min().unwrap_or(0);
        addresses().map(|address| address - base).collect()
    }

    /// Returns its edges, read from the driver.
    pub(crate) fn edges(&self) -> Vec<Edge> {
        let (graph, none) = (self.capture.graph(), ptr::null_mut());
        let mut count = 0;
        // SAFETY: the graph lives; without arrays the driver counts.
        unsafe { sys::cuGraphGetEdges_v2(graph, none, none, ptr::null_mut(), &raw mut count) }
            .result()
            .unwrap();
        let (mut from, mut data) = (vec![ptr::null_mut(); count], vec![edge_data(true); count]);
        let mut to = from.clone();
        let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
        // SAFETY: the graph lives, and the arrays have `count` entries.
        unsafe {
            sys::cuGraphGetEdges_v2(graph, sources, targets, data.as_mut_ptr(), &raw mut count)
        }
        .result()
        .unwrap();
        let ends = from.into_iter().zip(to).zip(data);
        ends.map(|((from, to), data)| Edge { from, to, full: data.type_ == 0 }).collect()
    }

    /// Removes an edge from the graph.
    pub(crate) fn remove(&self, edge: Edge) {
        let data = edge_data(edge.full);
        // SAFETY: the graph and its nodes live, and each array has one entry.
        unsafe {
            sys::cuGraphRemoveDependencies_v2(
                self.capture.graph(),
                &raw const edge.from,
                &raw const edge.to,
                &raw const data,
                1,
            )
        }
        .result()
        .unwrap();
    }

    /// Adds an edge to it.
    pub(crate) fn add(&self, edge: Edge) {
        let data = edge_data(edge.full);
        // SAFETY: as above.
        unsafe {
            sys::cuGraphAddDependencies_v2(
                self.capture.graph(),
                &raw const edge.from,
                &raw const edge.to,
                &raw const data,
                1,
            )
        }
        .result()
        .unwrap();
    }

    /// Returns `true` if these edges order all uses of every two temporaries that share bytes. It
    /// searches plainly, from each node along all edges.
    pub(crate) fn is_ordered(&self, edges: &[Edge]) -> bool {
        let mut next: HashMap<sys::CUgraphNode, Vec<sys::CUgraphNode>> = HashMap::new();
        for edge in edges.iter().filter(|edge| edge.full) {
            next.entry(edge.from).or_default().push(edge.to);
        }
        let reaches = |from: sys::CUgraphNode, to: sys::CUgraphNode| {
            let (mut open, mut seen) = (vec![from], vec![from]);
            while let Some(node) = open.pop() {
                for &after in next.get(&node).into_iter().flatten() {
                    if after == to {
                        return true;
                    }
                    if !seen.contains(&after) {
                        seen.push(after);
                        open.push(after);
                    }
                }
            }
            false
        };
        let follows = |earlier: &Used, later: &Used| {
            earlier.by.iter().all(|&one| later.by.iter().all(|&other| reaches(one, other)))
        };
        self.temporaries.iter().enumerate().all(|(number, one)| {
            self.temporaries[number + 1..].iter().all(|other| {
                let apart = one.address + one.bytes <= other.address
                    || other.address + other.bytes <= one.address;
                apart || follows(one, other) || follows(other, one)
            })
        })
    }
}

/// Returns the data of a full edge, or of a programmatic one, whose kernel may begin at the
/// predecessor's trigger.
fn edge_data(full: bool) -> sys::CUgraphEdgeData {
    let kind = u8::from(!full);
    sys::CUgraphEdgeData { from_port: kind, to_port: 0, type_: kind, reserved: [0; 5] }
}

/// Returns the node that was added last on a stream.
fn last_node(stream: &CudaStream) -> sys::CUgraphNode {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut nodes, mut count) = (ptr::null(), 0);
    let none = ptr::null_mut();
    // SAFETY: the stream lives, and the places outlive the call; unneeded results have null places.
    unsafe {
        sys::cuStreamGetCaptureInfo_v3(
            stream.cu_stream(),
            &raw mut status,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut nodes,
            none,
            &raw mut count,
        )
    }
    .result()
    .unwrap();
    assert_eq!(count, 1);
    // SAFETY: the driver returned that there is one.
    unsafe { *nodes }
}

/// Puts a program into a capture, and records which node uses which bytes.
fn run(
    program: &Program,
    work: &Work,
    capture: &Capture<'_>,
    kept: &Kept,
    used: &RefCell<Vec<Used>>,
) -> Result<(), CaptureError> {
    let stream = |number: usize| match number {
        0 => Ok(capture.main()),
        branch => capture.branch(branch - 1),
    };
    let mut live: Vec<Option<CaptureView<'_, u8>>> = Vec::new();
    for step in &program.steps {
        match *step {
            Step::Take { stream: on, bytes } => {
                let mut view = capture.acquire((stream(on)?, bytes))?;
                let address = view.address();
                let uses = [view.write()];
                // SAFETY: it uses the declared bytes, on this stream.
                unsafe {
                    capture.enqueue(stream(on)?, &uses, |stream| {
                        work.fill(stream, address, bytes)?;
                        let by = vec![last_node(stream)];
                        used.borrow_mut().push(Used { address, bytes: bytes as u64, by });
                        Ok(())
                    })
                }?;
                live.push(Some(view));
            }
            Step::Read { stream: on, temporary } | Step::CopyOut { stream: on, temporary } => {
                let view = live[temporary].as_ref().unwrap();
                let mut sink = capture.block::<u8>(kept.sink(on))?;
                let (to, from, bytes) = (sink.address(), view.address(), view.len());
                let uses = [view.read(), sink.write()];
                // SAFETY: as above.
                unsafe {
                    capture.enqueue(stream(on)?, &uses, |stream| {
                        work.copy(stream, to, from, bytes)?;
                        used.borrow_mut()[temporary].by.push(last_node(stream));
                        Ok(())
                    })
                }?;
            }
            Step::End { temporary } => live[temporary] = None,
            Step::Wait { later, earlier } => capture.wait(stream(later)?, stream(earlier)?)?,
            Step::Use { .. } => panic!("the generator's programs read what they have filled"),
        }
    }
    Ok(())
}
