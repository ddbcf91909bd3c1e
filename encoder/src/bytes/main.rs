//! The bytes of the encoder's temporaries, eager and as graphs, with the sizes of all-MiniLM-L6-v2: a dry run of the
//! model, which computes nothing. `cargo xtask encode --bytes` starts it, and makes a table of its output.
//!
//! It prints a line for each number of tokens and each mode, and writes a log of the arrays for each. A line has the
//! mode, the tokens, the bytes of all arrays, the peak of live bytes, and the bytes that a pool or the arena of a graph
//! holds.

mod acquires;

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use acquires::{Acquires, Context, Noted};
use clap::Parser;
use pool_encoder::dry::{Inputs, MINILM, forwards, stats_after};
use pool_encoder::{Failure, HeadsAtOnce, Ladder, Tensor, Tensors};
use pool_facade::pool_cuda::DeviceStream;
use pool_facade::{Cpu, Cuda, Pool, PoolBackend, PoolConfig, Stacked};

#[derive(Parser)]
struct Arguments {
    /// Sentences that are encoded at once.
    #[arg(long)]
    sentences: usize,
    /// Tokens of each: a graph for each number.
    #[arg(long, num_args = 1.., required = true)]
    tokens: Vec<usize>,
    /// The directory for the logs.
    #[arg(long, value_name = "DIRECTORY")]
    logs: PathBuf,
}

fn main() -> Result<(), Failure> {
    let Arguments { sentences, tokens, logs } = Arguments::parse();
    fs::create_dir_all(&logs)?;
    let stream = Cuda::device(0)?.new_stream()?;
    let context = || DeviceStream::from_stream(Arc::clone(stream.stream()));
    for &tokens in &tokens {
        let (acquires, held) = dry_run(HeadsAtOnce::One, sentences, tokens)?;
        let (sizes, live) = ((sentences, tokens), acquires.peak());
        let stacked = held_by_a_stack::<Stacked<Cpu>>([(), ()], sizes, live)?;
        let on_device = held_by_a_stack::<Stacked<Cuda>>([context()?, context()?], sizes, live)?;
        for (way, held) in [("eager", held), ("stacked", stacked), ("stacked-cuda", on_device)] {
            fs::write(logs.join(format!("{way}-{tokens}.jsonl")), acquires.log(0).0)?;
            println!("{way} {tokens} {} {} {held}", acquires.sum(), acquires.peak());
        }
    }
    let ladder = Ladder::new(&Cuda::device(0)?, MINILM, &Zeros, sentences, &tokens)?;
    let (mut all, mut at) = (String::new(), 0);
    for (tokens, footprint) in ladder.footprints() {
        let (acquires, _) = dry_run(HeadsAtOnce::All, sentences, tokens)?;
        fs::write(logs.join(format!("graph-{tokens}.jsonl")), acquires.log(0).0)?;
        let (log, end) = acquires.log(at);
        (all, at) = (all + &log, end);
        println!("graph {tokens} {} {} {}", acquires.sum(), acquires.peak(), footprint.peak);
    }
    fs::write(logs.join("ladder.jsonl"), all)?;
    println!("ladder {}", ladder.arena_bytes());
    Ok(())
}

/// Returns the acquires of a forward pass in a warm pool, and the bytes that the pool then holds.
fn dry_run(
    at_once: HeadsAtOnce,
    count: usize,
    tokens: usize,
) -> Result<(Acquires, usize), Failure> {
    let config = PoolConfig::new().measure_live_bytes(true);
    let mut pool = Pool::<Noted>::with_config(Context::new(), config)?;
    let acquires = Inputs::<Noted>::new(Context::new(), count, tokens)?.with(|views| {
        forwards(&mut pool, at_once, views, 1)?;
        Acquires::of(|| forwards(&mut pool, at_once, views, 1))
    })?;
    let stats = pool.stats();
    if stats.peak_live_bytes != Some(acquires.peak()) {
        let counted = stats.peak_live_bytes;
        return Err(format!(
            "at most {} bytes were live, but the pool reports {counted:?}",
            acquires.peak()
        )
        .into());
    }
    Ok((acquires, stats.reserved_bytes))
}

/// Returns the bytes that a stack holds after three forward passes.
///
/// # Errors
///
/// Fails if the stack holds more than 1.05 × `live`.
fn held_by_a_stack<B: PoolBackend>(
    contexts: [B::Context; 2],
    sizes: (usize, usize),
    live: usize,
) -> Result<usize, Failure> {
    let stats = stats_after::<B>(contexts, PoolConfig::new(), HeadsAtOnce::One, sizes, 3)?;
    let held = stats.reserved_bytes;
    if held * 100 > live * 105 {
        return Err(format!("a stack holds {held} bytes, but the live peak is {live} bytes").into());
    }
    Ok(held)
}

/// Weights that are not read.
struct Zeros;

impl Tensors for Zeros {
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure> {
        Ok(vec![0.0; tensor.length].into())
    }
}
