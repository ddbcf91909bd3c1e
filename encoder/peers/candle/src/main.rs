//! The encoder's model in candle, on request: `cargo xtask encode --peers` builds and starts it.
//!
//! It reads how many forwards are wanted, a number a line, and writes [a line for each](forward::Forward): processor time
//! and page faults of the process. At the end, what came out last goes into a file. One thread. The weights come from the
//! model's own file; the sentences are given as numbers, a line each.

#[path = "../../../src/peers/forward.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "other programs include it and read what this one writes"
)]
mod forward;

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use candle_core::{D, DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::bert::{BertModel, Config};
use clap::Parser;
use forward::Forward;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The model's directory, with `config.json` and `model.safetensors`.
    #[arg(long, value_name = "DIRECTORY")]
    model: PathBuf,
    /// The sentences: a line each, words as numbers.
    #[arg(long, value_name = "FILE")]
    sentences: PathBuf,
    /// The file for the last output: `f32`, little-endian.
    #[arg(long, value_name = "FILE")]
    numbers: PathBuf,
}

/// The model, and the sentences.
struct Encoder {
    model: BertModel,
    words: Tensor,
    kinds: Tensor,
    /// 1 for each word that is there, and 0 for what fills a sentence up.
    there: Tensor,
}

fn main() -> Outcome<()> {
    let arguments = Arguments::parse();
    let encoder = Encoder::open(&arguments.model, &fs::read_to_string(&arguments.sentences)?)?;
    let mut numbers = Vec::new();
    for request in std::io::stdin().lock().lines() {
        for _ in 0..request?.trim().parse()? {
            let (faults, start) = (page_faults()?, processor_time()?);
            let encoded = encoder.forward()?;
            let processor = processor_time()? - start;
            let faults = page_faults()? - faults;
            println!("{}", Forward { processor, faults: Some(faults), allocations: None });
            numbers = encoded.flatten_all()?.to_vec1::<f32>()?;
        }
        std::io::stdout().flush()?;
    }
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Ok(fs::write(&arguments.numbers, bytes)?)
}

impl Encoder {
    fn open(directory: &Path, sentences: &str) -> Outcome<Self> {
        let config: Config =
            serde_json::from_str(&fs::read_to_string(directory.join("config.json"))?)?;
        let weights = fs::read(directory.join("model.safetensors"))?;
        let weights = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        let model = BertModel::load(weights, &config)?;
        let words = |line: &str| line.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let sentences = sentences.lines().map(words).collect::<Result<Vec<_>, _>>()?;
        let longest = sentences.iter().map(Vec::len).max().unwrap_or(1);
        let filled = |words: &Vec<u32>| {
            let filling = std::iter::repeat(0);
            words.iter().copied().chain(filling).take(longest).collect::<Vec<u32>>()
        };
        let there = |words: &Vec<u32>| {
            (0..longest).map(|at| f32::from(u8::from(at < words.len()))).collect()
        };
        let words: Vec<Vec<u32>> = sentences.iter().map(filled).collect();
        let there: Vec<Vec<f32>> = sentences.iter().map(there).collect();
        let words = Tensor::new(words, &Device::Cpu)?;
        let (kinds, there) = (words.zeros_like()?, Tensor::new(there, &Device::Cpu)?);
        Ok(Self { model, words, kinds, there })
    }

    /// The mean of each sentence's words, of length 1.
    fn forward(&self) -> candle_core::Result<Tensor> {
        let hidden = self.model.forward(&self.words, &self.kinds, Some(&self.there))?;
        let sum = hidden.broadcast_mul(&self.there.unsqueeze(D::Minus1)?)?.sum(1)?;
        sum.broadcast_div(&sum.sqr()?.sum_keepdim(1)?.sqrt()?)
    }
}

/// Nanoseconds of processor time of the process: candle has threads of its own, if only one.
fn processor_time() -> Outcome<u64> {
    let time = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
    Ok(u64::try_from(time.tv_sec())? * 1_000_000_000 + u64::try_from(time.tv_nsec())?)
}

fn page_faults() -> Outcome<u64> {
    Ok(u64::try_from(getrusage(UsageWho::RUSAGE_SELF)?.minor_page_faults())?)
}
