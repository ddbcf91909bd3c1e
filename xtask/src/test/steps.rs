//! The steps of `cargo xtask test`. The steps that share a build directory run in the listed order,
//! the fastest first. The other steps run at the same time, the longest first.
//!
//! A step plans its cargo commands from the [`Setting`], or returns the reason why it cannot run.
//! If it plans commands, all of them run.

use super::features::{
    ALL_FEATURES, CLIPPY_SETS, CLIPPY_SETS_IN_FULL, CRATES_OF_THREADS, LIBRARIES, MIRI_CORE,
    MIRI_CRATES, MSRV_EXEMPT, NO_STD_SETS, RELEASE_TESTED, STACKED_BORROWS_CRATES,
    TREE_BORROWS_CRATES, WITH_PLAIN_DEFAULTS, WITH_WGPU, all_features_of, belongs,
};
use super::setting::Setting;
use crate::web::find_chromium;

use tasks::programs::installed;
use tasks::steps::shared::{imports, links, words};
use tasks::steps::{Invocation, Step};
use tasks::workspace::Example;

/// All steps.
pub(crate) const STEPS: &[Step<Setting>] = &[
    Step::in_turn("formatting", "rustfmt changes nothing", formatting),
    Step::in_turn("clippy", "no warnings in any listed feature set", clippy),
    Step::in_turn("documentation", "no rustdoc warnings and no broken links", documentation),
    Step::in_turn("links", "all links in the documents resolve", links),
    Step::in_turn("words", "comments and documents follow docs/writing.md", words),
    Step::in_turn("imports", "no import cycles, and no imports outside the layering", imports),
    Step::in_turn(
        "document-tests",
        "documents match the code: dependencies, features, comparison",
        document_tests,
    ),
    Step::in_turn(
        "tests",
        "unit and integration tests, with all features and with the default ones",
        tests,
    ),
    Step::in_turn(
        "kernels",
        "the committed PTX matches the CUDA sources and stays within its budget",
        kernels,
    ),
    Step::in_turn("simulated-driver", "tests on the simulated CUDA driver", simulated_driver),
    Step::in_turn("gpu-archive", "the GPU test archive, its script, and its reports", gpu_archive),
    Step::in_turn(
        "interleavings",
        "loom runs graph memory and releases in every order of their threads",
        interleavings,
    ),
    Step::in_turn(
        "release-tests",
        "unit and integration tests without overflow checks",
        release_tests,
    ),
    Step::in_turn("assembly", "an acquire compiles to a few instructions", assembly),
    Step::in_turn("examples", "all examples run to completion", examples),
    // These steps run at the same time as the others, one for each core. Miri uses one core, and
    // building a few crates that depend on each other uses little more. The longest steps come
    // first, so that short ones fill the remaining time. Steps that wait for cargo's lock on the
    // build directory come last, when the steps above have finished.
    Step::beside(
        "miri-stacked-borrows-core",
        "no undefined behaviour in pool-core under Stacked Borrows",
        miri_stacked_core,
    ),
    Step::beside(
        "miri-stacked-borrows-pools",
        "no undefined behaviour in the pools of host memory under Stacked Borrows",
        miri_stacked_pools,
    ),
    Step::beside("miri-tree-borrows", "no undefined behaviour under Tree Borrows", miri_tree),
    Step::beside("miri-32-bit", "no undefined behaviour on i686", miri_32_bit).in_full(),
    Step::beside("thread-sanitizer", "no data races in native code", thread_sanitizer),
    Step::beside(
        "address-sanitizer",
        "no invalid accesses and no leaks in native code",
        address_sanitizer,
    ),
    Step::beside(
        "nightly-doc-tests",
        "the error codes of code that must not compile",
        nightly_doc_tests,
    ),
    Step::beside("browser", "the test suites and the page of example 19 in Chromium", browser),
    Step::beside("sim", "all checks of the simulator's workspace", sim),
    Step::beside("planner", "all checks of the planner's workspace", planner),
    Step::beside("adopt", "other projects' crates give the same results with a pool", adopt),
    Step::beside(
        "dlpack",
        "numpy exchanges arrays with a pool without copies; with --full, torch does too",
        dlpack,
    ),
    Step::beside("no-std", "pool-core and pool-cpu build without an operating system", no_std),
    Step::beside("oldest-rust", "the libraries build with the oldest supported Rust", oldest_rust),
    Step::beside(
        "oldest-rust-for-devices",
        "the device libraries build with the oldest Rust that each one supports",
        oldest_rust_for_devices,
    )
    .in_full(),
    Step::beside(
        "cuda-versions",
        "the CUDA crates build with the cudarc features that other crates request",
        cuda_versions,
    ),
    Step::beside("packages", "the published packages build in a user's crate", packages_alone),
    Step::beside(
        "published-pages",
        "no warnings in the documentation as docs.rs builds it",
        published_pages,
    ),
    Step::beside("semver", "the version numbers match the changes since the last release", semver),
    Step::beside("doc-tests", "documentation examples, and code that must not compile", doc_tests),
    Step::in_turn(
        "driver-versions",
        "drivers and bindings for other CUDA versions",
        driver_versions,
    )
    .in_full(),
    Step::in_turn(
        "simulator-sanitizers",
        "no invalid accesses and no data races in the simulated driver",
        simulator_sanitizers,
    )
    .in_full(),
    Step::in_turn("cookbook", "the recipes in docs/cookbook.md", cookbook).in_full(),
    Step::in_turn(
        "web",
        "the facade builds for WebAssembly, and the wgpu pools build for other systems",
        web,
    )
    .in_full(),
];

/// The sanitizers run on the target that rustc has supported longest.
const SANITIZED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// The arguments for graph memory without CUDA, which only computes addresses.
const GRAPH_WITHOUT_CUDA: [&str; 3] = ["--package", "pool-graph", "--no-default-features"];

fn formatting(_: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::check("fmt --all --check")])
}

fn clippy(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let deny = ["--", "-D", "warnings"];
    let lint = || Invocation::check("clippy --all-targets");
    let whole = lint().with(["--workspace"]).with(everything()).with(deny);
    let in_full = if setting.full { CLIPPY_SETS_IN_FULL } else { &[] };
    let sets = CLIPPY_SETS.iter().chain(in_full).map(|set| lint().with(set.arguments()).with(deny));
    Ok(sets.chain([whole]).collect())
}

fn documentation(_: &Setting) -> Result<Vec<Invocation>, String> {
    let document = Invocation::check("doc --workspace --no-deps --document-private-items");
    Ok(vec![document.with(everything()).variable("RUSTDOCFLAGS", "-D warnings")])
}

/// Runs the unit tests that read documents. If only a document has changed, no other code tests
/// run.
fn document_tests(_: &Setting) -> Result<Vec<Invocation>, String> {
    let tasks = Invocation::tests("test --package xtask --bins --");
    let tasks = tasks.with([
        "every_dependency_has_a_reason",
        "every_feature_stands_on_the_pages",
        "each_row_of_the_comparison_has_its_tests",
    ]);
    Ok(vec![tasks])
}

/// Runs the task on the smallest crate. With `--full`, it runs on all crates, which takes as long
/// as the crates' tests. If the registry cannot be reached, the task prints this and counts it.
fn adopt(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let adopt = Invocation::counted_task("xtask adopt");
    let adopt = if setting.full { adopt } else { adopt.with(["--only-small"]) };
    let captured =
        setting.full.then(|| Invocation::counted_task("xtask adopt").with(["--captured"]));
    let measure = Invocation::tests("test --manifest-path testing/adopt/measure/Cargo.toml");
    let directory = setting.own_target_directory("adopt/build");
    let measure = measure.variable("CARGO_TARGET_DIR", directory);
    Ok([adopt, measure].into_iter().chain(captured).collect())
}

/// If Python or its packages are not available, the task prints this and counts it.
fn dlpack(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let check = Invocation::counted_task("xtask dlpack");
    Ok(vec![if setting.full { check.with(["--full"]) } else { check }])
}

fn packages_alone(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let check = Invocation::counted_task("xtask packages");
    Ok(vec![if setting.full { check.with(["--full"]) } else { check }])
}

/// Compares the API with the last tag, if `cargo semver-checks` is installed.
fn semver(setting: &Setting) -> Result<Vec<Invocation>, String> {
    installed("cargo-semver-checks").ok_or("cargo-semver-checks is not installed")?;
    let tag = setting.last_release()?;
    let check = Invocation::check("semver-checks --baseline-rev").with([tag]);
    Ok(vec![check.with(packages(LIBRARIES))])
}

/// The documentation shows which features an item needs. Only nightly compilers support this.
fn published_pages(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&[])?;
    let document = Invocation::check("doc --no-deps --lib").on(&nightly);
    let document = document.with(of_libraries(setting));
    let directory = setting.own_target_directory("docs-rs");
    let unstable = Invocation::check("check --package pool-core --features nightly").on(&nightly);
    let [document, unstable] =
        [document, unstable].map(|step| step.variable("CARGO_TARGET_DIR", directory.clone()));
    Ok(vec![document.variable("RUSTDOCFLAGS", "--cfg docsrs -D warnings"), unstable])
}

/// Runs all tests except the example programs, because linking them takes longer than running their
/// tests. clippy compiles them, and the `examples` step runs them.
fn tests(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let whole = Invocation::tests("test --workspace --lib --bins --tests --benches --no-fail-fast");
    let whole = whole.variable("POOL_ENCODER_STRIDE", setting.encoder_stride());
    let plain =
        Invocation::tests("test --lib --tests --no-fail-fast").with(packages(WITH_PLAIN_DEFAULTS));
    let mut commands = vec![whole.with(everything()), plain];
    if setting.full {
        commands.push(wgpu_under_layers());
    }
    let with_cases = |command: Invocation| command.variable("POOL_TEST_CASES", setting.cases());
    Ok(commands.into_iter().map(with_cases).collect())
}

/// Runs the suite of `pool-wgpu` under Khronos' validation layers. They crash at times if several
/// threads use devices, so it runs on one thread.
fn wgpu_under_layers() -> Invocation {
    let test = Invocation::tests("test --test suite --no-fail-fast").with(packages(&["pool-wgpu"]));
    test.with(["--", "--test-threads=1"]).variable("POOL_VULKAN_LAYERS", "1")
}

/// The simulator replaces the driver through the name in its file, which other dynamic loaders
/// ignore.
fn simulated_driver(setting: &Setting) -> Result<Vec<Invocation>, String> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err("only the GNU loader on Linux loads the simulated driver".to_owned());
    }
    let test = Invocation::counted_task("xtask sim-test --workspace --patience");
    let test = test.with([setting.patience()]);
    // The attacks run with many seeds, and each seed uses other random programs.
    let attacks = test.clone().with(["--package", "device-tests", "--seeds"]);
    let attacks = attacks.with([Setting::seeds_in_full()]);
    let attacks = attacks.variable("POOL_SIM_ORDERS", Setting::orders_of_a_seed());
    let test = test.variable("POOL_SIM_ORDERS", setting.orders());
    let test = test.variable("POOL_ATTACK_STEPS", setting.attack_steps());
    let test = test.variable("POOL_GRAPH_CAPTURES", setting.captures());
    let test = test.variable("POOL_KERNEL_CASES", setting.kernel_cases());
    let test = test.variable("POOL_ENCODER_REPLAYS", setting.encoder_replays());
    let test = test.variable("POOL_ENCODER_LONG_REPLAYS", setting.encoder_long_replays());
    Ok(if setting.full {
        let test = test.variable("POOL_SWEEP_PROGRAMS", Setting::sweep_programs_in_full());
        [vec![test, attacks], under_other_answers()].concat()
    } else {
        vec![test]
    })
}

/// Tests whose result must not depend on choices that NVIDIA's documentation leaves open. They run
/// with the opposite choices.
fn under_other_answers() -> Vec<Invocation> {
    let run = Invocation::counted_task("xtask sim-test --package device-tests");
    vec![run.variable("CUDA_SIM_OTHER_ANSWERS", "1")]
}

/// Packs what the preceding tests have built. With `--full`, programs built for devices are also
/// packed.
fn gpu_archive(setting: &Setting) -> Result<Vec<Invocation>, String> {
    simulated_driver(setting)?;
    let as_tests = Invocation::counted_task("xtask gpu-archive");
    let for_devices = as_tests.clone().with(["--for-devices"]);
    Ok(if setting.full { vec![as_tests, for_devices] } else { vec![as_tests] })
}

/// If the compilers are not available, the task prints this and counts it.
fn kernels(_: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(vec![Invocation::counted_task("xtask kernels --check")])
}

/// Uses its own build directory, because everything is built with `cfg(loom)`.
fn interleavings(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let test = Invocation::tests("test --test interleavings");
    let directory = setting.own_target_directory("loom");
    let test = test.variable("RUSTFLAGS", "--cfg loom").variable("CARGO_TARGET_DIR", directory);
    // The tests run for a second, so most of the time goes into building them.
    let test = test.variable("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    let lists = test.clone().with(["--package", "pool-core"]);
    Ok(vec![lists, test.with(GRAPH_WITHOUT_CUDA)])
}

fn simulator_sanitizers(setting: &Setting) -> Result<Vec<Invocation>, String> {
    simulated_driver(setting)?;
    if !cfg!(target_arch = "x86_64") {
        return Err(format!("sanitizers run only on {SANITIZED_TARGET}"));
    }
    setting.toolchains.nightly_with(&["rust-src"])?;
    let test = Invocation::counted_task("xtask sim-test --patience").with([setting.patience()]);
    let run = |name| test.clone().with(["--sanitizer", name]);
    Ok(["address", "thread"].map(run).into())
}

/// Without `--full`, nothing is optimised, because optimisation takes most of a release build's
/// time. The tests check that lengths are correct without overflow checks.
fn release_tests(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let test = Invocation::tests("test --release --lib --tests --no-fail-fast");
    let test = test.with(packages(RELEASE_TESTED)).variable("POOL_TEST_CASES", setting.cases());
    if !setting.full {
        let directory = setting.own_target_directory("unchecked");
        let test = test.variable("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        return Ok(vec![test.variable("CARGO_TARGET_DIR", directory)]);
    }
    let large = Invocation::tests("test --release --test large_graphs").with(GRAPH_WITHOUT_CUDA);
    let large = large.variable("POOL_VERIFIED_NODES", Setting::verified_nodes_in_full());
    // The verifier's run time is only meaningful in an optimised build.
    Ok(vec![test, large])
}

fn assembly(_: &Setting) -> Result<Vec<Invocation>, String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("instructions are counted only on x86_64".to_owned());
    }
    Ok(vec![Invocation::check("xtask assembly")])
}

/// Runs the examples as the tests are built, because building takes longer than running. With
/// `--full`, the host examples are built like a user's program. Examples that need a device have
/// all features of their crate, so they run on each available device.
fn examples(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let run = |example: Example<'_>| {
        let is_plain = example.required_features.is_empty();
        let run = Invocation::check(if is_plain && setting.full { "run --release" } else { "run" });
        let run = run.with(["--package", example.package, "--example", example.name]);
        let features = || all_features_of(example.package).join(",");
        if is_plain && setting.full { run } else { run.with(["--features".to_owned(), features()]) }
    };
    Ok(setting.workspace.examples().map(run).collect())
}

fn doc_tests(_: &Setting) -> Result<Vec<Invocation>, String> {
    let test = Invocation::tests("test --workspace --doc --no-fail-fast");
    Ok(vec![test.with(everything())])
}

fn nightly_doc_tests(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&[])?;
    let test = Invocation::tests("test --doc --no-fail-fast").on(&nightly);
    Ok(vec![test.with(of_libraries(setting))])
}

/// Targets without an operating system: a server processor, and a 32-bit microcontroller without
/// 64-bit atomics.
const NO_STD_TARGETS: &[&str] = &["x86_64-unknown-none", "thumbv7em-none-eabihf"];

/// Another microcontroller of this kind, which is only checked with `--full`.
const NO_STD_TARGETS_IN_FULL: &[&str] = &["riscv32imac-unknown-none-elf"];

fn no_std(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&["rust-src"])?;
    // A check is sufficient to find what a target lacks, such as an atomic type. No code is
    // generated.
    let check = |target| {
        let check = Invocation::check("check -Z build-std=core,alloc").on(&nightly);
        check.with(["--target", target])
    };
    let sets = |target| NO_STD_SETS.iter().map(move |set| check(target).with(set.arguments()));
    let in_full = if setting.full { NO_STD_TARGETS_IN_FULL } else { &[] };
    Ok(NO_STD_TARGETS.iter().chain(in_full).copied().flat_map(sets).collect())
}

fn oldest_rust(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let toolchain = setting.toolchains.release(setting.oldest_rust)?;
    let check = Invocation::check("check").on(&toolchain);
    let old: Vec<&str> =
        LIBRARIES.iter().filter(|name| !MSRV_EXEMPT.contains(name)).copied().collect();
    let with_features = check.clone().with(old_features_in(&old));
    Ok(vec![check.with(packages(&old)), with_features])
}

/// Checks the crates in [`MSRV_EXEMPT`], each with the compiler version in its manifest.
fn oldest_rust_for_devices(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let check = |name: &str| {
        let oldest = setting.workspace.oldest_rust_of(name);
        let oldest = oldest.ok_or_else(|| format!("{name} does not declare its oldest Rust"))?;
        let toolchain = setting.toolchains.release(oldest)?;
        Ok(Invocation::check("check").on(&toolchain).with(everything_in(&[name])))
    };
    MSRV_EXEMPT.iter().filter(|name| LIBRARIES.contains(name)).map(|name| check(name)).collect()
}

fn cuda_versions(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let check = Invocation::counted_task("xtask cuda-versions");
    Ok(vec![if setting.full { check.with(["--full"]) } else { check }])
}

/// Pairs of CUDA versions: the version of the bindings with which tests are built, and the version
/// of the simulated driver. The first version is the oldest that supports graphs. On the oldest
/// driver of all, graph tests are skipped. The newest version is the newest that the locked cudarc
/// supports. Other steps use the workspace's own versions.
const VERSIONS: &[(&str, &str)] = &[
    ("12030", "12030"),
    ("12030", "12000"),
    ("12030", "13040"),
    ("12080", "12080"),
    ("13040", "13040"),
];

fn driver_versions(setting: &Setting) -> Result<Vec<Invocation>, String> {
    simulated_driver(setting)?;
    let directory = setting.own_target_directory("driver-versions");
    let run = |&(bindings, driver): &(&str, &str)| {
        let test = Invocation::counted_task("xtask sim-test --package device-tests --patience");
        let test = test.with([setting.patience()]).with(["--driver-version", driver]);
        let test = test.variable("CUDARC_CUDA_VERSION", bindings);
        test.variable("CARGO_TARGET_DIR", directory.as_str())
    };
    Ok(VERSIONS.iter().map(run).collect())
}

/// Runs the planner's workspace with its own tasks. Its counts are included in the last line.
fn planner(setting: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(workspace("planner", setting))
}

/// Runs the simulator's workspace with its own tasks.
fn sim(setting: &Setting) -> Result<Vec<Invocation>, String> {
    Ok(workspace("sim", setting))
}

/// Runs all checks of the workspace in a directory.
fn workspace(directory: &'static str, setting: &Setting) -> Vec<Invocation> {
    let test = Invocation::counted_task("xtask test").inside(directory);
    let test = match &setting.changed_since {
        Some(revision) => test.with(["--changed-since", revision]),
        None => test,
    };
    vec![if setting.full { test.with(["--full"]) } else { test }]
}

/// The cookbook has its own workspace because of its dependencies.
fn cookbook(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let manifest = ["--manifest-path", "testing/cookbook/Cargo.toml"];
    let format = Invocation::check("fmt --check").with(manifest);
    let test = Invocation::tests("test --locked --no-fail-fast").with(manifest);
    let test = test.variable("CARGO_TARGET_DIR", setting.own_target_directory("cookbook"));
    Ok(vec![format, test])
}

/// A check is sufficient to find what a target lacks. No code is generated. Clippy also checks the
/// browser's programs, including the examples that measure the size of a download.
fn web(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&["rust-src"])?;
    setting.toolchains.target("wasm32-unknown-unknown")?;
    let check = |target, package| {
        let check = Invocation::check("check -Z build-std=std,panic_abort").on(&nightly);
        check.with(["--target", target, "--package", package])
    };
    let browser = |set| check("wasm32-unknown-unknown", "pool-facade").with(["--features", set]);
    // These systems use Metal and Direct3D 12.
    let systems = ["aarch64-apple-darwin", "x86_64-pc-windows-msvc"];
    let systems = systems.map(|target| check(target, "pool-wgpu"));
    let lint = Invocation::check("clippy --lib --examples --target wasm32-unknown-unknown");
    let lint = lint.with(["--package", "pool-wgpu", "--package", "pool-browser"]);
    let checks = ["ndarray,half,complex", "wgpu"].map(browser).into_iter().chain(systems);
    Ok(checks.chain([lint.with(["--", "-D", "warnings"])]).collect())
}

/// Runs the tests in Chromium, which computes WebGPU on the processor.
fn browser(setting: &Setting) -> Result<Vec<Invocation>, String> {
    find_chromium()?;
    setting.toolchains.nightly_with(&["rust-src"])?;
    setting.toolchains.target("wasm32-unknown-unknown")?;
    Ok(vec![Invocation::counted_task("xtask web --test")])
}

/// Runs the tests of `pool-core`, which take half of Miri's time. The tests of the other crates are
/// a step of their own, so that two cores share this time.
fn miri_stacked_core(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let core = miri(setting, ALL_TESTS, "")?.with(old_features_in(&[MIRI_CORE]));
    Ok(vec![if setting.full { core } else { core.with(SECOND_RUNS_UNDER_MIRI) }])
}

fn miri_stacked_pools(setting: &Setting) -> Result<Vec<Invocation>, String> {
    if setting.full {
        let pools: Vec<&str> =
            MIRI_CRATES.iter().copied().filter(|&name| name != MIRI_CORE).collect();
        // Tests of numbers and texts give the same results natively.
        let natively = ["--", "--skip", "plans::", "--skip", "reports::"];
        let graph_memory = miri(setting, ALL_TESTS, "")?.with(GRAPH_WITHOUT_CUDA).with(natively);
        return Ok(vec![miri(setting, ALL_TESTS, "")?.with(old_features_in(&pools)), graph_memory]);
    }
    // Without CUDA, graph memory consists of numbers, and the crate never accesses memory through
    // them. Only the tests with hooks of the allocator use real memory in the middle of a call.
    let hooks = miri(setting, "--test hooks", "")?.with(GRAPH_WITHOUT_CUDA);
    let pools = miri(setting, ALL_TESTS, "")?.with(old_features_in(STACKED_BORROWS_CRATES));
    Ok(vec![pools.with(SECOND_RUNS_UNDER_MIRI), hooks])
}

/// Tests that Miri only runs with `--full`, because another test runs the same code under Miri.
/// They are the modules of the slot tests that use stacks, lengths near `usize::MAX`, which are
/// refused before memory is used, and the forms of the facade's macros. Miri runs the stacks' own
/// tests and random programs, and the tests of guards in any order.
const SECOND_RUNS_UNDER_MIRI: [&str; 7] =
    ["--", "--skip", "over_stacks::", "--skip", "lengths_near", "--skip", "macro_forms::"];

/// Runs other random programs than under Stacked Borrows. Slow tests that repeat calls of these
/// programs only run under both models with `--full`.
fn miri_tree(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let miri = miri(setting, ALL_TESTS, " -Zmiri-tree-borrows")?.variable("POOL_TEST_SEED", "1");
    let crates = if setting.full { MIRI_CRATES } else { TREE_BORROWS_CRATES };
    let miri = miri.with(old_features_in(crates));
    let skipped = ["--", "--skip", "conformance::cpu_passes_every_case", "--skip", "lengths_near"];
    Ok(vec![if setting.full { miri } else { miri.with(skipped) }])
}

fn miri_32_bit(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let miri = miri(setting, ALL_TESTS, "")?.with(["--target", "i686-unknown-linux-gnu"]);
    Ok(vec![miri.with(packages(&["pool-core"]))])
}

/// The unit tests and the integration tests.
const ALL_TESTS: &str = "--lib --test *";

/// Requires strict provenance, and treats alignment that only occurs by chance as an error.
///
/// The tests of the examples are left out. They check results, whose last bits Miri varies, and
/// take minutes under Miri.
fn miri(setting: &Setting, tests: &str, more_flags: &str) -> Result<Invocation, String> {
    let nightly = setting.toolchains.nightly_with(&["miri", "rust-src"])?;
    // Miri only shows a program the environment variables that are listed.
    let flags = "-Zmiri-strict-provenance -Zmiri-symbolic-alignment-check \
                 -Zmiri-env-forward=POOL_TEST_CASES -Zmiri-env-forward=POOL_TEST_SEED";
    Ok(Invocation::tests("miri test --no-fail-fast")
        .with(tests.split(' '))
        .on(&nightly)
        .variable("MIRIFLAGS", format!("{flags}{more_flags}"))
        // For each planned panic, printing a trace takes Miri several seconds.
        .variable("RUST_BACKTRACE", "0")
        .variable("POOL_TEST_CASES", setting.cases_under_miri()))
}

/// Leaves out the backends that are incorrect on purpose, because some of them leak.
fn address_sanitizer(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&[])?;
    let test = sanitized(setting, "address", "test --lib --tests")?.on(&nightly);
    let test =
        test.with(old_features_in(MIRI_CRATES)).with(["--", "--skip", "every_faulty_backend"]);
    Ok(vec![test.variable("ASAN_OPTIONS", "detect_leaks=1")])
}

/// The standard library is built with the sanitizer, because uninstrumented threads and locks look
/// like races and rustc refuses to mix both. The examples are left out: rayon's queues use fences,
/// which the sanitizer does not know and reports. Crates whose pools have no owning thread only run
/// with `--full`, because few of their tests use a second thread.
fn thread_sanitizer(setting: &Setting) -> Result<Vec<Invocation>, String> {
    let nightly = setting.toolchains.nightly_with(&["rust-src"])?;
    let test = sanitized(setting, "thread", "test --lib --test *")?.on(&nightly);
    let test = test.with(["-Z", "build-std"]);
    let graph_memory = test.clone().with(GRAPH_WITHOUT_CUDA).with(["--", "shared_cases::"]);
    if setting.full {
        return Ok(vec![test.with(old_features_in(MIRI_CRATES)), graph_memory]);
    }
    let of_threads = test.with(old_features_in(CRATES_OF_THREADS));
    Ok(vec![of_threads, graph_memory])
}

fn sanitized(setting: &Setting, sanitizer: &str, words: &str) -> Result<Invocation, String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err(format!("sanitizers run only on {SANITIZED_TARGET}"));
    }
    // Both sanitizers share a directory, so what runs on the host during the build is built once.
    let directory = setting.own_target_directory("sanitizers");
    Ok(Invocation::tests(words)
        .with(["--no-fail-fast", "--target", SANITIZED_TARGET])
        .variable("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"))
        .variable("CARGO_TARGET_DIR", directory)
        .variable("POOL_TEST_CASES", setting.cases_under_sanitizers()))
}

fn packages(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| ["--package".to_owned(), (*name).to_owned()]).collect()
}

/// Returns arguments for these packages with all their compatible features.
fn everything_in(names: &[&str]) -> Vec<String> {
    let of_these = |feature: &&&str| names.iter().any(|name| belongs(feature, name));
    let features: Vec<&str> = ALL_FEATURES.iter().filter(of_these).copied().collect();
    let features = ["--features".to_owned(), features.join(",")];
    packages(names).into_iter().chain(features).collect()
}

/// Returns arguments for the libraries with all their features. Those in [`WITH_WGPU`] are only
/// included with `--full`.
fn of_libraries(setting: &Setting) -> Vec<String> {
    let left_out = if setting.full { &[] } else { WITH_WGPU };
    let names: Vec<&str> =
        LIBRARIES.iter().filter(|name| !left_out.contains(name)).copied().collect();
    everything_but(left_out, &names)
}

/// Returns arguments for these packages with all their features except those in [`MSRV_EXEMPT`].
fn old_features_in(names: &[&str]) -> Vec<String> {
    everything_but(MSRV_EXEMPT, names)
}

/// Returns arguments for these packages with all their features except `left_out`.
fn everything_but(left_out: &[&str], names: &[&str]) -> Vec<String> {
    let mut arguments = everything_in(names);
    if let Some(features) = arguments.last_mut() {
        let kept = features.split(',').filter(|feature| !left_out.contains(feature));
        *features = kept.collect::<Vec<_>>().join(",");
    }
    arguments
}

fn everything() -> [String; 2] {
    ["--features".to_owned(), ALL_FEATURES.join(",")]
}

#[cfg(test)]
mod tests {
    use super::STEPS;

    #[test]
    fn names_are_unique() {
        for step in STEPS {
            assert_eq!(STEPS.iter().filter(|other| other.name == step.name).count(), 1);
        }
    }

    #[test]
    fn the_first_and_the_last_step_share_the_build_directory() {
        let [first, .., last] = STEPS else { panic!("there are steps") };
        assert!(!first.side_by_side && !last.side_by_side);
    }
}
