//! Memory pools on a full device, while pending work on another stream frees memory.

use super::super::state::event::Moment;
use super::{Code, Fill, NoHost, Order, Outcome, Settings, THREAD, World, wait_for};

const MEBIBYTE: usize = 1 << 20;

/// `CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES`.
const INTERNAL_DEPENDENCIES: u32 = 3;

/// Returns a device with this much memory in MiB, and some of its streams.
fn device<const STREAMS: usize>(seed: u64, mebibytes: usize) -> (World, [u64; STREAMS]) {
    let settings = Settings { seed, bytes: mebibytes * MEBIBYTE, ..Settings::default() };
    let mut world = World::new(settings, Box::new(NoHost));
    world.initialize();
    let context = world.retain(0).unwrap();
    world.set_current(THREAD, context).unwrap();
    let streams = [0; STREAMS].map(|_| world.create_stream(THREAD, Order::NonBlocking, 0).unwrap());
    (world, streams)
}

fn allocate(world: &mut World, stream: u64, mebibytes: usize) -> Outcome<u64> {
    let address = world.allocate_async(THREAD, stream, mebibytes * MEBIBYTE, None)?;
    world.fill_async(THREAD, stream, Fill::row(address, 1, 1, 64), "fill").unwrap();
    Ok(address)
}

/// Allocates, uses and frees memory on a stream. Returns the moment of the free and the address.
fn freed(world: &mut World, stream: u64, mebibytes: usize) -> (Moment, u64) {
    let address = allocate(world, stream, mebibytes).unwrap();
    let region = world.memory.starting_at(address).unwrap();
    let stream = world.stream(THREAD, stream).unwrap();
    (world.free_in_order(stream, region, "free"), address)
}

#[test]
fn a_full_device_makes_an_allocation_wait_for_a_free() {
    for seed in 0..8 {
        let (mut world, [one, two]) = device(seed, 64);
        let (free, first) = freed(&mut world, one, 40);
        assert!(!world.is_done(free.position), "nothing forces it");
        let second = allocate(&mut world, two, 40).unwrap();
        assert_eq!(second, first);
        assert!(!world.is_done(free.position), "the host does not wait");
        // Waiting for the second stream includes the free on the first stream.
        wait_for(&mut world, two).unwrap();
        assert!(world.is_done(free.position));
        world.free_async(THREAD, two, second).unwrap();
        wait_for(&mut world, two).unwrap();
        assert_eq!(world.memory_information(THREAD), Ok((64 * MEBIBYTE, 64 * MEBIBYTE)));
        assert_eq!(world.reports.text(), "");
    }
}

#[test]
fn the_attribute_forbids_such_a_wait() {
    let (mut world, [one, two]) = device(0, 64);
    let pool = world.pool_of(0, true).unwrap();
    world.set_pool_attribute(pool, INTERNAL_DEPENDENCIES, 0).unwrap();
    freed(&mut world, one, 40);
    assert_eq!(allocate(&mut world, two, 40), Err(Code::OUT_OF_MEMORY));
    wait_for(&mut world, one).unwrap();
    assert!(allocate(&mut world, two, 40).is_ok());
    assert_eq!(world.reports.text(), "");
}

#[test]
fn several_frees_are_waited_for_where_none_is_large_enough() {
    for seed in 0..8 {
        let (mut world, [one, two, three]) = device(seed, 64);
        let frees = [freed(&mut world, one, 24), freed(&mut world, two, 24)];
        let large = allocate(&mut world, three, 60).unwrap();
        assert!(frees.iter().all(|(_, address)| *address != large));
        wait_for(&mut world, three).unwrap();
        assert!(frees.iter().all(|(free, _)| world.is_done(free.position)));
        // The freed addresses have no memory left and are not reused.
        let refused = world.allocate_async(THREAD, one, 24 * MEBIBYTE, None);
        assert_eq!(refused, Err(Code::OUT_OF_MEMORY));
        world.free_async(THREAD, three, large).unwrap();
        wait_for(&mut world, three).unwrap();
        assert_eq!(world.memory_information(THREAD), Ok((64 * MEBIBYTE, 64 * MEBIBYTE)));
        assert_eq!(world.reports.text(), "");
    }
}

#[test]
fn a_wait_that_would_not_help_is_not_added() {
    let (mut world, [one, two]) = device(0, 64);
    let held = allocate(&mut world, one, 32).unwrap();
    let (free, first) = freed(&mut world, one, 24);
    assert_eq!(allocate(&mut world, two, 60), Err(Code::OUT_OF_MEMORY));
    assert!(!world.is_done(free.position));
    // Pending frees stay available to the next allocation.
    assert_ne!(held, first);
    assert_eq!(allocate(&mut world, two, 24), Ok(first));
    wait_for(&mut world, two).unwrap();
    assert_eq!(world.reports.text(), "");
}

#[test]
fn a_device_with_memory_left_adds_no_wait() {
    let (mut world, [one, two]) = device(0, 128);
    let (_, first) = freed(&mut world, one, 40);
    assert_ne!(allocate(&mut world, two, 40).unwrap(), first);
    assert_eq!(world.reports.text(), "");
}
