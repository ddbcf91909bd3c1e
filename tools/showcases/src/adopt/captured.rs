//! `cargo xtask adopt --captured`: captures a model of candle on the simulated device. No line of
//! candle is changed. cudarc has the patch with which slices take memory of the graph.
//!
//! NVIDIA's compiler for candle's kernels comes from `PyPI`. The simulated device runs no machine
//! code, so small libraries replace cuBLAS and cuRAND. All files are written to `target/adopt`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use tasks::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::files;
use tasks::programs::{build, installed, output, simulator_of};
use tasks::source;

use super::building::cargo_for;
use super::patch::Patch;
use super::place::Place;

/// The compiler for CUDA, and what it needs, with the version of all of them.
const WHEELS: [&str; 5] = [
    "nvidia-cuda-nvcc",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
];
const TOOLKIT: &str = "13.0";

/// The libraries that the program links but never calls.
const UNUSED: [&str; 2] = ["cublasLt", "nvrtc"];

/// The program, and the check's name of it.
const PROGRAM: &str = "candle-cuda";

/// The number of replays in one process, and of replays with each seed.
const REPLAYS: (&str, &str) = ("1000", "5");
const SEEDS: u32 = 20;

/// Builds the program, and runs it on the simulated device.
///
/// # Errors
///
/// Fails if a file cannot be read or written, or if the program does not build. If a tool is not
/// available, the checks count this instead.
pub(super) fn run(place: &Place, mut checks: Checks) -> Result<ExitCode, TaskError> {
    match prepared(place, &mut checks)? {
        Ok(built) => check(&built, &mut checks)?,
        Err(why) => checks.skip(PROGRAM, &why),
    }
    println!("\n{checks}");
    Ok(checks.exit_code_of_optional())
}

/// The program, and the directory of its libraries.
struct Built {
    program: PathBuf,
    libraries: PathBuf,
}

/// Builds the program, or returns the reason why this is not possible here.
fn prepared(place: &Place, checks: &mut Checks) -> Result<Result<Built, String>, TaskError> {
    for program in ["python3", "gcc", "rustc"] {
        if installed(program).is_none() {
            return Ok(Err(format!("{program} is not installed")));
        }
    }
    let original = match source::obtain("cudarc", "0.19.10", &place.made)? {
        Ok(original) => original,
        Err(why) => return Ok(Err(why)),
    };
    let patch = Patch::read(&place.kept.join("cudarc/allocator.patch"))?;
    let copy = place.made.join("cudarc-0.19.10/pool");
    files::copy(&original, &copy)?;
    patch.apply("cudarc-0.19.10", &copy)?;
    checks.that(&format!("candle: +0 −0 lines; cudarc: {}", patch.lines()), Ok(()));
    let toolkit = match toolkit(&place.made)? {
        Ok(toolkit) => toolkit,
        Err(why) => return Ok(Err(why)),
    };
    let libraries = libraries(place, &toolkit)?;
    let mut cargo = cargo_for(&place.made);
    cargo.args(["rustc", "--quiet", "--locked"]).current_dir(place.kept.join(PROGRAM));
    cargo.envs(["CUDA_HOME", "CUDA_ROOT", "CUDA_PATH"].map(|name| (name, &toolkit)));
    cargo.env("PATH", path_with(&toolkit.join("bin"))).env("CUDA_COMPUTE_CAP", "80");
    // The simulator lacks calls that cudarc names and candle never makes.
    cargo
        .args(["--", "-C", "relro-level=partial", "-C", "link-arg=-Wl,-z,lazy", "-L"])
        .arg(&libraries);
    output(&mut cargo)?;
    let program = place.made.join("build/debug/adopted-candle-cuda");
    Ok(Ok(Built { program, libraries }))
}

/// Installs the compiler, and returns its directory.
fn toolkit(made: &Path) -> Result<Result<PathBuf, String>, TaskError> {
    let directory = made.join(format!("cuda-{TOOLKIT}"));
    let toolkit = directory.join("nvidia/cu13");
    if toolkit.join("bin/nvcc").is_file() && toolkit.join("include/cuda_runtime.h").is_file() {
        return Ok(Ok(toolkit));
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    pip.args(["--no-deps", "--upgrade", "--retries", "1", "--target"]).arg(&directory);
    pip.args(WHEELS.map(|wheel| format!("{wheel}=={TOOLKIT}.*")))
        .env("PIP_ROOT_USER_ACTION", "ignore");
    let answer = pip.stdin(Stdio::null()).output()?;
    if !answer.status.success() {
        return Ok(Err(source::reason(&String::from_utf8_lossy(&answer.stderr))));
    }
    Ok(Ok(toolkit))
}

/// Builds the simulator and the libraries that the program is linked with.
fn libraries(place: &Place, toolkit: &Path) -> Result<PathBuf, TaskError> {
    let directory = place.made.join("libraries");
    fs::create_dir_all(&directory)?;
    let mut cargo = cargo_for(&place.made);
    cargo.args(["build", "--quiet", "--release", "--package", "cuda-sim"]);
    let artifacts = build(cargo.current_dir(place.kept.join("../../sim")))?;
    let simulator = simulator_of(&artifacts).ok_or("cargo reports no library for the simulator")?;
    fs::copy(simulator, directory.join("libcuda.so"))?;
    fs::copy(toolkit.join("lib/libcudart.so.13"), directory.join("libcudart.so.13"))?;
    fs::copy(toolkit.join("lib/libcudart.so.13"), directory.join("libcudart.so"))?;
    for (name, version) in [("cublas", 13), ("curand", 10)] {
        let file = directory.join(format!("lib{name}.so"));
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-O", "-C", "panic=abort"]);
        rustc.arg(place.kept.join(PROGRAM).join(format!("libraries/{name}.rs")));
        rustc.arg("-L").arg(&directory).args(["-l", "dylib=cuda", "-C"]);
        rustc.arg(format!("link-arg=-Wl,-soname,lib{name}.so.{version}")).arg("-o").arg(&file);
        output(&mut rustc)?;
        fs::copy(&file, directory.join(format!("lib{name}.so.{version}")))?;
    }
    for name in UNUSED {
        // An archive without members.
        fs::write(directory.join(format!("lib{name}.a")), "!<arch>\n")?;
    }
    Ok(directory)
}

/// Runs the program once with many replays, with many seeds, and as it must be refused.
fn check(built: &Built, checks: &mut Checks) -> Result<(), TaskError> {
    let (many, few) = REPLAYS;
    let (found, text) = built.run(0, &[many])?;
    print!("{text}");
    checks.that(&format!("{PROGRAM}: {many} replays are bit-identical to eager passes"), found);
    let mut failures = Vec::new();
    for seed in 0..SEEDS {
        if let (Err(why), _) = built.run(seed, &[few])? {
            failures.push(format!("seed {seed}: {why}"));
        }
    }
    let all = if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) };
    checks.that(&format!("{PROGRAM}: {SEEDS} orders, 0 reports"), all);
    let (refused, _) = built.run(0, &["1", "--without-workspace"])?;
    let is_named = refused.is_err_and(|why| why.contains("MemoryNodes"));
    let outcome = if is_named { Ok(()) } else { Err("not refused with MemoryNodes".to_owned()) };
    checks.that(&format!("{PROGRAM} is refused without a workspace for cuBLAS"), outcome);
    Ok(())
}

impl Built {
    /// Runs the program with a seed. Returns its last message if it fails, and what it printed.
    fn run(&self, seed: u32, arguments: &[&str]) -> Result<(Outcome, String), TaskError> {
        let mut run = Command::new(&self.program);
        run.args(arguments).env("CUDA_SIM_SEED", seed.to_string());
        let answer = run.env("LD_LIBRARY_PATH", &self.libraries).stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        if answer.status.success() {
            return Ok((Ok(()), text));
        }
        let complaint = String::from_utf8_lossy(&answer.stderr);
        let last = complaint.lines().next_back().unwrap_or("no message");
        Ok((Err(format!("{}: {last}", answer.status)), text))
    }
}

fn path_with(first: &Path) -> OsString {
    let mut path = OsString::from(first);
    if let Some(others) = env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    path
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PROGRAM;
    use crate::adopt::patch::Patch;

    /// CI does not run the task, so no other test detects a missing file.
    #[test]
    fn the_program_and_its_patch_exist_for_the_same_version() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/adopt");
        let patch = Patch::read(&kept.join("cudarc/allocator.patch")).unwrap();
        assert_eq!(patch.lines().to_string(), "+53 −6");
        let lock = std::fs::read_to_string(kept.join(PROGRAM).join("Cargo.lock")).unwrap();
        for package in
            ["cudarc\"\nversion = \"0.19.10", "candle-transformers\"\nversion = \"0.11.1"]
        {
            assert!(lock.contains(package), "{package}");
        }
        for file in ["src/main.rs", "libraries/cublas.rs", "libraries/curand.rs"] {
            assert!(kept.join(PROGRAM).join(file).is_file(), "{file}");
        }
    }
}
