//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pool_plan::{Memory, Options};
use pool_replay::{Allocator, Format, Selection};

/// Plan memory: compute offsets for buffers with known lifetimes, and an exact lower bound.
#[derive(Debug, Parser)]
#[command(name = "pool-plan", version, about)]
pub(crate) struct CommandLine {
    /// The task to run.
    #[command(subcommand)]
    pub(crate) task: Task,
}

/// The task to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Plan one file.
    ///
    /// Exit codes: 0 if the plan is valid (and within the capacity, if one is given), 1 if no plan
    /// is within the capacity, 2 if the input is bad.
    Solve(Solve),
    /// Replay the log of an allocator. Reports peaks, failures and leaks with their callers, and
    /// the memory that other allocators would have held.
    ///
    /// The exit code is 0 if the log is consistent and, if a capacity is given, one of the simulated
    /// allocators stays within it. The code is 1 if none of them does. It is 2 if the input is bad,
    /// or if only a plan is requested and there are too many buffers to plan. It is 3 if the log is
    /// inconsistent.
    Replay(Replay),
    /// Write the log of an allocator in another form, for a viewer or as a problem.
    ///
    /// Exit codes: 0 if the file was written, 2 if the input is bad, 3 if the log is inconsistent.
    Export(Export),
}

/// The arguments for planning a file.
#[derive(Args, Debug)]
pub(crate) struct Solve {
    /// A CSV file with the columns id, lower, upper, size [, alignment, gaps, offset], or a JSON
    /// file. A JSON file contains buffers. A happens-before problem also contains operations and
    /// edges, and a problem with several memories also contains memories.
    pub(crate) file: PathBuf,
    /// Find any plan within this many bytes.
    #[arg(long, value_name = "BYTES", conflicts_with = "memories")]
    pub(crate) capacity: Option<u64>,
    /// Add a memory in which buffers may be placed. Specify its name, its size in bytes (empty for
    /// no limit), the cost per byte held (1) and the cost per byte read or written (0), as in
    /// `sram:65536:1:1` or `psram::1:10`. Replaces a memory of the same name in the file.
    #[arg(long = "memory", value_name = "NAME[:BYTES[:COST[:TRAFFIC]]]", value_parser = memory)]
    pub(crate) memories: Vec<Memory>,
    /// Align every buffer to at least this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    pub(crate) align: Option<u64>,
    /// The time for planning, such as 10s or 1500ms. The first greedy plan is always completed.
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) budget: Duration,
    /// Search for at most this many rounds. The result then does not depend on the speed of the
    /// machine.
    #[arg(long)]
    pub(crate) rounds: Option<u32>,
    /// Stop when the peak is at most this many times the bound.
    #[arg(long, default_value_t = 1.0)]
    pub(crate) tolerance: f64,
    /// The seed for random choices.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The number of threads to search on.
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Treat the offsets in the file as fixed: buffers with an offset are not moved.
    #[arg(long)]
    pub(crate) fixed: bool,
    /// Write the file's columns with an added offset column, or, as JSON, the problem with the
    /// offsets. With `--fixed`, the file can be read back as the plan. For a graph, the CSV file is
    /// only a table without the edges.
    #[arg(long, value_name = "PLAN.csv|PLAN.json")]
    pub(crate) out: Option<PathBuf>,
    /// Draw the plan as a picture of time and addresses.
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

/// The arguments for replaying a log.
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// A log written by RMM, a snapshot of PyTorch, the output of `CuPy`'s hook, a plan of
    /// `MiniMalloc`, `TFLite` or XLA, JSON lines, or the record of a capture. The file may be
    /// compressed with gzip.
    pub(crate) file: PathBuf,
    /// The format of the file. If it is given, lines of other programs are skipped. By default, the
    /// format is detected from the first bytes.
    #[arg(long, value_enum)]
    pub(crate) from: Option<Format>,
    /// The part of the log.
    #[command(flatten)]
    part: Part,
    /// The allocators to simulate. By default, all of them are simulated.
    #[arg(long = "allocator", value_enum, value_delimiter = ',')]
    allocators: Vec<Allocator>,
    /// The size of each device in bytes. For each allocator, the report names the first event for
    /// which there is no room.
    #[arg(long, value_name = "BYTES")]
    pub(crate) capacity: Option<u64>,
    /// The initial size of RMM's pool and the size of RMM's arena, in bytes. It is limited to the
    /// capacity.
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pool_size: u64,
    /// Align every buffer of the plan to at least this many bytes.
    #[arg(long, value_name = "BYTES", value_parser = power_of_two)]
    pub(crate) align: Option<u64>,
    /// The time for planning each device, such as 10s or 1500ms.
    #[arg(long, default_value = "2s", value_parser = duration)]
    budget: Duration,
    /// Search for at most this many rounds. The result then does not depend on the speed of the
    /// machine.
    #[arg(long)]
    rounds: Option<u32>,
    /// The number of threads to search on.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Replay {
    /// Creates the replay of a log in a given format. Each allocator occurs once, in the order in
    /// which the report shows them.
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
    /// Begin with this event, counted from 0. Buffers that are live before it are treated as live
    /// from the start.
    #[arg(long, value_name = "NUMBER")]
    from_event: Option<u64>,
    /// End before this event.
    #[arg(long, value_name = "NUMBER")]
    to_event: Option<u64>,
    /// Begin with the first event at this time or later, in microseconds of the log's clock.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    from_time: Option<i64>,
    /// End before the first event at this time or later.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    to_time: Option<i64>,
}

impl Part {
    /// Returns the part of the log. Lines of other programs are skipped if the format is given.
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
    /// The buffers of a device, as `MiniMalloc`'s CSV.
    Csv,
    /// This project's log format, JSON lines.
    Json,
    /// A picture of time and addresses.
    Svg,
    /// A page for a browser, in a single file. It shows time, owners, and the memory that each
    /// allocator would hold.
    Html,
}

/// The arguments for exporting a log.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// A log written by RMM, a snapshot of PyTorch, the output of `CuPy`'s hook, a plan of
    /// `MiniMalloc`, `TFLite` or XLA, JSON lines, or the record of a capture. The file may be
    /// compressed with gzip.
    pub(crate) file: PathBuf,
    /// The form to write.
    #[arg(long, value_enum)]
    pub(crate) to: Target,
    /// The format of the file. If it is given, lines of other programs are skipped. By default, the
    /// format is detected from the first bytes.
    #[arg(long, value_enum)]
    pub(crate) from: Option<Format>,
    /// The part of the log.
    #[command(flatten)]
    pub(crate) part: Part,
    /// The device to show in a problem or picture. Required if there are several devices.
    #[arg(long)]
    pub(crate) device: Option<u32>,
    /// The file to write. By default, the standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Parses an alignment.
fn power_of_two(text: &str) -> Result<u64, String> {
    let alignment: u64 = text.parse().map_err(|_| format!("{text:?} is not a number of bytes"))?;
    if alignment.is_power_of_two() {
        return Ok(alignment);
    }
    Err(format!("{alignment} is not a power of two"))
}

/// Parses a memory, such as `sram:65536:1:1` or `psram::1:10`.
fn memory(text: &str) -> Result<Memory, String> {
    let mut fields = text.split(':');
    let mut memory = Memory::new(fields.next().unwrap_or_default());
    if memory.name.is_empty() || memory.name.contains(char::is_whitespace) {
        return Err("the name of a memory must not be empty and must not contain spaces".to_owned());
    }
    let mut number = |what: &str| match fields.next() {
        None | Some("") => Ok(None),
        Some(field) => {
            let error = |_| format!("{what}: {field:?} is not a whole number of at most 64 bits");
            field.parse().map(Some).map_err(error)
        }
    };
    memory.capacity = number("bytes")?;
    memory.cost = number("cost")?.unwrap_or(memory.cost);
    memory.traffic_cost = number("traffic cost")?.unwrap_or(memory.traffic_cost);
    match fields.next() {
        Some(field) => Err(format!(
            "the field {field:?} is not expected: a memory has at most 4 fields, \
             NAME:BYTES:COST:TRAFFIC_COST"
        )),
        None => Ok(memory),
    }
}

/// Parses a time, such as `10s`, `1.5s` or `1500ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, 1e-3),
        (None, Some(number)) => (number, 1.0),
        (None, None) => return Err("a time must end in s or ms, for example 10s".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}
