//! The steps without any fault: the archive, the script, every test and every report. They also run
//! with cargo-nextest, and with the task that creates the archive.

use std::path::Path;
use std::thread;

use super::machine::{Call, Run};
use super::reports::{Runner, all_passed, junit_is_of, report_is_of, says_that_it_is_simulated};
use super::stage::Stage;
use crate::TaskError;
use crate::gpu_test::Manifest;
use tasks::checks::Checks;
use tasks::programs::cargo;

/// The archive with all tests.
const ARCHIVE: &str = "gpu-tests.tar.gz";

/// Runs everything twice at the same time, each run on one processor: as on a rented machine, and
/// through the task for machines that have cargo.
pub(super) fn check(stage: &Stage, checks: &mut Checks) -> Result<(), TaskError> {
    let archive = stage.machine.path(ARCHIVE);
    stage.ready.contents(stage.ready.packed.clone()).write(&archive)?;
    let read_back = stage.ready.verify(&archive);
    checks.that("the archive is whole", read_back.map(drop).map_err(|error| error.to_string()));

    let manifest = &stage.ready.manifest;
    let (carried, here) = thread::scope(|scope| {
        let here = scope.spawn(|| run_here(stage).map_err(|error| error.to_string()));
        let carried = carried(stage);
        (carried, here.join().unwrap_or_else(|_| Err("its thread panicked".to_owned())))
    });
    let oldest = format!("script on a bare machine, driver {}", manifest.needs.needs_driver);
    of_run(checks, &oldest, &carried?, manifest, Runner::Script);
    of_run(checks, "cargo xtask gpu-test", &here?, manifest, Runner::Script);
    by_nextest(stage, checks)
}

fn of_run(checks: &mut Checks, name: &str, run: &Run, manifest: &Manifest, runner: Runner) {
    let said = |what: &str| format!("{name}: {what}");
    checks.that(&said("every GPU test passes"), all_passed(run, manifest));
    checks.that(&said("its report matches the manifest"), report_is_of(run, manifest, runner));
    checks.that(&said("its JUnit file matches the manifest"), junit_is_of(run, manifest, runner));
    checks.that(&said("it reports that the driver is simulated"), says_that_it_is_simulated(run));
}

/// Runs with the oldest driver that the manifest permits, which shows whether that driver lacks a
/// call.
fn carried(stage: &Stage) -> Result<Run, TaskError> {
    let driver = stage.disguised.display().to_string();
    let version = stage.ready.manifest.needs.needs_driver.number().to_string();
    let arguments = vec!["--simulated-driver", &driver];
    let variables = vec![("CUDA_SIM_DRIVER_VERSION", &*version)];
    stage.machine.run("a bare machine", ARCHIVE, &Call { arguments, variables })
}

/// Starts the task like a person would. The file of this program may have been rebuilt in the
/// meantime.
fn run_here(stage: &Stage) -> Result<Run, TaskError> {
    let out = stage.machine.path("report of cargo xtask gpu-test");
    let mut task = cargo();
    task.args(["xtask", "gpu-test", "--simulated-driver"]).arg(&stage.disguised);
    task.arg("--out").arg(&out).current_dir(&stage.ready.place.root);
    if !stage.for_devices {
        task.arg("--built-as-tests");
    }
    Ok(Run::of(&task.output()?, out))
}

/// Runs with cargo-nextest: only a few tests, or all programs if they were built for devices.
fn by_nextest(stage: &Stage, checks: &mut Checks) -> Result<(), TaskError> {
    let programs = if stage.for_devices { stage.ready.packed.clone() } else { stage.few() };
    let contents = stage.ready.contents(programs);
    let archive = Path::new("with-nextest").join(ARCHIVE);
    contents.write(&stage.machine.path("").join(&archive))?;
    if !stage.machine.put_nextest("with-nextest")? {
        checks.skip("cargo-nextest on a bare machine", "cargo-nextest is not installed");
        return Ok(());
    }
    let driver = stage.disguised.display().to_string();
    let call = Call { arguments: vec!["--simulated-driver", &driver], variables: Vec::new() };
    let archive = archive.display().to_string();
    let run = stage.machine.run("cargo-nextest", &archive, &call)?;
    let name = "cargo-nextest on a bare machine";
    of_run(checks, name, &run, &contents.manifest, Runner::Nextest);
    let used = run.report().and_then(|report| {
        tasks::checks::same(&report["runner"], &serde_json::Value::from("cargo-nextest"))
    });
    checks.that(&format!("{name}: it was used"), used);
    Ok(())
}
