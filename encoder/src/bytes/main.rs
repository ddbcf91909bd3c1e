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

use acquires::{Acquires, Context, Noted};
use clap::Parser;
use pool_encoder::{
    Algebra, Batch, Configuration, Failure, HeadsAtOnce, Ladder, Model, NormOf, Product, Tensor,
    Tensors, encode,
};
use pool_facade::{Cpu, Cuda, Pool, PoolBackend, PoolConfig, Scope, Stacked};

const MINILM: Configuration = Configuration {
    words: 30_522,
    positions: 512,
    kinds: 2,
    hidden: 384,
    heads: 12,
    inner: 1_536,
    layers: 6,
    epsilon: 1e-12,
};

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
    for &tokens in &tokens {
        let (acquires, held) = dry_run(HeadsAtOnce::One, sentences, tokens)?;
        let stacked = held_by_a_stack(HeadsAtOnce::One, sentences, tokens)?;
        for (way, held) in [("eager", held), ("stacked", stacked)] {
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
    forwards(&mut pool, at_once, count, tokens, 1)?;
    let acquires = Acquires::of(|| forwards(&mut pool, at_once, count, tokens, 1))?;
    let stats = pool.stats();
    if stats.peak_live_bytes != Some(acquires.peak()) {
        let counted = stats.peak_live_bytes;
        return Err(format!(
            "{} bytes live at most, and the pool says {counted:?}",
            acquires.peak()
        )
        .into());
    }
    Ok((acquires, stats.reserved_bytes))
}

/// The bytes that a stack holds after three forwards.
fn held_by_a_stack(at_once: HeadsAtOnce, count: usize, tokens: usize) -> Result<usize, Failure> {
    let mut pool = Pool::<Stacked<Cpu>>::new(());
    forwards(&mut pool, at_once, count, tokens, 3)?;
    Ok(pool.stats().reserved_bytes)
}

/// Runs `times` forward passes in a pool, which compute nothing.
fn forwards<B>(
    pool: &mut Pool<B>,
    at_once: HeadsAtOnce,
    count: usize,
    tokens: usize,
    times: usize,
) -> Result<(), Failure>
where
    B: for<'s> PoolBackend<View<'s, f32> = &'s mut [f32], ViewRef<'s, f32> = &'s [f32]>,
    B: for<'s> PoolBackend<ViewRef<'s, u32> = &'s [u32]>,
{
    let numbers = vec![0.0; MINILM.words * MINILM.hidden];
    let words = vec![0; count * tokens];
    let model = Model::of(MINILM)
        .try_map(|tensor| numbers.get(..tensor.length).ok_or("a tensor larger than the words"))?;
    let batch = Batch {
        count,
        tokens,
        words: &words[..],
        positions: &words[..],
        kinds: &words[..],
        lengths: &words[..count],
    };
    let mut to = vec![0.0; count * MINILM.hidden];
    for _ in 0..times {
        encode(&Nothing, at_once, pool.scope(), &model, &batch, &mut to.as_mut_slice())?;
    }
    Ok(())
}

/// Weights that are not read.
struct Zeros;

impl Tensors for Zeros {
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure> {
        Ok(vec![0.0; tensor.length].into())
    }
}

/// Operations that do nothing, for a dry run.
struct Nothing;

impl<B: PoolBackend> Algebra<B> for Nothing {
    fn add_rows(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, f32>,
        _: B::ViewRef<'_, u32>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn multiply(
        &self,
        _: &Scope<'_, B>,
        _: &Product,
        _: (B::ViewRef<'_, f32>, B::ViewRef<'_, f32>),
        _: Option<B::ViewRef<'_, f32>>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn gelu(&self, _: &Scope<'_, B>, _: &mut B::View<'_, f32>) -> Result<(), Failure> {
        Ok(())
    }

    fn softmax(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, u32>,
        _: usize,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn add_and_normalize(
        &self,
        _: &Scope<'_, B>,
        _: B::ViewRef<'_, f32>,
        _: NormOf<'_, B>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn unit_means(
        &self,
        _: &Scope<'_, B>,
        _: usize,
        _: B::ViewRef<'_, f32>,
        _: B::ViewRef<'_, u32>,
        _: &mut B::View<'_, f32>,
    ) -> Result<(), Failure> {
        Ok(())
    }
}
