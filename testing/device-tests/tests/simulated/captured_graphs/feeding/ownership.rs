//! Drops and forgets in every order: no race, and only forgotten objects leak.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use fastrand::Rng;
use pool_core::error_chain;
use pool_graph::{CaptureError, ReadTicket, StagingConfig, StagingPool};

use super::{Fed, OUT, bits, input, output_of};
use crate::common::{stream, without_a_report};
use crate::support::{orders, start, start_anew};

/// The parts of a fed graph.
#[derive(Default)]
struct Things {
    stream: Option<Arc<CudaStream>>,
    fed: Option<Fed>,
    staging: Option<StagingPool>,
    tickets: [Option<ReadTicket<f64>>; 2],
}

impl Things {
    /// Creates two steps in flight, of two graphs' buffers.
    fn new() -> Self {
        let stream = stream();
        let mut fed = Fed::on(&stream);
        let mut staging = fed.staging(3).unwrap();
        fed.begin(&mut staging).unwrap();
        let tickets = [0, 1].map(|step| Some(fed.enqueue(&mut staging, step).unwrap()));
        Self { stream: Some(stream), fed: Some(fed), staging: Some(staging), tickets }
    }

    fn drop_one(&mut self, which: usize) {
        match which {
            0 => self.stream = None,
            1 => self.fed = None,
            2 => self.staging = None,
            _ => self.tickets[which - 3] = None,
        }
    }
}

/// Returns all orders of `things` things.
fn permutations(things: usize) -> Vec<Vec<usize>> {
    if things == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(things - 1);
    let insert = |place: usize| {
        shorter.iter().cloned().map(move |mut order| {
            order.insert(place, things - 1);
            order
        })
    };
    (0..things).flat_map(insert).collect()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn things_are_dropped_in_every_order() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(2);
    for (seed, order) in (0..).zip(permutations(5)) {
        start_anew(simulator, Settings::default(), seed);
        let mut things = Things::new();
        for which in &order {
            // The remaining tickets are valid after any other value was dropped.
            for (ticket, expected) in things.tickets.iter_mut().zip(&expected).skip(1) {
                let Some(ticket) = ticket else { continue };
                if seed % 2 == 0 {
                    assert_eq!(bits(ticket.wait().unwrap()), *expected, "{order:?}");
                }
            }
            things.drop_one(*which);
        }
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// A forgotten ticket keeps its buffer and nothing else of the pool; a forgotten pool keeps its own
/// buffers.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_is_forgotten_keeps_its_buffers_alone() {
    let simulator = start();
    let pinned = || {
        let leaks = simulator.leaks();
        leaks.iter().filter(|leak| leak.contains("host allocation")).count()
    };
    for (seed, order) in (0..).zip(permutations(5)) {
        for forgets_pool in [false, true] {
            start_anew(simulator, Settings::default(), seed);
            let mut things = Things::new();
            std::mem::forget(things.tickets[1].take());
            if forgets_pool {
                std::mem::forget(things.staging.take());
            }
            order.iter().for_each(|&which| things.drop_one(which));
            simulator.assert_clean();
            let expected = if forgets_pool { 6 } else { 1 };
            assert_eq!(pinned(), expected, "{order:?}: {:?}", simulator.leaks());
        }
    }
}

/// A forgotten graph runs on: its copies in flight arrive.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_forgotten_graph_still_delivers() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(2);
    // It uses one world: a forgotten graph's objects stay its own for the life of the process.
    for _ in 0..orders() {
        let mut things = Things::new();
        std::mem::forget(things.fed.take());
        drop(things.stream.take());
        drop(things.staging.take());
        for (ticket, expected) in things.tickets.iter_mut().flatten().zip(&expected) {
            assert_eq!(bits(ticket.wait().unwrap()), *expected);
        }
        drop(things);
        simulator.assert_clean();
    }
}

/// All operations in random order: each result is that of its step, and only forgotten tickets keep
/// buffers.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_programs() {
    const BUFFERS: usize = 7;
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(40);
    let mut refusals = 0;
    for seed in 0..10 * orders() {
        start_anew(simulator, Settings::default(), seed);
        let mut random = Rng::with_seed(seed);
        let mut fed = Fed::on(&stream());
        let config = StagingConfig { buffers: BUFFERS, bytes: OUT * size_of::<f64>() };
        let mut staging = StagingPool::with_config(fed.graph.stream().context(), config).unwrap();
        fed.begin(&mut staging).unwrap();
        let (mut tickets, mut forgotten) = (Vec::<(usize, ReadTicket<f64>)>::new(), 0);
        let mut step = 0;
        while step < expected.len() && forgotten < BUFFERS {
            let chosen = (!tickets.is_empty()).then(|| random.usize(..tickets.len()));
            match (random.usize(..9), chosen) {
                (0..4, _) => {
                    let held = tickets.len() + forgotten;
                    let write = fed.graph.enqueue_write(&mut staging, &fed.input, &input(step));
                    if !is_done_or_exhausted(write, held, &mut refusals) {
                        continue;
                    }
                    fed.graph.replay().unwrap();
                    match fed.graph.enqueue_read(&mut staging, &fed.output, OUT) {
                        Ok(ticket) => tickets.push((step, ticket)),
                        Err(error) => {
                            is_done_or_exhausted(Err(error), held, &mut refusals);
                        }
                    }
                    step += 1;
                }
                (4, Some(chosen)) => drop(tickets.swap_remove(chosen)),
                (5, Some(chosen)) if random.usize(..3) == 0 => {
                    std::mem::forget(tickets.swap_remove(chosen));
                    forgotten += 1;
                }
                (6, Some(chosen)) => {
                    let (_, ticket) = tickets.swap_remove(chosen);
                    std::thread::spawn(move || drop(ticket)).join().unwrap();
                }
                (7, Some(chosen)) => {
                    let (step, ticket) = &mut tickets[chosen];
                    assert_eq!(bits(ticket.wait().unwrap()), expected[*step], "seed {seed}");
                }
                (8, _) => fed.graph.synchronize().unwrap(),
                _ => {}
            }
        }
        for (step, mut ticket) in tickets {
            assert_eq!(bits(ticket.wait().unwrap()), expected[step], "seed {seed}");
        }
        drop((fed, staging));
        simulator.assert_clean();
        let leaks = simulator.leaks();
        assert_eq!(leaks.is_empty(), forgotten == 0, "{forgotten}: {leaks:?}");
    }
    println!("FIGURE: {refusals} times all buffers were out");
    assert!(refusals > 0);
}

/// Returns `false` if all buffers are in use, and checks their number.
fn is_done_or_exhausted(
    answer: Result<(), CaptureError>,
    tickets: usize,
    refusals: &mut usize,
) -> bool {
    match answer {
        Ok(()) => true,
        Err(CaptureError::StagingExhausted { buffers, held, pending }) => {
            assert_eq!((held, held + pending), (tickets, buffers));
            *refusals += 1;
            false
        }
        Err(error) => panic!("{}", error_chain(&error)),
    }
}

/// A ticket goes to another thread, and the graph is dropped meanwhile.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn tickets_on_another_thread() {
    without_a_report(|| {
        let mut things = Things::new();
        let tickets = std::mem::take(&mut things.tickets);
        let waits = std::thread::spawn(move || {
            let wait = |ticket: ReadTicket<f64>| {
                let mut ticket = ticket;
                bits(ticket.wait().unwrap())
            };
            tickets.into_iter().flatten().map(wait).collect::<Vec<_>>()
        });
        drop(things.fed.take());
        drop(things.staging.take());
        let results = waits.join().unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(results[0], output_of(0, 0.5));
    });
}
