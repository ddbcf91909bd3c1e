//! Writes `docs/measurements/benchmarks.md`, the plot and the JSON file. They only depend on the
//! figures.

use std::fs;
use std::path::Path;

use super::figures::Figures;
use super::{plot, tables};
use crate::TaskError;

/// The description of each workload, in the order of the report.
const WORKLOADS: &[(&str, &str)] = &[
    ("small arrays", "A scope with three arrays of 100 `f64`. One byte of each array is touched."),
    (
        "marked slots",
        "A scope with one array of 100 elements. On the host, a slot is marked if it holds values that may have padding, or memory without a value. A marked slot is cold at every use. It is zeroed once before its bytes are next returned as recycled. In the third table, a pass has two scopes. In the last table, a pair is live while three arrays of numbers are acquired. In a stack, each array checks whether its own bytes may be uninitialised, as the bytes of the pair are.",
    ),
    (
        "collections",
        "The pool's vectors beside `allocator-api2`'s vector with a scope's allocator, and two programs that run on each allocator in turn. The word count reads 2,000 words into a hashbrown map with string keys and sorts them. The parser builds a tree of about 1,300 boxes, vectors, and strings, evaluates it, and drops it. Peers are used through the same trait. `heap` is the global allocator. `cargo run --release -p pool-benches --bin collections` prints times and bytes.",
    ),
    (
        "element types",
        "One, three, and seven element types in a scope. The published design has the seven types built in. The last table shows a type that is not built in.",
    ),
    (
        "nesting",
        "Four functions that are not inlined. Each one opens its own scope inside the scope that it receives, and acquires one array there. bumpalo has no scopes, and opool has no scopes that nest.",
    ),
    (
        "array views",
        "Three arrays of 100 `f64` as `ndarray` views. With a dynamic rank, a slot caches four shapes. In \"5 shapes\", five shapes alternate, so every lookup misses. Each miss allocates a new entry.",
    ),
    (
        "large arrays",
        "Large arrays that are fully written. Each case runs in several new processes, which alternate with the other cases.",
    ),
    (
        "varying lengths",
        "A scope with sixteen arrays, each with a pseudo-random length from 1 to 9,999.",
    ),
    ("threads", "The three small arrays on one thread, and on two threads at the same time."),
    (
        "real work",
        "The two workloads of `cargo xtask demo`, which use temporaries in real computations.",
    ),
    (
        "growth",
        "A new block of 8 MiB is allocated, written for the first time, and freed. The \"kernel\" rows are the floor: they map, fault in, and replace the same number of bytes at an address that was reserved earlier.",
    ),
];

/// Writes the three files.
pub(crate) fn write(figures: &Figures, folder: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(folder)?;
    let json = serde_json::to_string_pretty(figures)?;
    fs::write(folder.join("benchmarks.json"), json + "\n")?;
    write_page(figures, folder)
}

/// Writes only the page and the plot.
pub(crate) fn write_page(figures: &Figures, folder: &Path) -> Result<(), TaskError> {
    fs::write(
        folder.join("benchmarks.svg"),
        plot::draw(figures, "small arrays", "three arrays of f64")?,
    )?;
    fs::write(folder.join("benchmarks.md"), page(figures))?;
    Ok(())
}

fn page(figures: &Figures) -> String {
    let mut page = opening(figures);
    page += "\n## Goals\n\n";
    page += "A time may exceed the aim by the tolerance of one clock cycle, because code alignment moves a case by that amount.\n\
        The aims were set on another processor. \"The floor\" is the same ratio for only the call and the loop (`empty`), and for a\n\
        buffer that the caller keeps. No pool is expected to beat these two, so an aim below the floor cannot be met on this machine.\n\n";
    page += &tables::of_bars(figures);
    page += "\n![The time of three small arrays in each column](benchmarks.svg)\n";
    for (workload, about) in WORKLOADS {
        page += &format!("\n## {workload}\n\n{about}\n");
        for (_, variant) in figures.variants().iter().filter(|(own, _)| own == workload) {
            page += &format!("\n### {workload}: {variant}\n\n");
            page += &tables::of_cells(figures, workload, variant);
        }
    }
    page += "\n## held memory\n\n";
    page += "Bytes held after 8,000 scopes of varying lengths, as a multiple of the peak live bytes. The number in parentheses is the number of blocks allocated from the system per thousand scopes in the second half. \"Compacted\" calls `compact` every 250 scopes. \"Stacked\" is the `Stacked<Cpu>` layout. Addresses in a pool with slots remain the same until a block grows or is compacted. In a stack and in an arena, they change with the lengths.\n\n";
    page += &tables::of_held(&figures.held);
    page
}

fn opening(figures: &Figures) -> String {
    let machine = &figures.machine;
    let skipped = figures.instructions_skipped.as_ref();
    let instructions = skipped.map_or_else(
        || {
            "Instructions are exact counts by callgrind for one pass, including the call and the loop."
                .to_owned()
        },
        |why| format!("Instructions: SKIPPED: {why}."),
    );
    format!(
        "# Benchmarks

`cargo xtask bench` generated this page. [benchmarks.json](benchmarks.json) contains the same
numbers. Read this before the tables:

- **One byte of each array is touched.** This shows only the cost of acquiring the array. If an
  array is fully written, every arena and every pool is within a few percent of a buffer that the
  caller keeps: see \"varying lengths\", fully written, \"large arrays\" and \"real work\".
- **Each case is one function that is not inlined, called in a loop** with lengths that are unknown
  to the compiler. Every figure includes the call and the loop. The row `empty` shows their cost.
- **Every column does the same work.** A workload is written once, generic over the source of its
  memory. One helper for all columns puts each array's address into a register for an empty `asm`
  block that may touch all memory. The block contains no instructions.
- **Each peer is used in its fastest way.** Memory stays uninitialised if the peer allows it.
  bump-scope's scopes and dyn-stack receive enough memory for the largest workload in advance.
  bump-scope \"reset\" and bumpalo have no inner scopes, and free everything at the end. The caller of
  dyn-stack must know the total in advance.
- **\"Published\" is a port of the algorithm that AdaptiveArrayPools published**, and not a
  measurement of that package. The port lacks the package's bit masks and view caches, which is an
  advantage for the port.
- Times are medians of interleaved batches of thread CPU time. Ratios are medians over rounds of the
  ratio within a round. In all columns, every function starts at a cache line, because another
  position can move a case by a cycle or two. The position of a loop within its function still moves
  a case by a cycle. Ignore differences below 15 % in \"small arrays\".
- A row without a time was added after this run with `cargo xtask bench --add`. Only its counts
  were measured.
- {instructions} They were not counted in \"large arrays\", \"threads\", \"real work\" and \"growth\".
- Heap allocations were counted in a separate process in steady state.

Measured with {compiler} for {target}, in the default release profile.
The crates were compiled separately, without LTO. The machine has {processor}.
Transparent huge pages: `{huge_pages}`. Load: {before} before the run and {after} after it.
",
        compiler = machine.compiler,
        target = machine.target,
        processor = machine.processor,
        huge_pages = machine.huge_pages,
        before = machine.load[0],
        after = machine.load[1],
    )
}
