//! Steps in flight: the input of a replay is written, and its output is read, without waiting for
//! the device.

use std::collections::VecDeque;

use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CapturedGraph, CudaArena, ReadTicket, StagingConfig,
    StagingPool,
};

use crate::graphs::stream;
use crate::steps::{Axpy, Ends, N, assert_same_bits, input};
use crate::{memory, require_device};

const ROUNDS: u32 = 24;
const IN_FLIGHT: usize = 3;

/// Returns a graph of the step with scopes and kernels, with its buffers.
fn fed() -> (CapturedGraph, Ends, StagingPool) {
    let stream = stream();
    let axpy = Axpy::load(stream.context());
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| ends.body(capture, &axpy);
    let arena = CudaArena::new(memory(), 1 << 20, ArenaPolicy::Monotone).unwrap();
    let graph = session.prepare(arena).unwrap().capture((), body).unwrap();
    let config = StagingConfig { buffers: 2 * IN_FLIGHT, bytes: N * size_of::<f64>() };
    let staging = StagingPool::with_config(stream.context(), config).unwrap();
    (graph, ends, staging)
}

fn enqueue(
    graph: &mut CapturedGraph,
    ends: Ends,
    staging: &mut StagingPool,
    round: u32,
) -> Result<ReadTicket<f64>, CaptureError> {
    graph.enqueue_write(staging, &ends.from, &input(round))?;
    graph.replay()?;
    graph.enqueue_read(staging, &ends.to, N)
}

#[test]
#[ignore = "needs a CUDA device"]
fn three_steps_in_flight_give_what_one_by_one_gives() {
    let _present = require_device();
    let (mut graph, ends, mut staging) = fed();
    let mut run = |round| ends.run(&mut graph, &input(round)).unwrap();
    let expected: Vec<Vec<f64>> = (0..ROUNDS).map(&mut run).collect();
    let (mut in_flight, mut results) = (VecDeque::new(), Vec::new());
    for round in 0..ROUNDS {
        if in_flight.len() == IN_FLIGHT {
            let mut oldest: ReadTicket<f64> = in_flight.pop_front().unwrap();
            results.push(oldest.wait().unwrap().to_vec());
        }
        in_flight.push_back(enqueue(&mut graph, ends, &mut staging, round).unwrap());
    }
    for mut ticket in in_flight {
        while !ticket.is_done().unwrap() {
            std::thread::yield_now();
        }
        results.push(ticket.wait().unwrap().to_vec());
    }
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(&expected) {
        assert_same_bits(result, expected);
    }
}

/// The ticket is waited for on a thread without a context, after the graph and the pool have been
/// dropped.
#[test]
#[ignore = "needs a CUDA device"]
fn a_ticket_outlives_graph_and_pool_on_another_thread() {
    let _present = require_device();
    let (mut graph, ends, mut staging) = fed();
    let expected = ends.run(&mut graph, &input(5)).unwrap();
    let mut ticket = enqueue(&mut graph, ends, &mut staging, 5).unwrap();
    drop((graph, staging));
    let waits = std::thread::spawn(move || ticket.wait().unwrap().to_vec());
    assert_same_bits(&waits.join().unwrap(), &expected);
    assert_eq!(Cuda::retry_deferred_frees(), 0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn buffers_that_are_out_come_back() {
    let _present = require_device();
    let (mut graph, ends, mut staging) = fed();
    let all = 2 * IN_FLIGHT;
    let mut read = |count: usize| -> Result<Vec<ReadTicket<f64>>, CaptureError> {
        (0..count).map(|_| graph.enqueue_read(&mut staging, &ends.to, N)).collect()
    };
    let mut tickets = read(all).unwrap();
    for ticket in &mut tickets {
        ticket.wait().unwrap();
    }
    let out = CaptureError::StagingExhausted { buffers: all, held: all, pending: 0 };
    assert_eq!(read(1).map(drop), Err(out));
    drop(tickets);
    drop(read(all).unwrap());
}
