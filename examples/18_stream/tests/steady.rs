//! In steady state, a frame with a pool requests nothing from the heap and causes no page faults,
//! and its temporaries have the same addresses as in the previous frame. All versions produce the
//! same pictures.

#![expect(clippy::unwrap_used, reason = "tests and their shared code")]

use std::alloc::System;

use clap::ValueEnum;
use pool_facade::prelude::*;
use pool_stream::heap::Counting;
use pool_stream::{Film, Lane, Record, Size, TemporarySource};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

const SMALL: Size = Size { width: 64, height: 48 };
/// The number of frames of the film and of a warm-up. The first warm-up acquires each temporary at
/// its largest size.
const LOOP: usize = 6;

fn film(size: Size) -> Film {
    Film::make(size, LOOP).unwrap()
}

/// Returns `true` if this source of temporaries can be tested. One of the sources requires an
/// adapter.
fn is_there(source: TemporarySource) -> bool {
    #[cfg(feature = "wgpu")]
    if source == TemporarySource::Wgpu {
        return match pool_stream::sources::on_wgpu::adapter() {
            Ok(adapter) => {
                println!("wgpu: {adapter}");
                true
            }
            Err(why) => {
                println!("SKIPPED: wgpu: {why}");
                false
            }
        };
    }
    TemporarySource::value_variants().contains(&source)
}

#[test]
fn every_way_makes_the_same_pictures() {
    for size in [SMALL, Size { width: 97, height: 61 }] {
        let film = film(size);
        let sources = TemporarySource::value_variants().iter().filter(|source| is_there(**source));
        let mut lanes: Vec<Lane> = sources.map(|source| Lane::new(*source, size)).collect();
        let mut seen = Vec::new();
        for number in 0..2 * LOOP {
            let checksums = lanes.iter_mut().map(|lane| {
                lane.frame(film.frame(number)).unwrap();
                lane.camera().checksum()
            });
            let checksums: Vec<u64> = checksums.collect();
            assert!(checksums.iter().all(|sum| *sum == checksums[0]), "{number}: {checksums:?}");
            seen.push(checksums[0]);
        }
        assert_ne!(seen[LOOP], seen[LOOP + 1], "the picture changes");
        seen.truncate(LOOP + 1);
        assert!(lanes[0].camera().picture().contains(&255), "no edge is seen");
    }
}

/// Returns the part of the record that does not depend on time.
fn steady(record: Record) -> (u64, u64, Option<u64>) {
    (record.allocations, record.addresses, record.faults)
}

#[test]
fn a_pooled_frame_asks_for_nothing_and_stays_where_it_was() {
    assert_steady(TemporarySource::Pool, || local::<Cpu>().stats());
}

#[test]
fn a_stacked_frame_asks_for_nothing_and_stays_where_it_was() {
    assert_steady(TemporarySource::Stacked, || local::<Stacked<Cpu>>().stats());
}

#[test]
#[cfg(feature = "bump-scope")]
fn a_stack_holds_at_most_what_an_arena_does() {
    for size in [SMALL, Size { width: 97, height: 61 }, Size { width: 320, height: 240 }] {
        let film = film(size);
        let held = [TemporarySource::Stacked, TemporarySource::BumpScope].map(|source| {
            let mut lane = Lane::new(source, size);
            (0..2 * LOOP).for_each(|number| lane.frame(film.frame(number)).unwrap());
            lane.reserved().unwrap()
        });
        assert!(held[0] <= held[1], "{size:?}: {held:?}");
        local::<Stacked<Cpu>>().clear();
    }
}

fn assert_steady(source: TemporarySource, stats: impl Fn() -> PoolStats) {
    let film = film(SMALL);
    let mut lane = Lane::new(source, SMALL);
    for number in 0..LOOP {
        lane.measured(film.frame(number)).unwrap();
    }
    let before = stats();
    let first = lane.measured(film.frame(0)).unwrap();
    assert_eq!(first.allocations, 0);
    assert_ne!(first.addresses, 0);
    for number in 1..600 {
        let record = lane.measured(film.frame(number)).unwrap();
        assert_eq!((record.allocations, record.addresses), (0, first.addresses), "frame {number}");
        if number > 2 * LOOP {
            assert_eq!(steady(record).2.unwrap_or(0), 0, "frame {number} faulted");
        }
    }
    let after = stats();
    assert_eq!(after.reserved_bytes, before.reserved_bytes);
    assert_eq!(after.growths, before.growths);
}

/// Checks that the counters detect a version that allocates.
#[test]
fn a_frame_of_vectors_is_seen_to_allocate() {
    let film = film(SMALL);
    let mut lane = Lane::new(TemporarySource::Vec, SMALL);
    let mut record = lane.measured(film.frame(0)).unwrap();
    for number in 1..LOOP {
        record = lane.measured(film.frame(number)).unwrap();
    }
    assert_eq!(record.allocations, 60, "one for each temporary");
}

#[test]
fn a_frame_of_another_size_is_refused() {
    let film = film(SMALL);
    let mut lane = Lane::new(TemporarySource::Pool, Size { width: 64, height: 64 });
    assert!(lane.frame(film.frame(0)).is_err());
}
