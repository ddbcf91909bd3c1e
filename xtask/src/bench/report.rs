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
        "A scope with one array of 100 elements. On the host a slot is marked by values that may have padding and by room without a value. A marked slot is cold at every use; it is zeroed, once, before its bytes are next handed out recycled. In the third table a pass has two scopes. In the last one a pair is live while three arrays of numbers are acquired: in a stack they look whether their own bytes may be uninitialised, which those of the pair are.",
    ),
    (
        "collections",
        "Vectors of the pool beside `allocator-api2`'s vector over the allocator of a scope, and two programs on one allocator after the other. The word count reads 2,000 words into a hashbrown map whose keys are strings, and sorts them; the parser makes a tree of some 1,300 boxes, vectors and strings, evaluates it and drops it. Peers are used through the same trait; `heap` is the global allocator. `cargo run --release -p pool-benches --bin collections` prints time and bytes.",
    ),
    (
        "element types",
        "One, three and seven element types in a scope. The seven are those that the published design has built in; the last table is of one that it has not.",
    ),
    (
        "nesting",
        "Four functions that are not inlined, each with one array in a scope of its own inside the one that it is given. bumpalo has no scopes and opool has none to nest.",
    ),
    (
        "array views",
        "Three arrays of 100 `f64` as `ndarray` views. With a dynamic rank, a slot remembers four shapes: \"5 shapes\" in turns miss each time, and a miss allocates the new entry.",
    ),
    (
        "large arrays",
        "Large arrays, fully written, a fresh process for each case and several of them in turns.",
    ),
    (
        "varying lengths",
        "Sixteen arrays in a scope, each of a pseudo-random length from 1 to 9,999.",
    ),
    ("threads", "The three small arrays on one thread, and on two at the same time."),
    (
        "real work",
        "The two workloads of `cargo xtask demo`, where the temporaries are a part of real work.",
    ),
    (
        "growth",
        "A fresh block of 8 MiB, its first write, and its end. The rows \"kernel\" map, fault and replace as much at an address that was reserved before: the floor.",
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
    page += "\n## What was to be shown\n\n";
    page += "A time may be above the aim by the tolerance, a clock cycle: the alignment of code moves a case by as much.\n\
        The aims were set on another processor. \"The floor\" is the same ratio for the call and the loop alone (`empty`) and for a\n\
        buffer that the caller keeps, neither of which a pool is expected to beat: where the floor is above the aim, no pool is below it here.\n\n";
    page += &tables::of_bars(figures);
    page += "\n![The time of three small arrays for each way](benchmarks.svg)\n";
    for (workload, about) in WORKLOADS {
        page += &format!("\n## {workload}\n\n{about}\n");
        for (_, variant) in figures.variants().iter().filter(|(own, _)| own == workload) {
            page += &format!("\n### {workload}: {variant}\n\n");
            page += &tables::of_cells(figures, workload, variant);
        }
    }
    page += "\n## held memory\n\n";
    page += "Bytes held after 8,000 scopes of varying lengths, as a multiple of the most that was ever live at one time; in brackets how many blocks were taken from the system for each thousand scopes of the second half. \"Compacted\" calls `compact` every 250 scopes. \"Stacked\" is the layout `Stacked<Cpu>`. Addresses in a pool with slots stay where they are until a block grows or is compacted; in a stack and in an arena they move with the lengths.\n\n";
    page += &tables::of_held(&figures.held);
    page
}

fn opening(figures: &Figures) -> String {
    let machine = &figures.machine;
    let skipped = figures.instructions_skipped.as_ref();
    let instructions = skipped.map_or_else(
        || {
            "Instructions are callgrind's, exact, of one pass with the call and the loop."
                .to_owned()
        },
        |why| format!("Instructions: SKIPPED: {why}."),
    );
    format!(
        "# Benchmarks

Generated by `cargo xtask bench`; the numbers are in [benchmarks.json](benchmarks.json), too. Read
this before the tables:

- **One byte of each array is touched.** That shows what getting the array costs, and nothing else.
  Where an array is fully written, every arena and every pool is within some per cent of a buffer
  that the caller keeps: see \"varying lengths\", fully written, \"large arrays\" and \"real work\".
- **Each case is one function that is not inlined, called in a loop** with lengths that the compiler
  does not know. Call and loop are in every figure; the row `empty` is what they cost.
- **The same work for every column.** A workload is written once, generic over the way to get
  memory. Each array's address goes into a register for an empty `asm` block that may touch all
  memory, in one helper for all columns. It has no instruction of its own.
- **Peers are used as they are fastest.** Memory is left uninitialised where they allow it, and
  bump-scope's scopes and dyn-stack are given room for the largest workload beforehand. bump-scope
  \"reset\" and bumpalo give everything back at the end: they have no inner scopes there. The caller
  of dyn-stack has to know the total beforehand.
- **\"Published\" is a port of the algorithm that AdaptiveArrayPools published**, without its bit
  masks and caches of views, which is in its favour; it is not a measurement of that package.
- Times are medians of interleaved batches of thread CPU time. Ratios are medians over rounds of the
  ratio within a round. Every function, in all columns alike, starts at a cache line: where luck puts
  it otherwise moves a case by a cycle or two. Where a loop lies within its function still moves one
  by a cycle: do not read anything into less than 15 % in \"small arrays\".
- A row without a time was added after this run, by `cargo xtask bench --add`, and only counted.
- {instructions} In \"large arrays\", \"threads\", \"real work\" and \"growth\" they were not counted.
- Heap allocations were counted in a process of their own, in steady state.

Measured with {compiler} for {target}, in the default release profile, the crates compiled
separately, without LTO; on {processor}; transparent huge pages: `{huge_pages}`; load of the machine
{before} before and {after} after.
",
        compiler = machine.compiler,
        target = machine.target,
        processor = machine.processor,
        huge_pages = machine.huge_pages,
        before = machine.load[0],
        after = machine.load[1],
    )
}
