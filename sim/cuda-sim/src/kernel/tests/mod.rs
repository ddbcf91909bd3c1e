//! Runs kernels in PTX without a driver, on a single allocation of plain bytes.

mod behaviour;
mod carries;
mod faults;
mod instructions;
mod point;
mod printing;
mod races;
mod whole;

use std::sync::Arc;

use super::{Ending, Extent, GlobalMemory, Launch, Wrong, run};
use crate::ptx::{self, Program, Reading};
use crate::random::Random;
use crate::report::Mistake;
use crate::world::INSTRUCTIONS;

/// One allocation.
struct Flat {
    bytes: Vec<u8>,
}

const START: u64 = 0x00D0_0000_0000_0000;

impl GlobalMemory for Flat {
    fn around(&mut self, address: u64, bytes: usize) -> Result<Extent, Wrong> {
        let end = START + self.bytes.len() as u64;
        if (START..end).contains(&address) && address + bytes as u64 <= end {
            return Ok(Extent { start: START, bytes: self.bytes.len(), block: 3 });
        }
        let text = format!("{bytes} bytes at {address:#x}");
        Err(Wrong { mistake: Mistake::OutOfBounds, text })
    }

    fn take(&mut self, _: usize) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    fn give(&mut self, _: usize, bytes: Vec<u8>) {
        self.bytes = bytes;
    }
}

/// Returns the kernels of a module with this text.
fn programs(text: &str) -> Reading<Vec<Program>> {
    let text = format!(".version 9.0\n.target sm_80\n.address_size 64\n{text}");
    let module = ptx::parse(&text)?;
    let addresses =
        module.variables.iter().map(|variable| (variable.name.clone(), START)).collect();
    ptx::programs(&module, &addresses, &text)
}

/// Builds a kernel `k` with one parameter, `out`, in `%l0`. `%t` holds the thread number, `%b` the
/// block number.
fn kernel(body: &str) -> Launch {
    let text = format!(
        ".extern .shared .align 16 .b8 open[];
        .visible .entry k(.param .u64 out) {{
        .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>, %t, %b; .reg .f32 %f<8>;
        .reg .f64 %d<8>; .reg .b64 %l<16>;
        ld.param.u64 %l0, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;
        {body}
        ret; }}"
    );
    let program = programs(&text).unwrap_or_else(|error| panic!("{}", error.with_text(&text)));
    launch(program.into_iter().next().unwrap(), 1, 1)
}

fn launch(program: Program, blocks: u32, threads: u32) -> Launch {
    Launch {
        program: Arc::new(program),
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: 0,
        parameters: START.to_le_bytes().to_vec(),
    }
}

/// Sets the number of blocks and of threads in a launch.
fn sized(launch: Launch, blocks: u32, threads: u32) -> Launch {
    Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], ..launch }
}

/// Runs the launch on zeroed memory.
fn on_zeros(launch: &Launch, bytes: usize, seed: u64) -> (Vec<u8>, Ending) {
    let mut memory = Flat { bytes: vec![0; bytes] };
    let ending = run(launch, &mut memory, Random::new(seed), INSTRUCTIONS);
    (memory.bytes, ending)
}

/// Runs the launch, checks that nothing is reported, and returns the words that it wrote.
fn words(launch: &Launch, count: usize) -> Vec<u32> {
    let (bytes, ending) = on_zeros(launch, count * 4, 0);
    assert_eq!((ending.reports, ending.fault), (vec![], None));
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Returns the number of seeds that reported this mistake. Fails if anything else is reported.
fn reported(launch: &Launch, mistake: Mistake, bytes: usize) -> usize {
    let has = |seed: &u64| {
        let (_, ending) = on_zeros(launch, bytes, *seed);
        for (found, text) in &ending.reports {
            assert_eq!(*found, mistake, "{text}");
        }
        !ending.reports.is_empty()
    };
    (0..SEEDS).filter(has).count()
}

const SEEDS: u64 = 20;
const ALL: usize = 20;
