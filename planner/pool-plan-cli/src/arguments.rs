//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pool_plan::{Memory, Options};
use pool_replay::{Allocator, Format, Selection};

/// Plan memory: offsets for buffers with known lifetimes, and an exact lower bound.
#[derive(Debug, Parser)]
#[command(name = "pool-plan", version, about)]
pub(crate) struct CommandLine {
    /// The task of the command.
    #[command(subcommand)]
    pub(crate) task: Task,
}

/// The task of the command.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Plan one file.
    ///
    /// Exit codes: 0 a valid plan (within the capacity, if one is given), 1 none within the
    /// capacity, 2 bad input.
    Solve(Solve),
    /// Replay the log of an allocator: peaks, failures and leaks by name, and the bytes that other allocators would
    /// have held.
    ///
    /// Exit codes: 0 a consistent log; with a capacity, one of the shown allocators fits on each device. 1 none fits. 2
    /// bad input, or only a plan is requested and there are too many buffers. 3 an inconsistent log.
    Replay(Replay),
    /// Write the log of an allocator in another form, for a viewer or as a problem.
    ///
    /// Exit codes: 0 written, 2 bad input, 3 an inconsistent log.
    Export(Export),
}

/// The options of planning a file.
#[derive(Args, Debug)]
pub(crate) struct Solve {
    /// A CSV file with columns id, lower, upper, size [, alignment, gaps, offset], or a JSON file
    /// with buffers, and with operations and edges for a happens-before problem, or with memories.
    pub(crate) file: PathBuf,
    /// Find any plan within this many bytes.
    #[arg(long, value_name = "BYTES", conflicts_with = "memories")]
    pub(crate) capacity: Option<u64>,
    /// Place buffers in this memory too: a name, its bytes (none: no limit), the cost of a byte held [1] and of one read
    /// or written [0], as in `sram:65536:1:1` or `psram::1:10`. A memory of the file is replaced.
    #[arg(long = "memory", value_name = "NAME[:BYTES[:COST[:TRAFFIC]]]", value_parser = memory)]
    pub(crate) memories: Vec<Memory>,
    /// Align every buffer to at least this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    pub(crate) align: Option<u64>,
    /// The time for planning, as in 10s or 1500ms; the first greedy plan is always finished.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) budget: Duration,
    /// Search for at most this many rounds, which makes the result independent of speed.
    #[arg(long)]
    pub(crate) rounds: Option<u32>,
    /// A peak of at most this many times the bound is good enough.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) tolerance: f64,
    /// The seed of the random choices.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The number of threads of the search.
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Take the offsets of the file as given: these buffers must stay there.
    #[arg(long)]
    pub(crate) fixed: bool,
    /// Write the file's columns with an offset column, or as JSON the problem with the offsets. With
    /// `--fixed` it reads back as the plan; but a graph's CSV file is a table without its edges.
    #[arg(long, value_name = "PLAN.csv|PLAN.json")]
    pub(crate) out: Option<PathBuf>,
    /// Draw time and addresses.
    #[arg(long, value_name = "PICTURE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Solve {
    /// The options of the planner.
    pub(crate) fn options(&self) -> Options {
        Options {
            capacity: self.capacity,
            budget: self.budget,
            rounds: self.rounds,
            tolerance: self.tolerance,
            seed: self.seed,
            threads: self.threads,
        }
    }
}

/// The options of replaying a log.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// A log of RMM's, a snapshot of PyTorch's, the lines of `CuPy`'s hook, a plan of `MiniMalloc`, `TFLite` or XLA,
    /// JSON lines, or the record of a capture; it may be compressed by gzip.
    pub(crate) file: PathBuf,
    /// The format of the file, which is otherwise found out by its first bytes. Lines of other programs are skipped then.
    #[arg(long, value_enum)]
    pub(crate) from: Option<Format>,
    /// The part of the log.
    #[command(flatten)]
    part: Part,
    /// The allocators to simulate; all of them if none is named.
    #[arg(long = "allocator", value_enum, value_delimiter = ',')]
    allocators: Vec<Allocator>,
    /// The bytes of each device; the report names each allocator's first event without room.
    #[arg(long, value_name = "BYTES")]
    pub(crate) capacity: Option<u64>,
    /// The initial bytes of RMM's pool, and the bytes of RMM's arena; no more than the capacity.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pool_size: u64,
    /// Align every buffer of the plan to at least this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    pub(crate) align: Option<u64>,
    /// The time for planning each device, as in 10s or 1500ms.
    #[arg(long, default_value = "2s", value_parser = duration)]
    budget: Duration,
    /// Search for at most this many rounds, which makes the result independent of speed.
    #[arg(long)]
    rounds: Option<u32>,
    /// The number of threads of the search.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Replay {
    /// The replay of a log of a format; the allocators each once, in the order in which they are shown.
    pub(crate) fn replay(&self, format: Format) -> pool_replay::Replay {
        let is_asked =
            |one: &Allocator| self.allocators.is_empty() || self.allocators.contains(one);
        let (budget, rounds, threads) = (self.budget, self.rounds, self.threads);
        pool_replay::Replay {
            format: Some(format),
            selection: self.part.selection(self.from),
            allocators: Allocator::ALL.into_iter().filter(is_asked).collect(),
            capacity: self.capacity,
            pool_size: self.pool_size,
            alignment: self.align.unwrap_or(1),
            options: Options { budget, rounds, threads, ..Options::default() },
        }
    }
}

/// The part of a log.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Begin with this event, counted from 0; buffers that are live before it count as live from the start.
    #[arg(long, value_name = "NUMBER")]
    from_event: Option<u64>,
    /// End before this event.
    #[arg(long, value_name = "NUMBER")]
    to_event: Option<u64>,
    /// Begin with the first event at this time or later, in microseconds as the log has them.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    from_time: Option<i64>,
    /// End before the first event at this time or later.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    to_time: Option<i64>,
}

impl Part {
    /// The part, and whether lines of others are skipped: they are where the format is given.
    pub(crate) fn selection(self, from: Option<Format>) -> Selection {
        let whole = Selection::default();
        let (events, times) = (whole.events, whole.times);
        Selection {
            events: self.from_event.unwrap_or(events.start)..self.to_event.unwrap_or(events.end),
            times: self.from_time.unwrap_or(times.start)..self.to_time.unwrap_or(times.end),
            skip_other_lines: from.is_some(),
        }
    }
}

/// The form in which a log is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Target {
    /// A snapshot for PyTorch's viewer in the browser and `python -m torch.cuda._memory_viz`.
    MemoryViz,
    /// A trace for ui.perfetto.dev.
    Perfetto,
    /// The buffers of a device, `MiniMalloc`'s CSV.
    Csv,
    /// This project's own log, JSON lines.
    Json,
    /// A picture of time and addresses.
    Svg,
    /// A page for a browser, in one file: time, owners, and the bytes that each allocator would hold.
    Html,
}

/// The options of exporting a log.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// A log of RMM's, a snapshot of PyTorch's, the lines of `CuPy`'s hook, a plan of `MiniMalloc`, `TFLite` or XLA,
    /// JSON lines, or the record of a capture; it may be compressed by gzip.
    pub(crate) file: PathBuf,
    /// The form to write.
    #[arg(long, value_enum)]
    pub(crate) to: Target,
    /// The format of the file, which is otherwise found out by its first bytes. Lines of other programs are skipped then.
    #[arg(long, value_enum)]
    pub(crate) from: Option<Format>,
    /// The part of the log.
    #[command(flatten)]
    pub(crate) part: Part,
    /// The device of the problem or picture; needed if there are several.
    #[arg(long)]
    pub(crate) device: Option<u32>,
    /// The output file; the standard output if it is not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// An alignment.
fn power_of_two(text: &str) -> Result<u64, String> {
    let alignment: u64 = text.parse().map_err(|_| format!("{text:?} is no number of bytes"))?;
    if alignment.is_power_of_two() {
        return Ok(alignment);
    }
    Err(format!("{alignment} is not a power of two"))
}

/// A memory, such as `sram:65536:1:1` or `psram::1:10`.
fn memory(text: &str) -> Result<Memory, String> {
    let mut fields = text.split(':');
    let mut memory = Memory::new(fields.next().unwrap_or_default());
    if memory.name.is_empty() || memory.name.contains(char::is_whitespace) {
        return Err("a memory has a name without blanks".to_owned());
    }
    let mut number = |what: &str| match fields.next() {
        None | Some("") => Ok(None),
        Some(field) => {
            let error = |_| format!("{what}: {field:?} is no whole number that fits 64 bits");
            field.parse().map(Some).map_err(error)
        }
    };
    memory.capacity = number("bytes")?;
    memory.cost = number("cost")?.unwrap_or(memory.cost);
    memory.traffic_cost = number("traffic cost")?.unwrap_or(memory.traffic_cost);
    match fields.next() {
        Some(field) => Err(format!("{field:?} is one field too many")),
        None => Ok(memory),
    }
}

/// A time such as `10s`, `1.5s` or `1500ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => return Err("a time ends in s or ms, as in 10s".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is no number"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
