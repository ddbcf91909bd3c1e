//! Unsuitable machines. If a machine lacks something, the script prints one sentence and returns a
//! specific exit code, instead of a list of failed tests.

use super::machine::{Call, Run};
use super::reports::NOTE;
use super::stage::Stage;
use crate::TaskError;
use crate::gpu_test::Needs;
use tasks::checks::{Checks, Outcome, same, says};

/// The archive whose manifest requires more than any machine has.
const ARCHIVE: &str = "demanding.tar.gz";

pub(super) fn check(stage: &Stage, checks: &mut Checks) -> Result<(), TaskError> {
    let needed = stage.ready.manifest.needs.needs_driver;
    let too_old = run(stage, |_| Ok(()), &[("CUDA_SIM_DRIVER_VERSION", "12000")])?;
    let sentence = format!("the driver is for CUDA 12.0, but the archive needs one for {needed}");
    checks.that("a driver that is too old ends with 4", unsuitable(&too_old, &sentence));

    let as_old = needed.number().to_string();
    let just = run(stage, |_| Ok(()), &[("CUDA_SIM_DRIVER_VERSION", &as_old)])?;
    checks.that("a driver that is barely new enough ends with 0", just.ended_with(0));

    let demanding = |change: fn(&mut Needs) -> Result<(), String>| run(stage, change, &[]);
    let glibc = demanding(|needs| set(&mut needs.needs_glibc))?;
    let sentence = "but the archive needs 99.0 or newer";
    checks.that("a C library that is too old ends with 4", unsuitable(&glibc, sentence));
    let capability = demanding(|needs| set(&mut needs.needs_capability))?;
    let sentence = "the device has compute capability 9.0, but the archive needs 99.0";
    checks.that("a device that is too old ends with 4", unsuitable(&capability, sentence));
    let processor = demanding(|needs| {
        "vax".clone_into(&mut needs.needs_processor);
        Ok(())
    })?;
    let sentence = "the archive was built for vax";
    checks.that("another processor ends with 4", unsuitable(&processor, sentence));
    Ok(())
}

fn set(version: &mut crate::gpu_test::Version) -> Result<(), String> {
    *version = "99.0".to_owned().try_into()?;
    Ok(())
}

/// Runs the archive of a few tests with other requirements.
fn run(
    stage: &Stage,
    change: impl FnOnce(&mut Needs) -> Result<(), String>,
    variables: &[(&str, &str)],
) -> Result<Run, TaskError> {
    let mut contents = stage.ready.contents(stage.few());
    change(&mut contents.manifest.needs)?;
    contents.write(&stage.machine.path(ARCHIVE))?;
    let driver = stage.disguised.display().to_string();
    let arguments = vec!["--simulated-driver", &driver];
    let call = Call { arguments, variables: variables.to_vec() };
    stage.machine.run("a machine that lacks something", ARCHIVE, &call)
}

/// Checks that standard error contains a single line, and that no test has run.
fn unsuitable(run: &Run, sentence: &str) -> Outcome {
    run.ended_with(4)?;
    same(&run.errors.lines().count(), &1).map_err(|why| format!("{why}: {run}"))?;
    says(&run.errors, sentence)?;
    says(&run.errors, NOTE)?;
    let report = run.report()?;
    same(&report["outcome"], &serde_json::Value::from("unsuitable"))?;
    same(&report["passed"], &serde_json::Value::from(0))
}
