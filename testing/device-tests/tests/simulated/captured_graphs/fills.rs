//! The nodes of fills depend on the element type and on the length, but never on the value. An
//! update of the graph can therefore use any other value.

use cuda_sim_control::Settings;
use cudarc::driver::sys;
use fastrand::Rng;
use pool_core::{PodElement, PoolView, PoolViewMut, bytemuck};
use pool_cuda::{Cuda, CudaDevice, DeviceViewMut};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, GraphMemoryBlock,
    PreparedCapture,
};

use crate::common::{NO_FLAGS, RELAXED, memory, pool, stream};
use crate::support::{pool as eager_pool, start, start_anew};

/// The number of graphs, and the number of fills in each graph.
const GRAPHS: u64 = 100;
const FILLS: usize = 100;
/// The sizes of elements.
const SIZES: [usize; 6] = [1, 2, 4, 8, 12, 16];

/// A fill of a block, through a lent view or through memory of a scope.
struct Fill {
    size: usize,
    block: GraphMemoryBlock,
    in_scope: bool,
    /// The value, in the first bytes up to the element's size.
    value: [u8; 16],
}

/// The properties of a node that an update may not change: the kind; the size, width and height of
/// a fill; and the number of bytes of a copy.
type Shape = (u32, [usize; 3]);

/// Draws zeros, equal bytes, equal halves, equal words, or arbitrary bytes.
fn value(random: &mut Rng) -> [u8; 16] {
    let mut value = [0; 16];
    let period = [0, 1, 2, 4, 16][random.usize(0..5)];
    random.fill(&mut value[..period]);
    for place in period..if period == 0 { 0 } else { 16 } {
        value[place] = value[place - period];
    }
    value
}

/// Draws a length, which is short in most cases. Some lengths are so large that the first elements
/// are copied more than once.
fn length(random: &mut Rng) -> usize {
    let most = if random.u8(0..20) == 0 { 3000 } else { 100 };
    random.usize(1..=most)
}

impl Fill {
    fn put(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        match self.size {
            1 => self.put_as::<u8>(capture),
            2 => self.put_as::<u16>(capture),
            4 => self.put_as::<u32>(capture),
            8 => self.put_as::<u64>(capture),
            12 => self.put_as::<[u32; 3]>(capture),
            _ => self.put_as::<u128>(capture),
        }
    }

    fn put_as<T: PodElement>(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        let (main, value) = (capture.main(), read::<T>(&self.value));
        let mut whole = capture.block::<T>(&self.block)?;
        let mut lent = capture.lend(main, &mut whole)?;
        let mut view = lent.view_mut()?;
        if !self.in_scope {
            return Ok(view.fill_with_value(value)?);
        }
        capture.scope(main, |scope| {
            let filled = scope.try_acquire_filled(view.len(), value)?;
            Ok(view.copy_from(filled.as_view())?)
        })
    }

    /// Returns the block's bytes after the fill.
    fn bytes(&self) -> Vec<u8> {
        let bytes = usize::try_from(self.block.size()).unwrap() / self.size * self.size;
        self.value[..self.size].iter().copied().cycle().take(bytes).collect()
    }
}

fn read<T: PodElement>(value: &[u8; 16]) -> T {
    bytemuck::pod_read_unaligned(&value[..size_of::<T>()])
}

#[expect(clippy::ptr_arg, reason = "a body receives the state unchanged")]
fn body(capture: &Capture<'_>, fills: &mut Vec<Fill>) -> Result<(), CaptureError> {
    fills.iter().try_for_each(|fill| fill.put(capture))
}

/// Returns the properties of all nodes, in the driver's order.
fn shapes(graph: sys::CUgraph) -> Vec<Shape> {
    let mut count = 0;
    // SAFETY: the graph is live, the output variables outlive the calls, and the array has `count`
    // entries.
    unsafe { sys::cuGraphGetNodes(graph, std::ptr::null_mut(), &raw mut count) }.result().unwrap();
    let mut nodes = vec![std::ptr::null_mut(); count];
    // SAFETY: as above.
    unsafe { sys::cuGraphGetNodes(graph, nodes.as_mut_ptr(), &raw mut count) }.result().unwrap();
    nodes.into_iter().map(shape).collect()
}

fn shape(node: sys::CUgraphNode) -> Shape {
    let mut kind = sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
    // SAFETY: the node belongs to a live graph, and the output variable outlives the call, here and
    // below.
    unsafe { sys::cuGraphNodeGetType(node, &raw mut kind) }.result().unwrap();
    let parts = match kind {
        sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET => {
            // SAFETY: all fields are integers, for which all zeros is a valid value.
            let mut set: sys::CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
            // SAFETY: as above.
            unsafe { sys::cuGraphMemsetNodeGetParams(node, &raw mut set) }.result().unwrap();
            [set.elementSize as usize, set.width, set.height]
        }
        sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY => {
            let mut copy = std::mem::MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
            let place = copy.as_mut_ptr();
            // SAFETY: as above.
            unsafe { sys::cuGraphMemcpyNodeGetParams(node, place) }.result().unwrap();
            // SAFETY: the call succeeded, so it initialised the whole structure.
            let copy = unsafe { copy.assume_init() };
            [copy.WidthInBytes, copy.Height, copy.Depth]
        }
        _ => [0; 3],
    };
    (kind as u32, parts)
}

/// Captures, updates and recaptures a graph of fills. Returns the sizes of its elements.
fn fills_of_a_graph(seed: u64) -> Vec<usize> {
    let (mut random, stream, pool) = (Rng::with_seed(seed), stream(), pool());
    let mut fill = |_| {
        let size = SIZES[random.usize(0..SIZES.len())];
        let block = pool.allocate((size * length(&mut random)) as u64).unwrap();
        Fill { size, block, in_scope: random.bool(), value: value(&mut random) }
    };
    let mut fills: Vec<Fill> = (0..FILLS).map(&mut fill).collect();
    let blocks: Vec<_> = fills.iter().map(|fill| fill.block.id()).collect();
    let prepared = || -> PreparedCapture {
        let arena = CudaArena::new(memory(), 1 << 20, ArenaPolicy::Monotone).unwrap();
        let session = CaptureSession::new(&stream).unwrap();
        session.lease(pool.lease(&blocks).unwrap()).prepare(arena).unwrap()
    };
    let before = shapes(prepared().capture_unverified(&mut fills, body).unwrap().graph());
    let mut graph = prepared().capture(fills, body).unwrap();
    assert_replayed(&mut graph);
    let fills = graph.state().unwrap();
    fills.iter_mut().for_each(|fill| fill.value = value(&mut random));
    graph.update(body).unwrap();
    assert_replayed(&mut graph);
    let mut fills = graph.into_state().unwrap();
    let after = shapes(prepared().capture_unverified(&mut fills, body).unwrap().graph());
    assert_eq!(before, after, "seed {seed}");
    fills.iter().map(|fill| fill.size).collect()
}

/// Replays, and checks every byte.
fn assert_replayed(graph: &mut CapturedGraph<Vec<Fill>>) {
    graph.replay().unwrap();
    let fills = graph.state().unwrap().iter();
    let blocks: Vec<_> = fills.map(|fill| (fill.block, fill.bytes())).collect();
    for (block, expected) in blocks {
        let mut bytes = vec![0_u8; expected.len()];
        graph.read(&block, &mut bytes).unwrap();
        assert!(bytes == expected, "{block:?}");
    }
}

/// Captures 10,000 fills, and updates them to other values.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_of_a_fill_to_any_other_value() {
    let simulator = start();
    let mut sizes = Vec::new();
    for seed in 0..GRAPHS {
        start_anew(simulator, Settings::default(), seed);
        sizes.extend(fills_of_a_graph(seed));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
    assert_eq!(sizes.len(), 10_000);
    for size in SIZES {
        let of_size = sizes.iter().filter(|&&one| one == size).count();
        println!("FIGURE: {of_size} fills of elements of {size} bytes");
        assert!(of_size > 1000);
    }
}

/// Fills of a pool whose stream is captured explicitly. A driver call updates the executable graph.
fn by_hand<T: PodElement + PartialEq>(device: &CudaDevice, random: &mut Rng) {
    let mut pool = eager_pool(device);
    let stream = pool.context().stream().clone();
    let scope = pool.scope();
    let mut views: Vec<DeviceViewMut<'_, T>> =
        (0..20).map(|_| scope.acquire(length(random))).collect();
    let mut capture = || {
        let values: Vec<T> = views.iter().map(|_| read(&value(random))).collect();
        stream.begin_capture(RELAXED).unwrap();
        views
            .iter_mut()
            .zip(&values)
            .for_each(|(view, value)| view.fill_with_value(*value).unwrap());
        (stream.end_capture(NO_FLAGS).unwrap().unwrap(), values)
    };
    let ((graph, old), (next, new)) = (capture(), capture());
    assert_eq!(shapes(graph.cu_graph()), shapes(next.cu_graph()));
    let hold = |values: &[T]| {
        views
            .iter()
            .zip(values)
            .all(|(view, value)| view.copy_to_vec().unwrap().iter().all(|element| element == value))
    };
    graph.launch().unwrap();
    assert!(hold(&old));
    // SAFETY: all fields are integers and pointers; all zeros is a valid value, which denotes the
    // first result code.
    let mut result_info: sys::CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
    let (own, next) = (graph.cu_graph_exec(), next.cu_graph());
    // SAFETY: both graphs are live, and the output variable outlives the call.
    unsafe { sys::cuGraphExecUpdate_v2(own, next, &raw mut result_info) }.result().unwrap();
    graph.launch().unwrap();
    assert!(hold(&new));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_of_a_fill_that_is_captured_by_hand() {
    let simulator = start();
    for seed in 0..20 {
        start_anew(simulator, Settings::default(), seed);
        let (device, mut random) = (Cuda::device(0).unwrap(), Rng::with_seed(seed));
        by_hand::<u8>(&device, &mut random);
        by_hand::<u16>(&device, &mut random);
        by_hand::<u32>(&device, &mut random);
        by_hand::<[u8; 3]>(&device, &mut random);
        by_hand::<[u16; 3]>(&device, &mut random);
        by_hand::<u64>(&device, &mut random);
        by_hand::<[u32; 3]>(&device, &mut random);
        by_hand::<u128>(&device, &mut random);
        by_hand::<[u16; 5]>(&device, &mut random);
        drop(device);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
