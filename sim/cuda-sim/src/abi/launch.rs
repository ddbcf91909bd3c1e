//! Kernel launches, on streams and as graph nodes.

use super::foreign::{In, Out};
use super::node::check_context;
use super::session::Session;
use crate::code::{Code, Outcome};
use crate::world::{KernelCall, Shape, Work};

/// The parameters of a launch: an array with one address for each, or one packed buffer.
#[derive(Clone, Copy)]
struct Parameters {
    each: In<In<u8>>,
    packed: In<In<u8>>,
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: In<Attribute>,
    count: u32,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Attribute {
    name: u32,
    pad: u32,
    value: [u64; 8],
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`, as callers pass and receive it.
#[derive(Clone, Copy)]
#[repr(C)]
struct KernelNode<P> {
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    each: P,
    packed: P,
    library_kernel: u64,
    context: u64,
}

/// The keys of `extra`.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_BYTES: usize = 2;

/// Known attributes of launches.
const IGNORED: u32 = 0;
const PROGRAMMATIC: u32 = 6;
const PRIORITY: u32 = 8;

/// Packs the parameters according to the kernel's layout and returns their bytes.
fn gather(session: &mut Session, function: u64, from: Parameters) -> Outcome<Vec<u8>> {
    let (places, size) = session.parameters_of(function)?;
    let mut bytes = vec![0; size];
    if !from.packed.is_null() {
        if !from.each.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let packed = packed(from.packed)?;
        if packed.len() < size {
            return Err(Code::INVALID_VALUE);
        }
        bytes.copy_from_slice(&packed[..size]);
        return Ok(bytes);
    }
    let values = from.each.array(places.len())?;
    for (place, value) in places.iter().zip(values) {
        let value = value.array(place.bytes)?;
        bytes[place.offset..place.offset + place.bytes].copy_from_slice(&value);
    }
    Ok(bytes)
}

/// Returns the buffer that is described by a list of keys and values.
fn packed(list: In<In<u8>>) -> Outcome<Vec<u8>> {
    let (mut buffer, mut bytes) = (None, None);
    for pair in 0.. {
        let key = list.get_at(2 * pair)?.address();
        if key == END {
            break;
        }
        let value = list.get_at(2 * pair + 1)?;
        match key {
            BUFFER => buffer = Some(value),
            BUFFER_BYTES => bytes = Some(value.of::<usize>().get()?),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    match (buffer, bytes) {
        (Some(buffer), Some(bytes)) => buffer.array(bytes),
        _ => Err(Code::INVALID_VALUE),
    }
}

fn launch(
    session: &mut Session,
    function: u64,
    shape: Shape,
    stream: u64,
    parameters: Parameters,
    programmatic: bool,
) -> Outcome<()> {
    let thread = session.thread;
    session.current(thread)?;
    let function = session.function_to_launch(thread, function)?;
    let parameters = gather(session, function, parameters)?;
    let call = session.kernel_call(function, shape, parameters)?;
    session.launch_kernel(thread, stream, call, programmatic)?;
    let device = session.device_of_stream(thread, stream)?;
    session.concerns(device);
    Ok(())
}

fn node_call(session: &mut Session, node: KernelNode<In<In<u8>>>) -> Outcome<KernelCall> {
    check_context(session, node.context)?;
    let named = if node.function == 0 { node.library_kernel } else { node.function };
    let thread = session.thread;
    let function = session.function_to_launch(thread, named)?;
    let parameters = Parameters { each: node.each, packed: node.packed };
    let parameters = gather(session, function, parameters)?;
    let shape = Shape { grid: node.grid, block: node.block, shared: node.shared };
    session.kernel_call(function, shape, parameters)
}

driver_calls! {
    fn cuLaunchKernel(
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        each: In<In<u8>>,
        packed: In<In<u8>>,
    ) |session| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let shape = Shape { grid, block, shared };
        launch(session, function, shape, stream, Parameters { each, packed }, false)
    }

    fn cuLaunchKernelEx(
        config: In<Config>,
        function: u64,
        each: In<In<u8>>,
        packed: In<In<u8>>,
    ) |session| {
        let Config { grid, block, shared, stream, attributes, count } = config.get()?;
        let mut programmatic = false;
        for attribute in attributes.array(count as usize)? {
            match attribute.name {
                IGNORED | PRIORITY => {}
                PROGRAMMATIC => programmatic = attribute.value[0] & 0xFFFF_FFFF != 0,
                name => return Err(crate::code::unmodelled(&format!("launch attribute {name}"))),
            }
        }
        let shape = Shape { grid, block, shared };
        launch(session, function, shape, stream, Parameters { each, packed }, programmatic)
    }

    fn cuGraphAddKernelNode_v2(
        place: Out<u64>,
        graph: u64,
        after: In<u64>,
        count: usize,
        wanted: In<KernelNode<In<In<u8>>>>,
    ) |session| {
        let call = node_call(session, wanted.get()?)?;
        place.put(session.add_node(graph, &after.array(count)?, Work::Kernel(call))?)
    }

    fn cuGraphKernelNodeGetParams_v2(node: u64, place: Out<KernelNode<u64>>) |session| {
        let (call, parameters) = session.show_parameters(node)?;
        // The array is valid until the node is queried again or its graph is destroyed.
        let each = parameters.as_ptr().expose_provenance() as u64;
        let launch = &call.launch;
        let shared = u32::try_from(launch.dynamic_shared).map_err(|_| Code::UNKNOWN)?;
        place.put(KernelNode {
            function: session.function_handle(&call),
            grid: launch.grid,
            block: launch.block,
            shared,
            each,
            packed: 0,
            library_kernel: 0,
            context: 0,
        })
    }

    fn cuGraphKernelNodeSetParams_v2(node: u64, wanted: In<KernelNode<In<In<u8>>>>) |session| {
        let call = node_call(session, wanted.get()?)?;
        session.set_kernel(node, call)
    }

    fn cuGraphExecKernelNodeSetParams_v2(
        exec: u64,
        node: u64,
        wanted: In<KernelNode<In<In<u8>>>>,
    ) |session| {
        let call = node_call(session, wanted.get()?)?;
        session.set_exec_kernel(exec, node, call)
    }
}
