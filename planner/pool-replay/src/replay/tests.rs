//! Tests the report on a log against a naive implementation.

use pool_plan::{Options, PlanError};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::log::{Action, Event, Format, Frames, Place};
use crate::policy::Allocator;

use super::Outcome;
use super::device::{Device, NAMED};
use super::planned::{Order, Planned, plan};
use super::report::{self, Report};

/// Events at few addresses, so that many of the events are impossible.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let action = prop_oneof![
        4 => Just(Action::Allocate),
        3 => Just(Action::Free),
        1 => Just(Action::RequestFree),
        1 => Just(Action::Fail),
    ];
    let event = (action, 0..12_u64, 0..40_u64, 0..2_u64);
    vec(event, 0..80).prop_map(|all| {
        let event = |(line, (action, address, bytes, stream)): (u64, _)| {
            // Events often lack the number of freed bytes.
            let bytes = if action == Action::Free && bytes < 30 { 0 } else { bytes };
            Event { stream, ..Event::new(action, Place::Line(line), address * 16, bytes) }
        };
        (1..).zip(all).map(event).collect()
    })
}

#[derive(Debug, Default)]
struct Naive {
    live: Vec<Event>,
    /// The addresses of allocations of 0 bytes.
    empty: Vec<u64>,
    faults: Vec<u64>,
    /// The maximum number of live bytes, the line that reached it, and the sizes of the buffers at
    /// that point.
    peak: (u64, u64, Vec<u64>),
    freed_elsewhere: u64,
}

impl Naive {
    fn event(&mut self, line: u64, event: Event) {
        match event.action {
            Action::Allocate if event.bytes > 0 => {
                let overlaps = |one: &Event| {
                    one.address < event.address + event.bytes
                        && event.address < one.address + one.bytes
                };
                let gone = self.live.iter().filter(|one| overlaps(one)).count();
                self.faults.extend(std::iter::repeat_n(line, gone));
                self.live.retain(|one| !overlaps(one));
                self.live.push(event);
            }
            Action::Free => match self.live.iter().position(|one| one.address == event.address) {
                Some(at) => {
                    let one = self.live.remove(at);
                    let is_other = event.bytes != 0 && event.bytes != one.bytes;
                    self.faults.extend(is_other.then_some(line));
                    self.freed_elsewhere += u64::from(one.stream != event.stream);
                }
                None => {
                    let was_empty = event.bytes == 0 && self.empty.contains(&event.address);
                    self.empty.retain(|&one| !was_empty || one != event.address);
                    let is_nothing = event.bytes == 0 && event.address == 0;
                    self.faults.extend((!was_empty && !is_nothing).then_some(line));
                }
            },
            Action::Allocate => self.empty.push(event.address),
            _ => {}
        }
        let bytes = self.live.iter().map(|one| one.bytes).sum();
        if bytes > self.peak.0 {
            let mut sizes: Vec<u64> = self.live.iter().map(|one| one.bytes).collect();
            sizes.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
            sizes.truncate(NAMED);
            self.peak = (bytes, line, sizes);
        }
    }
}

#[test]
fn devices_agree_with_naive_books() {
    let given = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config::with_cases(given.unwrap_or(500));
    let config = Config { failure_persistence: None, ..config };
    let outcome = TestRunner::new(config).run(&events(), |events| {
        let (mut device, mut naive) = (Device::new(&Allocator::ALL, 100, 0), Naive::default());
        for (line, &event) in (1..).zip(&events) {
            device.event(event);
            naive.event(line, event);
            prop_assert_eq!(device.books.live().count(), naive.live.len());
        }
        let faults: Vec<Place> = device.faults.first.iter().map(|one| one.event.place).collect();
        let expected: Vec<Place> = naive.faults.iter().map(|&line| Place::Line(line)).collect();
        prop_assert_eq!(faults, expected);
        device.end();
        let peak = &device.peak;
        prop_assert_eq!(peak.bytes, naive.peak.0);
        prop_assert_eq!(
            peak.event.map_or(Place::Line(0), |one| one.place),
            Place::Line(naive.peak.1)
        );
        let sizes: Vec<u64> = peak.largest.iter().map(|one| one.event.bytes).collect();
        prop_assert_eq!(&sizes, &naive.peak.2);
        prop_assert_eq!(device.freed_elsewhere, naive.freed_elsewhere);
        prop_assert_eq!(device.over.is_some(), naive.peak.0 > 100);
        let lifetimes = device.lifetimes.as_deref();
        let options = Options { rounds: Some(0), threads: 1, ..Options::default() };
        match plan(Order::Sequence(lifetimes), 1, u64::MAX, &options) {
            Planned::Nothing => prop_assert_eq!(peak.bytes, 0),
            Planned::Plan(certificate) => prop_assert_eq!(certificate.bound, peak.bytes),
            other => prop_assert!(false, "{:?}", other),
        }
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// Sizes that exceed 64 bits, individually or in total, are faults.
#[test]
fn sizes_that_overflow_are_faults() {
    let mut device = Device::new(&Allocator::ALL, u64::MAX, 0);
    let allocate =
        |line, address, bytes| Event::new(Action::Allocate, Place::Line(line), address, bytes);
    device.event(allocate(1, 0, u64::MAX));
    device.event(allocate(2, 8, u64::MAX - 7));
    let kinds: Vec<_> = device.faults.first.iter().map(|one| one.kind.name()).collect();
    assert_eq!(kinds, ["overflow"]);
    device.event(Event { requested: Some(1), ..allocate(3, 8, u64::MAX - 8) });
    let last = device.faults.first.last().unwrap();
    assert_eq!(last.kind.name(), "overlap");
    assert!(last.to_string().ends_with("have been live since line 1"), "{last}");
    assert_eq!(device.books.bytes(), 1);
    device.end();
    assert_eq!(device.peak.bytes, u64::MAX);
}

/// A free that completes immediately counts as one free. If a free waits for other streams, it is
/// late.
#[test]
fn late_frees_are_counted() {
    let mut device = Device::new(&[], u64::MAX, 0);
    let event = |action, address| Event::new(action, Place::Line(1), address, 16);
    let (allocate, request, free) = (Action::Allocate, Action::RequestFree, Action::Free);
    for (action, address) in [(allocate, 0), (allocate, 64), (request, 0), (free, 0)] {
        device.event(event(action, address));
    }
    assert_eq!(device.freed_late, 0);
    for (action, address) in [(request, 64), (allocate, 0), (free, 64)] {
        device.event(event(action, address));
    }
    assert_eq!(device.freed_late, 1);
    // At the peak, two buffers are live. One of them was released, and waits for other streams.
    assert_eq!((device.peak.bytes, device.peak.late), (32, 0));
    let mut device = Device::new(&[], u64::MAX, 0);
    for (action, address) in [(allocate, 0), (request, 0), (allocate, 64), (free, 0), (free, 64)] {
        device.event(event(action, address));
    }
    assert_eq!((device.peak.bytes, device.peak.late), (32, 16));
}

/// If a plan was not tried because there are too many buffers, the plan counts neither as fitting
/// nor as failing.
#[test]
fn outcomes_of_plans_that_are_left_out() {
    let outcome = |allocators: &[Allocator], capacity: Option<u64>, planned: &Planned| {
        let mut device = Device::new(allocators, capacity.unwrap_or(u64::MAX), 0);
        device.event(Event::new(Action::Allocate, Place::Line(1), 0, 8));
        device.end();
        let report = Report {
            log: "log".to_owned(),
            format: Format::Json,
            events: 1,
            skipped_lines: 0,
            operations: None,
            consistent: true,
            capacity,
            devices: vec![report::device(0, &device, Some(planned), &Frames::new())],
        };
        report.outcome()
    };
    let not_found = PlanError::NotFound { capacity: 1, bound: 1, best: 2 };
    let too_many = PlanError::TooMany { what: "buffers", count: 2, limit: 1 };
    let (not_found, too_many) = (Planned::Refused(not_found), Planned::Refused(too_many));
    for left_out in [&Planned::TooMany, &too_many] {
        assert_eq!(outcome(&[Allocator::Bump], Some(256), left_out), Outcome::Fits);
        assert_eq!(
            outcome(&[Allocator::Bump], Some(255), left_out),
            Outcome::NoRoom,
            "a bump allocator holds 256 bytes"
        );
        assert_eq!(outcome(&[], Some(8), left_out), Outcome::LeftOut, "the plan was not computed");
        assert_eq!(outcome(&[], None, left_out), Outcome::LeftOut);
        assert_eq!(
            outcome(&[], Some(7), left_out),
            Outcome::NoRoom,
            "eight bytes do not fit in seven"
        );
    }
    assert_eq!(outcome(&[], Some(8), &not_found), Outcome::NoRoom);
    assert_eq!(outcome(&[Allocator::Bump], None, &not_found), Outcome::Fits);
}
