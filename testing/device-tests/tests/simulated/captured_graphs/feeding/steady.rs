//! Many steps in flight: the results have the same bits in every order, and only the tickets wait.

use std::collections::{BTreeMap, VecDeque};

use cuda_sim_control::{Settings, Simulator};
use pool_graph::{ReadTicket, StagingPool};

use super::{Fed, bits};
use crate::common::stream;
use crate::support::{orders, start, start_anew};

const STEPS: usize = 1000;
const IN_FLIGHT: usize = 3;

/// The driver calls that a step may make. None of them waits, allocates or frees.
const ASKED: [&str; 9] = [
    "cuCtxGetCurrent",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
    "cuEventQuery",
    "cuEventRecord",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuGraphLaunch",
    "cuEventSynchronize",
];

/// Returns how often each driver call was made.
fn counts(simulator: Simulator) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in simulator.log() {
        *counts.entry(call.name).or_default() += 1;
    }
    counts
}

/// Returns a graph that is ready for steps with nothing in flight. The seed determines the order.
fn begun(simulator: Simulator, seed: u64) -> (Fed, StagingPool) {
    start_anew(simulator, Settings::default(), seed);
    let mut fed = Fed::on(&stream());
    let mut staging = fed.staging(IN_FLIGHT).unwrap();
    fed.begin(&mut staging).unwrap();
    fed.graph.synchronize().unwrap();
    (fed, staging)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thousand_steps_three_in_flight() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(STEPS);
    for seed in 0..orders() {
        let (mut fed, mut staging) = begun(simulator, seed);
        let (mut tickets, mut results) = (VecDeque::new(), Vec::new());
        simulator.forget_calls();
        for step in 0..STEPS {
            if tickets.len() == IN_FLIGHT {
                let mut oldest: ReadTicket<f64> = tickets.pop_front().unwrap();
                results.push(bits(oldest.wait().unwrap()));
            }
            tickets.push_back(fed.enqueue(&mut staging, step).unwrap());
        }
        let mut counts = counts(simulator);
        results.extend(tickets.iter_mut().map(|ticket| bits(ticket.wait().unwrap())));
        assert!(results == expected, "seed {seed}");
        let waits = counts.remove("cuEventSynchronize");
        assert_eq!(waits, Some(STEPS - IN_FLIGHT), "one for each ticket");
        let others: Vec<_> = counts.keys().filter(|name| !ASKED.contains(&name.as_str())).collect();
        assert!(others.is_empty(), "{others:?}");
        drop((tickets, staging, fed));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// The same with queries instead of waits. The tickets are polled in reverse order, and each result
/// is read twice.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn steps_that_are_polled() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(60);
    for seed in 0..orders() {
        let (mut fed, mut staging) = begun(simulator, seed);
        simulator.forget_calls();
        let mut results = Vec::new();
        for first in (0..60).step_by(IN_FLIGHT) {
            let enqueue = |step| fed.enqueue(&mut staging, step).unwrap();
            let mut tickets: Vec<_> = (first..first + IN_FLIGHT).map(enqueue).collect();
            for ticket in tickets.iter_mut().rev() {
                while !ticket.is_done().unwrap() {}
            }
            for ticket in &mut tickets {
                assert!(ticket.is_done().unwrap());
                results.push(bits(ticket.wait().unwrap()));
                assert_eq!(results.last(), Some(&bits(ticket.wait().unwrap())));
            }
        }
        assert!(results == expected, "seed {seed}");
        assert_eq!(counts(simulator).get("cuEventSynchronize"), None);
        drop((staging, fed));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
