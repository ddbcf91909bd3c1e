//! Page-locked host memory that is accessed by kernels, fills and copies of a device.

use std::sync::{Arc, Mutex};

use super::super::state::copy::{Copy, End};
use super::super::state::pointer::Fact;
use super::super::{Fill, HostMemory, Order, Settings, Shape, World};
use super::{THREAD, bytes, reach};
use crate::code::{Code, Outcome};

/// The address at which the host's bytes start.
const START: u64 = 0x10_0000;
const BYTES: usize = 256;

/// The bytes of a host, which a test shares.
#[derive(Clone)]
struct Host(Arc<Mutex<Vec<u8>>>);

impl HostMemory for Host {
    fn read(&self, address: u64, into: &mut [u8]) {
        let start = usize::try_from(address - START).unwrap();
        into.copy_from_slice(&self.0.lock().unwrap()[start..start + into.len()]);
    }

    fn write(&self, address: u64, from: &[u8]) {
        let start = usize::try_from(address - START).unwrap();
        self.0.lock().unwrap()[start..start + from.len()].copy_from_slice(from);
    }

    fn allocate(&self, _: usize) -> Option<u64> {
        Some(START)
    }

    fn free(&self, _: u64, _: usize) {}

    fn print(&self, _: &[u8]) {}
}

fn world() -> (World, Host) {
    let host = Host(Arc::new(Mutex::new(vec![0; BYTES])));
    let mut world = World::new(Settings::default(), Box::new(host.clone()));
    world.initialize();
    let context = world.retain(0).unwrap();
    world.set_current(THREAD, context).unwrap();
    (world, host)
}

/// Adds 1 to the 4 bytes at an address, using a stream.
fn add_one(world: &mut World, stream: u64, address: u64) -> Outcome<()> {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n
        .visible .entry k(.param .u64 at) { .reg .b32 %r<2>; .reg .b64 %l<2>;
        ld.param.u64 %l0, [at]; ld.global.u32 %r0, [%l0]; add.u32 %r0, %r0, 1;
        st.global.u32 [%l0], %r0; ret; }";
    let module = world.load_module(THREAD, text)?;
    let function = world.function_of(module, "k")?;
    let shape = Shape { grid: [1; 3], block: [1; 3], shared: 0 };
    let call = world.kernel_call(function, shape, address.to_le_bytes().to_vec())?;
    world.launch_kernel(THREAD, stream, call, false)
}

fn finish(world: &mut World) -> Outcome<()> {
    let goal = world.wait_for_context(THREAD)?;
    reach(world, goal).map(drop)
}

#[test]
fn a_kernel_reads_and_writes_memory_of_the_host() {
    let (mut world, host) = world();
    let address = world.allocate_host(THREAD, 64).unwrap();
    assert_eq!(world.device_address_of_host(THREAD, address + 8), Ok(address + 8));
    host.0.lock().unwrap()[8..12].copy_from_slice(&41_u32.to_le_bytes());
    add_one(&mut world, 0, address + 8).unwrap();
    finish(&mut world).unwrap();
    assert_eq!(host.0.lock().unwrap()[8..12], 42_u32.to_le_bytes());
    assert_eq!(world.reports.text(), "");
    add_one(&mut world, 0, address + 64).unwrap();
    assert_eq!(finish(&mut world), Err(Code::ILLEGAL_ADDRESS));
    assert!(world.reports.text().contains("out of bounds"), "{}", world.reports.text());
}

#[test]
fn what_a_kernel_leaves_alone_is_not_written_back() {
    let ranges = super::super::kernel::changed(b"abcdef", b"aXXdeY");
    assert_eq!(ranges, [1..3, 5..6]);
    assert!(super::super::kernel::changed(b"same", b"same").is_empty());
}

#[test]
fn kernels_of_two_streams_race_for_memory_of_the_host() {
    let (mut world, _) = world();
    let address = world.allocate_host(THREAD, 64).unwrap();
    for _ in 0..2 {
        let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
        add_one(&mut world, stream, address).unwrap();
    }
    finish(&mut world).unwrap();
    assert!(world.reports.text().starts_with("race: "), "{}", world.reports.text());
}

#[test]
fn copies_and_fills_take_it_by_its_address_on_a_device() {
    let (mut world, host) = world();
    let (pinned, device) =
        (world.allocate_host(THREAD, 64).unwrap(), world.allocate_plain(THREAD, 64).unwrap());
    let goal = world.fill(THREAD, Fill::row(pinned, 0x0102, 2, 32), "fill").unwrap();
    // The host must wait for a fill of host memory.
    assert!(!world.is_reached(&goal));
    reach(&mut world, goal).unwrap();
    assert_eq!(host.0.lock().unwrap()[..66], [[2, 1].repeat(32), vec![0, 0]].concat());
    let goal = world.fill(THREAD, Fill::row(device, 7, 1, 64), "fill").unwrap();
    assert!(world.is_reached(&goal));
    let copy = Copy::row(End::Device(device), End::Device(pinned), 32);
    let goal = world.copy(THREAD, copy, "copy").unwrap();
    reach(&mut world, goal).unwrap();
    finish(&mut world).unwrap();
    assert_eq!(bytes(&world, device, 64), [[2, 1].repeat(16), vec![7; 32]].concat());
    // The target is ordinary host memory that the device does not know, so the host waits.
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    for asynchronous in [false, true] {
        let copy = Copy::row(End::Host(START + 64), End::Device(pinned), 8);
        let goal = match asynchronous {
            false => world.copy(THREAD, copy, "copy").unwrap(),
            true => world.copy_async(THREAD, stream, copy, "copy").unwrap(),
        };
        assert!(!world.is_reached(&goal));
        reach(&mut world, goal).unwrap();
        assert_eq!(host.0.lock().unwrap()[64..72], [2, 1].repeat(4));
        host.0.lock().unwrap()[64..72].fill(0);
    }
    assert_eq!(world.reports.text(), "");
}

#[test]
fn memory_of_the_program_is_registered_and_goes_on_without() {
    let (mut world, host) = world();
    let register = |world: &mut World, at, len| world.register_host(THREAD, START + at, len);
    register(&mut world, 16, 32).unwrap();
    assert_eq!(register(&mut world, 40, 32), Err(Code::HOST_MEMORY_ALREADY_REGISTERED));
    assert_eq!(register(&mut world, 0, 17), Err(Code::HOST_MEMORY_ALREADY_REGISTERED));
    assert_eq!(register(&mut world, 0, 0), Err(Code::INVALID_VALUE));
    register(&mut world, 48, 16).unwrap();
    add_one(&mut world, 0, START + 16).unwrap();
    finish(&mut world).unwrap();
    assert_eq!(host.0.lock().unwrap()[16], 1);
    let end = |world: &mut World, at| -> Outcome<()> {
        let goal = world.begin_unregister(THREAD, START + at)?;
        reach(world, goal)?;
        world.finish_unregister(START + at)
    };
    end(&mut world, 16).unwrap();
    assert_eq!(end(&mut world, 16), Err(Code::HOST_MEMORY_NOT_REGISTERED));
    // The address is ordinary memory again, and not stale.
    let device = world.allocate_plain(THREAD, 16).unwrap();
    let copy = Copy::row(End::Device(device), End::Host(START + 16), 16);
    let goal = world.copy(THREAD, copy, "copy").unwrap();
    reach(&mut world, goal).unwrap();
    assert_eq!(world.reports.text(), "");
    assert_eq!(world.device_address_of_host(THREAD, START + 16), Err(Code::INVALID_VALUE));
}

#[test]
fn an_address_says_what_it_is() {
    let (mut world, _) = world();
    let (pinned, device) =
        (world.allocate_host(THREAD, 64).unwrap(), world.allocate_plain(THREAD, 100).unwrap());
    let context = world.current_context(THREAD).unwrap();
    for (attribute, of_host, of_device) in [
        (1, Ok(Fact::Wide(context)), Ok(Fact::Wide(context))),
        (2, Ok(Fact::Narrow(1)), Ok(Fact::Narrow(2))),
        (3, Ok(Fact::Wide(pinned + 4)), Ok(Fact::Wide(device + 4))),
        (4, Ok(Fact::Wide(pinned + 4)), Err(Code::INVALID_VALUE)),
        (8, Ok(Fact::Narrow(0)), Ok(Fact::Narrow(0))),
        (9, Ok(Fact::Narrow(0)), Ok(Fact::Narrow(0))),
        (11, Ok(Fact::Wide(pinned)), Ok(Fact::Wide(device))),
        (12, Ok(Fact::Wide(64)), Ok(Fact::Wide(100))),
        (5, Err(Code::NOT_SUPPORTED), Err(Code::NOT_SUPPORTED)),
        (0, Err(Code::INVALID_VALUE), Err(Code::INVALID_VALUE)),
        (22, Err(Code::INVALID_VALUE), Err(Code::INVALID_VALUE)),
    ] {
        let facts = [pinned, device].map(|start| world.pointer_fact(attribute, start + 4));
        assert_eq!(facts, [of_host, of_device], "attribute {attribute}");
    }
    assert_eq!(world.pointer_fact(2, 64), Err(Code::INVALID_VALUE));
    assert_ne!(world.pointer_fact(7, pinned), world.pointer_fact(7, device));
    assert_eq!(world.address_range(pinned + 63), Some((pinned, 64)));
}
