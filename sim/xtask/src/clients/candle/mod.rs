//! The kernels of candle-kernels. They are compiled by NVRTC and loaded, and some are compared with
//! the host.

mod cases;
mod cases_of_many;
mod host;
mod stand_ins;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use super::driver::Driver;
use super::place::Place;
use cuda_tasks::sim_test::simulated_driver;
use cuda_tasks::{Compiler, Toolkit, headers, short_sum};
use tasks::TaskError;
use tasks::checks::{Checks, same};
use tasks::source;

const VERSION: &str = "0.11.1";
/// The sources that NVRTC can compile, ordered by compile time. The crate's other sources mix
/// kernels with host functions.
const SOURCES: [&str; 11] = [
    "quantized",
    "binary",
    "indexing",
    "conv",
    "cast",
    "unary",
    "reduce",
    "ternary",
    "fill",
    "affine",
    "sort",
];
/// Sources that take longer than all others together, or that no case uses. A short run skips them.
const LONG: [&str; 3] = ["quantized", "binary", "conv"];
/// The total number of kernels in all sources.
const KERNELS: usize = 705;

/// Downloads the sources, compiles and loads the kernels, and runs the cases.
///
/// # Errors
///
/// Fails if a source does not compile, or if an input, output or process fails.
pub(super) fn run(place: &Place, short: bool, checks: &mut Checks) -> Result<(), TaskError> {
    let name = format!("candle-kernels {VERSION}");
    let start = Instant::now();
    let modules = match obtain(place, short)? {
        Ok(modules) => modules,
        Err(why) => {
            checks.skip(&name, &why);
            return Ok(());
        }
    };
    let compiled = start.elapsed().as_secs_f64();
    let driver = Driver::open(&simulated_driver()?.join("libcuda.so"))?;
    let (mut all, mut loaded, mut tried) = (0, 0, 0);
    for Ptx { source, text } in &modules {
        let kernels = entries(text);
        all += kernels.len();
        let module = match driver.load(text) {
            Ok(module) => module,
            Err(why) => {
                checks.that(&format!("{name}: {source}.cu loads"), Err(why.to_string()));
                continue;
            }
        };
        let found = kernels.iter().filter(|kernel| module.kernel(kernel).is_ok()).count();
        loaded += found;
        checks.that(
            &format!("{name}: all {} kernels of {source}.cu load", kernels.len()),
            same(&found, &kernels.len()),
        );
        for case in cases::CASES.iter().filter(|case| case.source == *source) {
            let outcome = module
                .kernel(case.kernel)
                .and_then(|kernel| (case.run)(&driver, &kernel))
                .map_err(|error| error.to_string());
            tried += usize::from(outcome.is_ok());
            checks.that(
                &format!("{name}: {} equals the host's result: {}", case.kernel, case.what),
                outcome,
            );
        }
    }
    if !short {
        checks.that(
            &format!("{name}: the sources contain the expected number of kernels"),
            same(&all, &KERNELS),
        );
    }
    println!(
        "{name}: {all} kernels in {} sources, {loaded} loaded, {tried} match the host's results; compiled in {compiled:.0} s, \
         {:.0} s in total",
        modules.len(),
        start.elapsed().as_secs_f64()
    );
    Ok(())
}

/// The PTX of one source.
#[derive(Debug)]
struct Ptx {
    source: &'static str,
    text: String,
}

/// Downloads the compiler, the headers and the sources, and compiles. The inner error names a
/// download that failed.
fn obtain(place: &Place, short: bool) -> Result<Result<Vec<Ptx>, String>, TaskError> {
    let toolkit = match Toolkit::obtain(&place.compilers)? {
        Ok(toolkit) => toolkit,
        Err(why) => return Ok(Err(why)),
    };
    let headers = match headers(&place.compilers)? {
        Ok(headers) => headers,
        Err(why) => return Ok(Err(why)),
    };
    let sources = match source::obtain("candle-kernels", VERSION, &place.made)? {
        Ok(sources) => sources,
        Err(why) => return Ok(Err(why)),
    };
    let kept = place
        .made
        .join(format!("candle-kernels-{VERSION}"))
        .join(format!("ptx-{}", stand_ins::sum()));
    fs::create_dir_all(&kept)?;
    let making =
        Making { compiler: Compiler::open(&toolkit)?, sources: sources.join("src"), headers, kept };
    let wanted = SOURCES.into_iter().filter(|source| !short || !LONG.contains(source));
    making.all(&wanted.collect::<Vec<_>>()).map(Ok)
}

/// The directories that a compilation uses.
#[derive(Debug)]
struct Making {
    compiler: Compiler,
    sources: PathBuf,
    headers: PathBuf,
    /// The directory that caches PTX for the same sources, options and stand-ins.
    kept: PathBuf,
}

impl Making {
    /// Compiles sources in parallel, using one thread per processor.
    fn all(&self, sources: &[&'static str]) -> Result<Vec<Ptx>, TaskError> {
        let left = Mutex::new(sources.iter().rev().copied().collect::<Vec<_>>());
        let done = Mutex::new(Vec::new());
        let processors = std::thread::available_parallelism()?.get();
        std::thread::scope(|scope| {
            for _ in 0..processors {
                scope.spawn(|| {
                    loop {
                        let next = left.lock().ok().and_then(|mut left| left.pop());
                        let Some(source) = next else { return };
                        let made = self.one(source).map_err(|error| error.to_string());
                        if let Ok(mut done) = done.lock() {
                            done.push(made.map(|text| Ptx { source, text }));
                        }
                    }
                });
            }
        });
        let done = done.into_inner().map_err(|_| "a thread that compiles panicked")?;
        Ok(done.into_iter().collect::<Result<Vec<_>, String>>()?)
    }

    fn one(&self, source: &str) -> Result<String, TaskError> {
        let name = format!("{source}.cu");
        let text = fs::read_to_string(self.sources.join(&name))?;
        let kept = self.kept.join(format!("{source}-{}.ptx", short_sum(&text)));
        if let Ok(ptx) = fs::read_to_string(&kept) {
            return Ok(ptx);
        }
        let include = |path: &Path| format!("--include-path={}", path.display());
        let (own, cuda) = (include(&self.sources), include(&self.headers));
        let options: Vec<&str> =
            stand_ins::OPTIONS.into_iter().chain([own.as_str(), &cuda]).collect();
        let (ptx, _) = self.compiler.compile((&name, &text), &stand_ins::HEADERS, &options)?;
        // Renaming ensures that the file is either complete or missing.
        let part = kept.with_extension("part");
        fs::write(&part, &ptx)?;
        fs::rename(part, kept)?;
        Ok(ptx)
    }
}

/// Returns the names of a module's kernels.
fn entries(ptx: &str) -> Vec<&str> {
    let lines = ptx.lines().filter_map(|line| line.split_once(".entry "));
    lines.map(|(_, rest)| rest.split(['(', ' ']).next().unwrap_or(rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::cases::CASES;
    use super::{LONG, SOURCES, entries};

    #[test]
    fn kernels_are_found_in_ptx() {
        let ptx = ".visible .entry one(\n.param .u64 a)\n.func two()\n.entry three()\n{ }\n";
        assert_eq!(entries(ptx), ["one", "three"]);
    }

    #[test]
    fn a_dozen_cases_are_of_sources_that_take_little_time() {
        assert!(CASES.iter().all(|case| SOURCES.contains(&case.source)));
        assert!(CASES.iter().filter(|case| !LONG.contains(&case.source)).count() >= 12);
    }
}
