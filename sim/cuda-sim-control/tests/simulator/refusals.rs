//! Flags and fields that are not modelled are refused by name on standard error. Values that CUDA
//! does not define are invalid. `docs/simulator.md` lists the values that are ignored.

use std::ptr;

use cudarc::driver::sys;

use crate::support::{start, with_seed};

const SUCCESS: u32 = 0;
const INVALID_VALUE: u32 = 1;
const INVALID_CONTEXT: u32 = 201;
const NOT_SUPPORTED: u32 = 801;

/// `CUmemPoolProps` as words: allocation type and handle type, location, security attributes,
/// maximum, reserved.
type Properties = [u64; 11];

/// Pinned memory on device 0.
const PINNED: Properties = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn with(properties: Properties, word: usize, value: u64) -> Properties {
    let mut changed = properties;
    changed[word] = value;
    changed
}

fn create_pool(properties: Properties) -> u32 {
    let mut pool = ptr::null_mut();
    // SAFETY: both pointers are valid during the call, and the words have the structure's layout.
    let created = unsafe { sys::cuMemPoolCreate(&raw mut pool, ptr::from_ref(&properties).cast()) };
    created as u32
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_of_other_memory() {
    let _device = with_seed(start(), 0);
    for (what, properties, expected) in [
        ("pinned", PINNED, SUCCESS),
        ("of no type", with(PINNED, 0, 0), INVALID_VALUE),
        ("managed", with(PINNED, 0, 2), NOT_SUPPORTED),
        ("shared by a file descriptor", with(PINNED, 0, 1 | 1 << 32), NOT_SUPPORTED),
        ("on the host", with(PINNED, 1, 2), NOT_SUPPORTED),
        ("with a usage", with(PINNED, 4, 2), NOT_SUPPORTED),
    ] {
        assert_eq!(create_pool(properties), expected, "{what}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pages_of_other_memory() {
    let _device = with_seed(start(), 0);
    // `CUmemAllocationProp` as words: types, location, metadata and flags.
    for (what, properties, expected) in [
        ("pinned", [1_u64, 1, 0, 0], SUCCESS),
        ("managed", [2, 1, 0, 0], NOT_SUPPORTED),
        ("shared by a file descriptor", [1 | 1 << 32, 1, 0, 0], NOT_SUPPORTED),
        ("compressed", [1, 1, 0, 1], NOT_SUPPORTED),
    ] {
        let (mut pages, properties) = (0, ptr::from_ref(&properties).cast());
        // SAFETY: both pointers are valid during the call, and the words have the structure's
        // layout.
        let created = unsafe { sys::cuMemCreate(&raw mut pages, 2 << 20, properties, 0) };
        assert_eq!(created as u32, expected, "{what}");
    }
    // `CUmemAccessDesc`: a location and the flags.
    for (flags, expected) in [(1_u32, NOT_SUPPORTED), (2, INVALID_VALUE)] {
        let description = [1, 0, flags];
        // SAFETY: the description outlives the call.
        // The address is never dereferenced.
        let set =
            unsafe { sys::cuMemSetAccess(1 << 40, 2 << 20, ptr::from_ref(&description).cast(), 1) };
        assert_eq!(set as u32, expected, "{flags}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn flags_of_events_contexts_and_host_memory() {
    let _device = with_seed(start(), 0);
    let mut event = ptr::null_mut();
    for (flags, expected) in
        [(4, NOT_SUPPORTED), (6, NOT_SUPPORTED), (8, INVALID_VALUE), (3, SUCCESS)]
    {
        // SAFETY: the output variable outlives the call.
        let created = unsafe { sys::cuEventCreate(&raw mut event, flags) };
        assert_eq!(created as u32, expected, "{flags}");
    }
    for (flags, expected) in [(0, SUCCESS), (2, INVALID_VALUE)] {
        // SAFETY: the event is live, and stream 0 is the legacy stream.
        let recorded = unsafe { sys::cuEventRecordWithFlags(event, ptr::null_mut(), flags) };
        assert_eq!(recorded as u32, expected, "{flags}");
        // SAFETY: the event is live, and stream 0 is the legacy stream.
        let waits = unsafe { sys::cuStreamWaitEvent(ptr::null_mut(), event, flags) };
        assert_eq!(waits as u32, expected, "{flags}");
    }
    for (flags, expected) in [(4, SUCCESS), (0x80, NOT_SUPPORTED), (0x100, INVALID_VALUE)] {
        // SAFETY: the call takes no pointers.
        let set = unsafe { sys::cuCtxSetFlags(flags) };
        assert_eq!(set as u32, expected, "{flags}");
    }
    for (flags, expected) in [(7, SUCCESS), (8, INVALID_VALUE)] {
        let mut memory = ptr::null_mut();
        // SAFETY: the output variable outlives the call.
        let allocated = unsafe { sys::cuMemHostAlloc(&raw mut memory, 64, flags) };
        assert_eq!(allocated as u32, expected, "{flags}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn parts_of_nodes() {
    let _device = with_seed(start(), 0);
    let (mut graph, mut node) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the output variable outlives the call.
    assert_eq!(unsafe { sys::cuGraphCreate(&raw mut graph, 0) } as u32, SUCCESS);
    // `CUDA_MEM_ALLOC_NODE_PARAMS`: properties, descriptions of access and their number, bytes, the address.
    let description = [1_u32, 0, 3];
    let accesses = ptr::from_ref(&description).expose_provenance() as u64;
    for (count, expected) in [(1, NOT_SUPPORTED), (0, SUCCESS)] {
        let mut parameters = [0; 15];
        parameters[..11].copy_from_slice(&PINNED);
        (parameters[11], parameters[12], parameters[13]) = (accesses, count, 4096);
        // SAFETY: the graph is live.
        // All structures and output variables outlive the call.
        let added = unsafe {
            let parameters = ptr::from_mut(&mut parameters).cast();
            sys::cuGraphAddMemAllocNode(&raw mut node, graph, ptr::null(), 0, parameters)
        };
        assert_eq!(added as u32, expected, "{count}");
    }
    // `CUDA_MEMSET_NODE_PARAMS`: address, pitch, value and size of an element, width, height.
    let fill = [1_u64 << 40, 0, 1 << 32, 64, 1];
    let no_context = ptr::without_provenance_mut(0x1234);
    // SAFETY: the graph is live.
    // All structures and output variables outlive the call.
    // The context is never dereferenced.
    let added = unsafe {
        let fill = ptr::from_ref(&fill).cast();
        sys::cuGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, fill, no_context)
    };
    assert_eq!(added as u32, INVALID_CONTEXT);
}
