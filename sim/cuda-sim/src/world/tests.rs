//! Tests of the world without its C interface, using one thread and a stub of the host.

mod linking;
mod mapped;
mod pools;

use super::state::conditional::{Choice, IF, SWITCH, WHILE};
use super::state::copy::{Copy, End};
use super::{Fill, Goal, HostCall, HostMemory, Mode, Order, Settings, Step, World};
use crate::code::{Code, Outcome};

/// Host memory in which every byte reads as 5. Writes are dropped.
struct NoHost;

impl HostMemory for NoHost {
    fn read(&self, _: u64, into: &mut [u8]) {
        into.fill(5);
    }

    fn write(&self, _: u64, _: &[u8]) {}

    fn allocate(&self, bytes: usize) -> Option<u64> {
        Some(0x1000 + bytes as u64 * 16)
    }

    fn free(&self, _: u64, _: usize) {}

    fn print(&self, _: &[u8]) {}
}

const THREAD: u64 = 1;

fn world(seed: u64) -> World {
    let settings = Settings { seed, devices: 2, ..Settings::default() };
    let mut world = World::new(settings, Box::new(NoHost));
    world.initialize();
    let context = world.retain(0).unwrap();
    world.set_current(THREAD, context).unwrap();
    world
}

/// Runs work until a goal is reached. Host functions are counted but not called.
fn reach(world: &mut World, mut goal: Goal) -> Outcome<usize> {
    let mut calls = 0;
    loop {
        match world.step(&mut goal) {
            Step::Done => return world.waited(&goal).map(|()| calls),
            Step::Ran => {}
            Step::Call(stream, _) => {
                calls += 1;
                world.host_call_returned(stream);
            }
            Step::Busy => unreachable!("there is one thread"),
        }
    }
}

fn wait_for(world: &mut World, stream: u64) -> Outcome<usize> {
    let goal = world.wait_for_stream(THREAD, stream)?;
    reach(world, goal)
}

fn bytes(world: &World, address: u64, len: usize) -> Vec<u8> {
    let pieces = world.memory.resolve(address, len).unwrap();
    world.memory.gather(&pieces)
}

#[test]
fn nothing_runs_until_it_is_forced() {
    let mut world = world(0);
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    let address = world.allocate_plain(THREAD, 16).unwrap();
    let fill = Fill::row(address, 0x0102, 2, 8);
    world.fill_async(THREAD, stream, fill, "fill").unwrap();
    assert_eq!(bytes(&world, address, 16), [0xA5; 16]);
    wait_for(&mut world, stream).unwrap();
    assert_eq!(bytes(&world, address, 4), [2, 1, 2, 1]);
    assert_eq!(world.reports.text(), "");
}

#[test]
fn a_copy_takes_small_host_memory_at_once() {
    let mut world = world(0);
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    let address = world.allocate_plain(THREAD, 16).unwrap();
    let copy = Copy::row(End::Device(address), End::Host(64), 16);
    let goal = world.copy_async(THREAD, stream, copy, "copy").unwrap();
    assert!(world.is_reached(&goal));
    wait_for(&mut world, stream).unwrap();
    assert_eq!(bytes(&world, address, 16), [5; 16]);
}

#[test]
fn page_locked_memory_is_kept_until_its_copies_are_waited_for() {
    for waits in [false, true] {
        let mut world = world(0);
        let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
        let (host, device) =
            (world.allocate_host(THREAD, 16).unwrap(), world.allocate_plain(THREAD, 16).unwrap());
        let copy = Copy::row(End::Device(device), End::Host(host), 16);
        world.copy_async(THREAD, stream, copy, "copy").unwrap();
        if waits {
            wait_for(&mut world, stream).unwrap();
        }
        let goal = world.begin_free_host(THREAD, host).unwrap();
        reach(&mut world, goal).unwrap();
        world.finish_free_host(host).unwrap();
        let reported = world.reports.text();
        assert_eq!(reported.starts_with("use after free: cuMemFreeHost: "), !waits, "{reported}");
        assert_eq!(reported.lines().count(), usize::from(!waits), "{reported}");
    }
}

#[test]
fn host_functions_run_where_somebody_waits() {
    let mut world = world(0);
    let [one, two] = [0; 2].map(|_| world.create_stream(THREAD, Order::NonBlocking, 0).unwrap());
    let call = HostCall::of(1, 2);
    world.launch_host_function(THREAD, one, call).unwrap();
    world.launch_host_function(THREAD, two, call).unwrap();
    assert_eq!(wait_for(&mut world, two), Ok(1));
    let goal = world.wait_for_context(THREAD).unwrap();
    assert_eq!(reach(&mut world, goal), Ok(1));
}

#[test]
fn a_pool_gives_an_address_again_where_order_allows() {
    let mut world = world(0);
    let [one, two] = [0; 2].map(|_| world.create_stream(THREAD, Order::NonBlocking, 0).unwrap());
    let first = world.allocate_async(THREAD, one, 1000, None).unwrap();
    world.free_async(THREAD, one, first).unwrap();
    let beside = world.allocate_async(THREAD, two, 1000, None).unwrap();
    assert_ne!(beside, first);
    assert_eq!(world.allocate_async(THREAD, one, 1000, None), Ok(first));
    assert_eq!(world.reports.text(), "");
}

#[test]
fn memory_ends_where_it_is_said() {
    let mut world = world(0);
    let total = world.total_bytes(0);
    assert_eq!(world.allocate_plain(THREAD, usize::MAX), Err(Code::OUT_OF_MEMORY));
    let all = world.allocate_plain(THREAD, total).unwrap();
    assert_eq!(world.memory_information(THREAD), Ok((0, total)));
    assert_eq!(world.allocate_plain(THREAD, 1), Err(Code::OUT_OF_MEMORY));
    assert_eq!(world.allocate_async(THREAD, 0, 1, None), Err(Code::OUT_OF_MEMORY));
    world.finish_free(all).unwrap();
    assert_eq!(world.memory_information(THREAD), Ok((total, total)));
}

#[test]
fn plain_memory_freed_in_order_is_given_back_when_the_free_runs() {
    let mut world = world(0);
    let total = world.total_bytes(0);
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    let all = world.allocate_plain(THREAD, total).unwrap();
    world.free_async(THREAD, stream, all).unwrap();
    assert_eq!(world.memory_information(THREAD), Ok((0, total)));
    assert_eq!(world.free_async(THREAD, stream, all), Err(Code::INVALID_VALUE));
    wait_for(&mut world, stream).unwrap();
    assert_eq!(world.memory_information(THREAD), Ok((total, total)));
}

#[test]
fn a_strict_capture_refuses_queries_of_other_streams() {
    let mut world = world(0);
    let [one, two] = [0; 2].map(|_| world.create_stream(THREAD, Order::NonBlocking, 0).unwrap());
    for (mode, thread, refuses) in [
        (Mode::Global, THREAD, true),
        (Mode::Global, THREAD + 1, true),
        (Mode::ThreadLocal, THREAD, true),
        (Mode::ThreadLocal, THREAD + 1, false),
        (Mode::Relaxed, THREAD, false),
    ] {
        let context = world.retain(0).unwrap();
        world.set_current(thread, context).unwrap();
        world.begin_capture(THREAD, one, mode).unwrap();
        let asked = world.wait_for_stream(thread, two).err();
        assert_eq!(asked, refuses.then_some(Code::CAPTURE_UNSUPPORTED), "{mode:?}");
        assert_eq!(world.end_capture(THREAD, one).is_err(), refuses, "{mode:?}");
    }
}

#[test]
fn a_spoiled_capture_leaves_no_graph() {
    let mut world = world(0);
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    world.begin_capture(THREAD, stream, Mode::Global).unwrap();
    assert_eq!(world.allocate_plain(THREAD, 1), Err(Code::CAPTURE_UNSUPPORTED));
    assert_eq!(world.end_capture(THREAD, stream), Err(Code::CAPTURE_INVALIDATED));
    assert!(!world.leaks().contains("graph"));
    world.allocate_plain(THREAD, 1).unwrap();
}

#[test]
fn a_circle_of_nodes_cannot_be_launched() {
    let mut world = world(0);
    let graph = world.create_graph().unwrap();
    let one = world.add_node(graph, &[], super::Work::Empty).unwrap();
    let two = world.add_node(graph, &[one], super::Work::Empty).unwrap();
    let plain = super::EdgeData::default();
    world.change_edges(graph, &[(two, one, plain)], true).unwrap();
    assert_eq!(world.instantiate(THREAD, graph, 0), Err(Code::INVALID_VALUE));
    world.change_edges(graph, &[(two, one, plain)], false).unwrap();
    world.instantiate(THREAD, graph, 0).unwrap();
}

#[test]
fn asking_the_legacy_stream_spoils_no_capture() {
    let mut world = world(0);
    let stream = world.create_stream(THREAD, Order::Blocking, 0).unwrap();
    world.begin_capture(THREAD, stream, Mode::Relaxed).unwrap();
    assert_eq!(world.capture_status(THREAD, 0), Err(Code::CAPTURE_IMPLICIT));
    assert!(world.end_capture(THREAD, stream).is_ok());
    world.begin_capture(THREAD, stream, Mode::Relaxed).unwrap();
    assert_eq!(world.wait_for_stream(THREAD, 0).err(), Some(Code::CAPTURE_IMPLICIT));
    assert_eq!(world.end_capture(THREAD, stream), Err(Code::CAPTURE_INVALIDATED));
}

#[test]
fn a_pool_may_be_told_to_keep_to_streams() {
    let mut world = world(0);
    let [one, two] = [0; 2].map(|_| world.create_stream(THREAD, Order::NonBlocking, 0).unwrap());
    let pool = world.create_pool(THREAD, 0, 0).unwrap();
    for attribute in [1, 2] {
        world.set_pool_attribute(pool, attribute, 0).unwrap();
    }
    let first = world.allocate_async(THREAD, one, 1000, Some(pool)).unwrap();
    world.free_async(THREAD, one, first).unwrap();
    let event = world.create_event(THREAD, 0).unwrap();
    world.record_event(THREAD, event, one, 0).unwrap();
    world.wait_event(THREAD, two, event, 0).unwrap();
    assert_ne!(world.allocate_async(THREAD, two, 1000, Some(pool)), Ok(first));
    world.set_pool_attribute(pool, 1, 1).unwrap();
    assert_eq!(world.allocate_async(THREAD, two, 1000, Some(pool)), Ok(first));
    assert_eq!(world.reports.text(), "");
}

#[test]
fn addresses_lose_their_pages_only_when_nothing_uses_them() {
    let mut world = world(0);
    let stream = world.create_stream(THREAD, Order::NonBlocking, 0).unwrap();
    let start = world.reserve(super::PAGE, 0).unwrap();
    let pages = world.create_pages(0, super::PAGE).unwrap();
    for waits in [true, false] {
        world.map(start, super::PAGE, 0, pages).unwrap();
        world.set_access(start, super::PAGE, true).unwrap();
        world.fill_async(THREAD, stream, Fill::row(start, 1, 1, 64), "fill").unwrap();
        if waits {
            wait_for(&mut world, stream).unwrap();
        }
        world.unmap(start, super::PAGE).unwrap();
        assert_eq!(world.reports.text().is_empty(), waits);
    }
    wait_for(&mut world, stream).unwrap();
    world.release_pages(pages).unwrap();
    world.unreserve(start, super::PAGE).unwrap();
    assert!(!world.leaks().contains("pages"));
}

#[test]
fn a_condition_is_for_one_node_of_one_graph() {
    let mut world = world(0);
    let [graph, other] = [(); 2].map(|()| world.create_graph().unwrap());
    let condition = world.create_condition(graph).unwrap();
    let choice = Choice { condition, kind: IF, bodies: 1 };
    for refused in [
        Choice { condition: 0, ..choice },
        Choice { condition: condition + 1, ..choice },
        Choice { kind: WHILE, bodies: 2, ..choice },
        Choice { kind: SWITCH, bodies: 0, ..choice },
        Choice { kind: 3, ..choice },
    ] {
        assert_eq!(world.add_conditional(graph, &[], refused), Err(Code::INVALID_VALUE));
    }
    assert_eq!(world.add_conditional(other, &[], choice), Err(Code::INVALID_VALUE));
    let (node, _) = world.add_conditional(graph, &[], choice).unwrap();
    assert_eq!(world.work_of(node).unwrap().kind() as u32, 13);
    assert_eq!(world.add_conditional(graph, &[], choice), Err(Code::INVALID_VALUE));
    assert_eq!(world.instantiate(THREAD, graph, 0), Err(Code::NOT_SUPPORTED));
    assert!(world.graph_lives(2), "the body");
    world.destroy_graph(graph).unwrap();
    assert!(!world.graph_lives(2) && world.graph_lives(1));
    world.destroy_graph(other).unwrap();
    assert_eq!(world.leaks(), "");
}
