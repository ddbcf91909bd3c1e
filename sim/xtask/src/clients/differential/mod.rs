//! Random expressions in CUDA C++. NVRTC compiles them, the simulated driver runs them, and the
//! host computes the expected results.
//!
//! The host's side is written in Rust and evaluates the same tree of operations, not the C++ code.
//! Host compilers lack `__half`, `bfe.u32` and sums that are rounded down. They also have options
//! that change floating-point sums, and not every machine has a host compiler. The host's functions
//! were written for this test, and share nothing with the simulator except the language.

#![expect(
    clippy::cast_possible_truncation,
    reason = "only the low bits of a number count, and conversions are tested"
)]

mod atomics;
mod block;
mod collective;
mod convert;
mod expression;
mod operation;
mod point;
mod prelude;
mod program;
mod values;
mod warp;
mod whole;

use std::path::PathBuf;
use std::time::Instant;

use atomics::{ATOMICS, Atomic};
use collective::Collective;
use expression::{Expression, INPUTS, input};
use fastrand::Rng;
use operation::Operation;
use program::Program;
use values::{Bound, TYPES, agrees};

use super::driver::{Driver, Module, Parameters, Shape};
use super::place::Place;
use cuda_tasks::sim_test::simulated_driver;
use cuda_tasks::{Compiler, Toolkit, headers};
use tasks::TaskError;
use tasks::checks::Checks;

const NAME: &str = "differential";
/// The number of threads. Each has its own inputs.
const THREADS: usize = 32;
/// The number of expressions in a kernel.
const BATCH: usize = 64;
/// The number of expressions in which each operation is outermost.
const ROUNDS: usize = 10;
/// The number of trials for each operation of warps and blocks. A short run makes one trial with
/// one operation of each family.
const ROUNDS_TOGETHER: usize = 3;
/// The number of operations in a kernel, and of kernels in a module.
const STEPS: usize = 6;
const PROGRAMS: usize = 16;
/// The number of memory cells that all threads modify.
const CELLS: usize = 4;
/// The maximum number of differences that are printed.
const PRINTED: usize = 20;

/// Tests expressions. Each operation is outermost several times or, in a short run, once.
///
/// # Errors
///
/// Fails if the compiler refuses a kernel, or if an input, output or process fails.
pub(super) fn run(
    place: &Place,
    short: bool,
    seed: u64,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let start = Instant::now();
    let compiling = match Compiling::obtain(place)? {
        Ok(compiling) => compiling,
        Err(why) => {
            checks.skip(NAME, &why);
            return Ok(());
        }
    };
    let driver = Driver::open(&simulated_driver()?.join("libcuda.so"))?;
    let operations = [whole::operations(), point::operations(), convert::operations()];
    let operations: Vec<Operation> = operations.into_iter().flatten().collect();
    let definitions: String = operations.iter().filter_map(Operation::definition).collect();
    let rounds = if short { 1 } else { ROUNDS };
    let mut random = Rng::with_seed(seed);
    let mut tally = Tally::default();
    for _ in 0..rounds {
        for roots in operations.chunks(BATCH) {
            let random_of = |root| Expression::random(root, &operations, &mut random);
            let batch: Vec<Expression<'_>> = roots.iter().map(random_of).collect();
            tally.batch(&compiling, &driver, &definitions, (roots, &batch), &mut random)?;
        }
    }
    let (expressions, of_expressions) = (tally.tried, tally.differences.len());
    tally.atomics(&compiling, &driver, &mut random)?;
    let of_atomics = tally.differences.len() - of_expressions;
    let together =
        tally.together((&compiling, &driver), (&definitions, &operations), short, &mut random)?;
    let of_together = tally.differences.len() - of_expressions - of_atomics;
    let held = |differences: usize| match differences {
        0 => Ok(()),
        count => Err(format!("{count} differences")),
    };
    let mut differences: Vec<&String> = tally.differences.iter().collect();
    // The shortest difference helps most.
    differences.sort_by_key(|difference| difference.len());
    differences.into_iter().take(PRINTED).for_each(|difference| println!("differs: {difference}"));
    let bounded = operations.iter().filter(|one| one.bound != Bound::Exact).count();
    println!(
        "{NAME}: seed {seed}: {expressions} expressions of {} operations ({bounded} within PTX's bounds, and the \
         others bit for bit), each with {THREADS} inputs, {} atomic operations in global and shared memory, and {together} operations of \
         warps and blocks: {} differences in {:.0} s",
        operations.len(),
        ATOMICS.len(),
        tally.differences.len(),
        start.elapsed().as_secs_f64(),
    );
    checks
        .that(&format!("{NAME}: {expressions} expressions equal the host's"), held(of_expressions));
    checks.that(
        &format!("{NAME}: {} atomic operations equal the host's", ATOMICS.len()),
        held(of_atomics),
    );
    checks.that(
        &format!("{NAME}: {together} operations of warps and blocks equal the host's"),
        held(of_together),
    );
    Ok(())
}

/// The compiler, and the directory that contains its headers.
#[derive(Debug)]
struct Compiling {
    compiler: Compiler,
    headers: PathBuf,
}

impl Compiling {
    /// Downloads the compiler. The inner error names a download that failed.
    fn obtain(place: &Place) -> Result<Result<Self, String>, TaskError> {
        let toolkit = match Toolkit::obtain(&place.compilers)? {
            Ok(toolkit) => toolkit,
            Err(why) => return Ok(Err(why)),
        };
        Ok(match headers(&place.compilers)? {
            Ok(headers) => Ok(Self { compiler: Compiler::open(&toolkit)?, headers }),
            Err(why) => Err(why),
        })
    }

    /// Compiles without contraction, so multiplications and additions are only fused where the
    /// source says so.
    fn ptx(&self, source: &str) -> Result<String, TaskError> {
        let include = format!("--include-path={}", self.headers.display());
        let options = ["--gpu-architecture=compute_90", "--std=c++17", "--fmad=false", &include];
        let (ptx, _) = self.compiler.compile(("kernel.cu", source), &prelude::HEADERS, &options)?;
        Ok(ptx)
    }
}

/// The number of trials, and the differences found.
#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    differences: Vec<String>,
}

impl Tally {
    /// Compiles and runs expressions, and compares the results. Each expression is paired with its
    /// outermost operation.
    fn batch(
        &mut self,
        compiling: &Compiling,
        driver: &Driver,
        definitions: &str,
        (roots, batch): (&[Operation], &[Expression<'_>]),
        random: &mut Rng,
    ) -> Result<(), TaskError> {
        self.tried += batch.len();
        let ptx = compiling.ptx(&prelude::kernel(definitions, batch, THREADS))?;
        let module = match driver.load(&ptx) {
            Ok(module) => module,
            Err(why) => {
                self.differences.push(format!("a kernel that the compiler generated: {why}"));
                return Ok(());
            }
        };
        // The inputs of one thread are adjacent.
        let inputs: Vec<Vec<u64>> = (0..THREADS)
            .map(|_| {
                TYPES.iter().flat_map(|ty| [*ty; INPUTS]).map(|ty| input(ty, random)).collect()
            })
            .collect();
        let bytes: Vec<u8> = inputs.iter().flatten().flat_map(|bits| bits.to_le_bytes()).collect();
        let found =
            launched((driver, &module, "k"), &bytes, &vec![0; batch.len() * THREADS * 8], row(1))?;
        let found: Vec<u64> = words(&found);
        for (index, (root, expression)) in roots.iter().zip(batch).enumerate() {
            let wrong = inputs.iter().enumerate().find_map(|(thread, inputs)| {
                let (found, expected) = (found[index * THREADS + thread], expression.value(inputs));
                let fits = agrees(root.result, found, expected, root.bound);
                (!fits).then(|| {
                    format!("{found:#x} instead of {expected:#x}{}", shown(expression, inputs))
                })
            });
            if let Some(wrong) = wrong {
                self.differences.push(format!("`{}` in {}: {wrong}", root.text, expression.text()));
            }
        }
        Ok(())
    }

    /// Compiles and runs all atomic operations, and compares the results.
    fn atomics(
        &mut self,
        compiling: &Compiling,
        driver: &Driver,
        random: &mut Rng,
    ) -> Result<(), TaskError> {
        let kernels: String =
            ATOMICS.iter().enumerate().map(|(index, atomic)| atomic.source(index, CELLS)).collect();
        let module = driver.load(&compiling.ptx(&format!("{}{kernels}", prelude::INCLUDES))?)?;
        for (index, atomic) in ATOMICS.iter().enumerate() {
            let Atomic { ty, number, change, text } = atomic;
            let mut value = || ty.mask(number(input(*ty, random)));
            let cells: Vec<u64> = (0..CELLS).map(|_| value()).collect();
            let numbers: Vec<u64> = (0..4 * THREADS).map(|_| value()).collect();
            let bytes = |values: &[u64]| -> Vec<u8> {
                let len = ty.bits() as usize / 8;
                values.iter().flat_map(|value| value.to_le_bytes()[..len].to_vec()).collect()
            };
            for (kernel, blocks) in [("global", 4), ("shared", 1)] {
                let name = format!("{kernel}{index}");
                let found = launched(
                    (driver, &module, &name),
                    &bytes(&numbers),
                    &bytes(&cells),
                    row(blocks),
                )?;
                let mut expected = cells.clone();
                for (thread, number) in numbers.iter().enumerate().take(THREADS * blocks as usize) {
                    let cell = &mut expected[thread % CELLS];
                    *cell = ty.mask(change(*cell, *number));
                }
                if found != bytes(&expected) {
                    let expected = bytes(&expected);
                    self.differences.push(format!(
                        "`{text}` of {ty:?} in {kernel} memory: {found:x?} instead of {expected:x?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Runs programs that consist of operations of warps and blocks. Returns the number of
    /// operations.
    fn together(
        &mut self,
        (compiling, driver): (&Compiling, &Driver),
        (definitions, operations): (&str, &[Operation]),
        short: bool,
        random: &mut Rng,
    ) -> Result<usize, TaskError> {
        let mut tried = 0;
        for _ in 0..if short { 1 } else { ROUNDS_TOGETHER } {
            let mut roots: Vec<Collective> =
                warp::operations().into_iter().chain(block::operations()).collect();
            random.shuffle(&mut roots);
            if short {
                collective::one_of_each_family(&mut roots);
            }
            tried += roots.len();
            for roots in roots.chunks(STEPS * PROGRAMS) {
                self.programs((compiling, driver), (definitions, operations), roots, random)?;
            }
        }
        Ok(tried)
    }

    /// Compiles these operations as kernels in one module, runs each kernel, and compares the
    /// results.
    fn programs(
        &mut self,
        (compiling, driver): (&Compiling, &Driver),
        (definitions, operations): (&str, &[Operation]),
        roots: &[Collective],
        random: &mut Rng,
    ) -> Result<(), TaskError> {
        let inputs = program::inputs(random);
        let programs: Vec<Program> = roots
            .chunks(STEPS)
            .enumerate()
            .map(|(index, roots)| {
                Program::random(&format!("k{index}"), roots, operations, &inputs, random)
            })
            .collect();
        let kernels: String = programs.iter().map(|program| program.text.as_str()).collect();
        let source = format!("{}{}{definitions}{kernels}", prelude::INCLUDES, prelude::FUNCTIONS);
        let module = match driver.load(&compiling.ptx(&source)?) {
            Ok(module) => module,
            Err(why) => {
                self.differences.push(format!("a kernel that the compiler generated: {why}"));
                return Ok(());
            }
        };
        let bytes: Vec<u8> = inputs.iter().flatten().flat_map(|bits| bits.to_le_bytes()).collect();
        for (index, program) in programs.iter().enumerate() {
            let room = vec![0; program.steps.len() * program::THREADS * 8];
            let shape = Shape::row(1, program::THREADS as u32);
            let name = format!("k{index}");
            match launched((driver, &module, &name), &bytes, &room, shape) {
                Ok(found) => self.differences.extend(program.difference(&words(&found))),
                Err(why) => self.differences.push(format!("{}: {why}", program.text)),
            }
        }
        Ok(())
    }
}

/// Launches a kernel and returns its outputs.
fn launched(
    (driver, module, kernel): (&Driver, &Module<'_>, &str),
    inputs: &[u8],
    outputs: &[u8],
    shape: Shape,
) -> Result<Vec<u8>, TaskError> {
    let (input, output) = (driver.upload(inputs)?, driver.upload(outputs)?);
    let parameters = Parameters::default().and_buffer(&output).and_buffer(&input);
    module.kernel(kernel)?.run(shape, &parameters)?;
    output.bytes()
}

/// Returns a launch shape with `blocks` blocks, each with the number of threads that an expression has.
fn row(blocks: u32) -> Shape {
    Shape::row(blocks, THREADS as u32)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let words = bytes.chunks_exact(8);
    words.map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
}

/// Formats the inputs that an expression uses.
fn shown(expression: &Expression<'_>, inputs: &[u64]) -> String {
    let text = expression.text();
    let mut all = String::new();
    for (place, ty) in TYPES.iter().enumerate() {
        for index in 0..INPUTS {
            let name = format!("x{place}_{index}");
            if text.contains(&name) {
                all.push_str(&format!(", {name} = {:#x}", ty.mask(inputs[place * INPUTS + index])));
            }
        }
    }
    all
}
