//! The encoder as graphs: bit for bit the eager one, in the memory of the largest, also without a
//! wait in between.

use std::collections::VecDeque;

use cuda_sim_control::Simulator;
use pool_encoder::{HeadsAtOnce, Ladder, OnCuda, Sentences, tiny};
use pool_facade::Cuda;
use pool_facade::pool_cuda::CudaDevice;
use pool_facade::pool_graph::ReadTicket;

use crate::any_backend::encoded_by;
use crate::{contexts, require_device};

/// The number of replays of short graphs, all of them alternately, unless `POOL_ENCODER_REPLAYS`
/// gives it.
const REPLAYS: usize = 50;
/// The number of replays of graphs for full sentences, unless `POOL_ENCODER_LONG_REPLAYS` gives it.
const LONG_REPLAYS: usize = 8;
/// Replays that are under way when the oldest is waited for.
const IN_FLIGHT: usize = 3;
/// The number of batches for each graph, which alternate.
const BATCHES: usize = 4;
/// The prefixes of the calls after which an address may change.
const MOVING: [&str; 4] = ["cuMemAlloc", "cuMemFree", "cuGraphInstantiate", "cuGraphExec"];

fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// Returns sentences of at most `tokens` tokens, the first longer than half of that; the words
/// differ from batch to batch.
fn batch(count: usize, tokens: usize, number: usize) -> Vec<Vec<u32>> {
    let words = 1..u32::try_from(tiny::SMALLER.words).unwrap();
    let mut random = fastrand::Rng::with_seed(number as u64);
    let mut length =
        |at| if at == 0 { tokens - number % (tokens / 2) } else { random.usize(1..=tokens) };
    let lengths: Vec<_> = (0..count).map(&mut length).collect();
    lengths.iter().map(|length| (0..*length).map(|_| random.u32(words.clone())).collect()).collect()
}

/// Returns the bits of the eager encoder's result for a batch.
fn eager(device: &CudaDevice, tokens: usize, batch: &[Vec<u32>]) -> Vec<u32> {
    let (kernels, context) = (OnCuda::new(device).unwrap(), contexts(device));
    let sentences = Sentences::new(&tiny::SMALLER, tokens, batch).unwrap();
    let at_once = HeadsAtOnce::All;
    let answer = encoded_by::<Cuda, _>(tiny::SMALLER, &kernels, &context, &sentences, at_once, 1);
    bits(&answer.unwrap().numbers)
}

/// Returns the simulated driver, if the device is one.
fn simulator() -> Option<Simulator> {
    let simulator = Simulator::attach();
    if simulator.is_none() {
        println!("SKIPPED: hardware reports no races and logs no calls");
    }
    simulator
}

/// Returns `true` if an address may have changed since the last call.
fn has_moved(simulator: Simulator) -> bool {
    let moves = |name: &str| MOVING.iter().any(|start| name.starts_with(start));
    let moved = simulator.log().iter().any(|call| moves(&call.name));
    simulator.forget_calls();
    moved
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_ladder_of_graphs_gives_the_same_bits_in_the_memory_of_the_largest() {
    let (_present, device) = require_device();
    let tokens = [16, 32, 64, 128];
    let mut ladder = Ladder::new(&device, tiny::SMALLER, &tiny::Tiny, 2, &tokens).unwrap();
    let needs: Vec<_> = ladder.footprints().collect();
    assert_eq!(needs.iter().map(|(tokens, _)| *tokens).collect::<Vec<_>>(), [128, 64, 32, 16]);
    let peaks: Vec<_> = needs.iter().map(|(_, footprint)| footprint.peak).collect();
    let (largest, sum) = (*peaks.iter().max().unwrap(), peaks.iter().sum::<u64>());
    assert_eq!(ladder.arena_bytes(), largest);
    assert!(sum > largest);
    for tokens in tokens {
        let batch = batch(2, tokens, 0);
        let replayed = ladder.encode(&batch).unwrap();
        assert_eq!(bits(&replayed), eager(&device, tokens, &batch), "{tokens} tokens");
    }
    if let Some(simulator) = simulator() {
        simulator.assert_clean();
    }
}

/// Short ones: an interpreter computes each replay on a simulated device.
#[test]
#[ignore = "needs a CUDA device"]
fn graphs_that_are_fed_without_stopping_give_the_same_bits() {
    feed_without_stopping([2, 4, 8, 16], count("POOL_ENCODER_REPLAYS", REPLAYS));
}

#[test]
#[ignore = "needs a CUDA device"]
fn long_graphs_that_are_fed_without_stopping_give_the_same_bits() {
    feed_without_stopping([16, 32, 64, 128], count("POOL_ENCODER_LONG_REPLAYS", LONG_REPLAYS));
}

/// Returns the number in a variable, or `otherwise`.
fn count(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().map_or(otherwise, |count| count.parse().unwrap())
}

/// Replays graphs alternately, each with another batch than the time before; the host waits for the
/// third before. No address changes meanwhile, and there are no races.
fn feed_without_stopping(tokens: [usize; 4], replays: usize) {
    let (_present, device) = require_device();
    let mut ladder = Ladder::new(&device, tiny::SMALLER, &tiny::Tiny, 1, &tokens).unwrap();
    let used = BATCHES.min(replays.div_ceil(tokens.len()));
    let batches = tokens.map(|most| (0..used).map(|n| batch(1, most, n)).collect::<Vec<_>>());
    let eager: Vec<Vec<_>> = tokens
        .iter()
        .zip(&batches)
        .map(|(most, batches)| batches.iter().map(|batch| eager(&device, *most, batch)).collect())
        .collect();
    let mut staging = ladder.staging(IN_FLIGHT).unwrap();
    let simulator = simulator();
    assert!(simulator.is_none_or(has_moved), "the log lacks the earlier allocations");
    let mut in_flight = VecDeque::with_capacity(IN_FLIGHT);
    let mut compared = 0;
    let mut compare = |(graph, number, mut ticket): (usize, usize, ReadTicket<f32>)| {
        let answer = bits(ticket.wait().unwrap());
        assert_eq!(answer, eager[graph][number], "batch {number} of {} tokens", tokens[graph]);
        assert!(!simulator.is_some_and(has_moved), "a replay of {} tokens", tokens[graph]);
        compared += 1;
    };
    for replay in 0..replays {
        if in_flight.len() == IN_FLIGHT {
            in_flight.pop_front().into_iter().for_each(&mut compare);
        }
        let (graph, number) = (replay % tokens.len(), replay / tokens.len() % BATCHES);
        let ticket = ladder.enqueue(&mut staging, &batches[graph][number]).unwrap();
        in_flight.push_back((graph, number, ticket));
    }
    in_flight.into_iter().for_each(&mut compare);
    assert_eq!(compared, replays);
    if let Some(simulator) = simulator {
        simulator.assert_clean();
    }
    println!(
        "FIGURE: {compared} replays of graphs with {tokens:?} tokens, bit for bit equal to the eager encoder"
    );
}
