//! Runs that must fail: a failing test, a missing test, a damaged archive, no driver, and a
//! simulated driver that was not requested.

use std::path::Path;
use std::process::Command;

use super::disguise::{Disguised, Signs, replace};
use super::machine::{Call, Run};
use super::reports::NOTE;
use super::stage::Stage;
use crate::TaskError;
use crate::gpu_test::{Packed, Purpose, sha256};
use tasks::checks::{Checks, Outcome, says};

/// The name of an archive with only a few tests.
const ARCHIVE: &str = "few.tar.gz";
/// The start of each kernel in its text, and a replacement that no driver accepts.
const KERNEL: (&[u8], &[u8]) = (b".visible .entry", b".visible .entrx");

pub(super) fn check(stage: &Stage, checks: &mut Checks) -> Result<(), TaskError> {
    let few = stage.ready.contents(stage.few());
    few.write(&stage.machine.path(ARCHIVE))?;
    checks.that("a planted failure ends with 1", planted_failure(stage)?);
    checks.that("a missing test ends with 2", missing_test(stage)?);
    for (name, cut) in [("half an archive", 2), ("an archive without its last bytes", 1)] {
        checks.that(&format!("{name} ends with 2"), truncated(stage, cut)?);
    }
    checks.that("a changed program ends with 2", changed_program(stage)?);
    checks.that("a missing driver ends with 3", without_driver(stage, &[], 3)?);
    let allowed = without_driver(stage, &["--allow-no-gpu"], 0)?;
    checks.that("a missing driver that is allowed ends with 0 and no passed tests", allowed);
    simulators(stage, checks)?;
    checks.that("a misspelled or incomplete switch ends with 2", switch_in_part(stage)?);
    Ok(())
}

/// Runs the archive of a few tests, or another archive, with the driver in this file.
fn on_driver(stage: &Stage, name: &str, archive: &str, driver: &Path) -> Result<Run, TaskError> {
    let driver = driver.display().to_string();
    let arguments = vec!["--simulated-driver", &driver];
    stage.machine.run(name, archive, &Call { arguments, variables: Vec::new() })
}

/// Damages the kernels so that no driver accepts them. Tests in the real programs must fail.
fn planted_failure(stage: &Stage) -> Result<Outcome, TaskError> {
    let of_kernels = |one: &Packed| one.program.package.ends_with("pool-kernels");
    let mut programs = stage.some(|one| one.program.purpose == Purpose::Probe || of_kernels(one));
    for one in programs.iter_mut().filter(|one| of_kernels(one)) {
        replace(&mut one.bytes, KERNEL.0, KERNEL.1)?;
        one.sha256 = sha256(&one.bytes);
    }
    stage.ready.contents(programs).write(&stage.machine.path("failing.tar.gz"))?;
    let run = on_driver(stage, "a planted failure", "failing.tar.gz", &stage.disguised)?;
    Ok(run.ended_with(1).and_then(|()| {
        let failed = run.report()?["failed"].as_u64();
        says(&run.errors, &format!("failed{NOTE}"))?;
        match failed {
            Some(1..) => says(&run.file("junit.xml")?, "<failure"),
            _ => Err(format!("the report counts {failed:?} failures")),
        }
    }))
}

/// Adds a test to the manifest that no program in the archive contains.
fn missing_test(stage: &Stage) -> Result<Outcome, TaskError> {
    let mut contents = stage.ready.contents(stage.few());
    contents.manifest.gpu_tests += 1;
    contents.write(&stage.machine.path("missing.tar.gz"))?;
    let run = on_driver(stage, "a missing test", "missing.tar.gz", &stage.disguised)?;
    let counted = contents.manifest.gpu_tests;
    Ok(run.ended_with(2).and_then(|()| {
        let why = format!("{} tests ran, but the manifest counts {counted}{NOTE}", counted - 1);
        says(&run.errors, &why)
    }))
}

/// Cuts off half of the archive, or only its last bytes.
fn truncated(stage: &Stage, part: usize) -> Result<Outcome, TaskError> {
    let whole = std::fs::read(stage.machine.path(ARCHIVE))?;
    let end = if part == 1 { whole.len() - 4 } else { whole.len() / part };
    stage.machine.put("truncated.tar.gz", &whole[..end])?;
    let run = on_driver(stage, "a truncated archive", "truncated.tar.gz", &stage.disguised)?;
    Ok(run.ended_with(2).and_then(|()| says(&run.errors, "cannot be unpacked: it is damaged")))
}

/// Repeats the fault of the first archives: a program differs from the program that was hashed.
fn changed_program(stage: &Stage) -> Result<Outcome, TaskError> {
    let mut contents = stage.ready.contents(stage.few());
    let changed = contents.programs.last_mut().ok_or("there is no program")?;
    changed.bytes.push(0);
    let path = changed.program.path.display().to_string();
    let file = stage.machine.path("changed.tar.gz");
    contents.write(&file)?;
    let run = on_driver(stage, "a changed program", "changed.tar.gz", &stage.disguised)?;
    let noticed = stage.ready.verify(&file).err().map(|error| error.to_string());
    Ok(run
        .ended_with(2)
        .and_then(|()| says(&run.errors, &format!("the sum of {path} is")))
        .and_then(|()| says(&noticed.unwrap_or_default(), &format!("{path} has the sum"))))
}

/// Runs without a driver. If the machine has a driver, its devices are hidden.
fn without_driver(stage: &Stage, arguments: &[&str], code: i32) -> Result<Outcome, TaskError> {
    let call =
        Call { arguments: arguments.to_vec(), variables: vec![("CUDA_VISIBLE_DEVICES", "")] };
    let run = stage.machine.run("no driver", ARCHIVE, &call)?;
    Ok(run.ended_with(code).and_then(|()| nothing_ran(&run)))
}

fn nothing_ran(run: &Run) -> Outcome {
    let report = run.report()?;
    tasks::checks::same(&report["passed"], &serde_json::Value::from(0))?;
    says(&report["outcome"].to_string(), "no GPU")
}

/// Checks that each sign is sufficient, and that all of them together are, with and without the
/// switch.
fn simulators(stage: &Stage, checks: &mut Checks) -> Result<(), TaskError> {
    let all = Signs { symbol: true, device_name: true };
    let symbol = Signs { symbol: true, device_name: false };
    let device_name = Signs { symbol: false, device_name: true };
    let file = "libcuda_sim.so";
    let kinds = [
        ("as it is", all, file, "simulated driver, not hardware"),
        ("under the name libcuda.so.1", all, "libcuda.so.1", "it exports simcuda_is_simulator"),
        ("with only its symbol", symbol, "libcuda.so.1", "it exports simcuda_is_simulator"),
        ("with only its device's name", device_name, "libcuda.so.1", "its device is a Simulated"),
        ("with only its file's name", Signs::NONE, file, "the name of its file identifies it"),
    ];
    for (name, signs, file, sentence) in kinds {
        let refused = refused_as_a_driver(stage, name, signs, file, sentence)?;
        checks.that(&format!("the simulated driver {name} does not count as a GPU"), refused);
    }
    let (signs, sentence) = (Signs::NONE, "a Disguised device is not hardware");
    let refused = refused_as_a_driver(stage, "disguised", signs, "libcuda.so.1", sentence)?;
    checks
        .that("the disguised simulated driver does not count as a GPU without the switch", refused);
    let plain = stage.machine.put("plain-driver.so", &stage.plain)?;
    let run = on_driver(stage, "an undisguised one", ARCHIVE, &plain)?;
    let refused = run.ended_with(3).and_then(|()| says(&run.errors, "not hardware"));
    checks
        .that("the undisguised simulated driver does not count as a GPU with the switch", refused);
    Ok(())
}

/// Checks that a library is refused if it is found like a driver, in a directory of
/// `LD_LIBRARY_PATH`. The variables that otherwise permit a simulator are set.
fn refused_as_a_driver(
    stage: &Stage,
    name: &str,
    signs: Signs,
    file: &str,
    sentence: &str,
) -> Result<Outcome, TaskError> {
    let directory = format!("drivers {name}");
    let bytes = match signs {
        Signs { symbol: true, device_name: true } => stage.plain.clone(),
        _ => Disguised::of(&stage.plain, signs)?.bytes().to_vec(),
    };
    stage.machine.put(&format!("{directory}/{file}"), &bytes)?;
    for link in ["libcuda.so", "libcuda.so.1"].into_iter().filter(|link| *link != file) {
        let path = stage.machine.path(&directory).join(link);
        Command::new("ln").args(["-s", file]).arg(path).status()?;
    }
    let libraries = stage.machine.path(&directory).display().to_string();
    let variables = vec![
        ("LD_LIBRARY_PATH", &*libraries),
        ("DRIVER_CONFORMANCE_SIMULATOR", "1"),
        ("CUDA_SIM_SEED", "1"),
    ];
    let run = stage.machine.run(name, ARCHIVE, &Call { arguments: Vec::new(), variables })?;
    Ok(run.ended_with(3).and_then(|()| says(&run.errors, sentence)).and_then(|()| {
        nothing_ran(&run)?;
        tasks::checks::same(&run.report()?["simulated"], &serde_json::Value::from(false))
    }))
}

/// Checks that an abbreviation of the switch, or the switch without a file, has no effect.
fn switch_in_part(stage: &Stage) -> Result<Outcome, TaskError> {
    let driver = stage.disguised.display().to_string();
    let joined = format!("--simulated-driver={driver}");
    let calls = [
        vec!["--simulated", &*driver],
        vec![&*joined],
        vec!["--simulated-driver"],
        vec!["--simulated-driver", "/no/such/file"],
        vec!["--simulated-driver", &*driver, "--bench"],
    ];
    for arguments in calls {
        let shown = format!("{arguments:?}");
        let call = Call { arguments, variables: Vec::new() };
        let run = stage.machine.run("the switch in part", ARCHIVE, &call)?;
        if let Err(why) = run.ended_with(2) {
            return Ok(Err(format!("{shown}: {why}")));
        }
    }
    Ok(Ok(()))
}
