//! `cargo xtask adopt`: adds a pool to other people's crates, and compares them with the original
//! crates.
//!
//! Cargo downloads each crate from the registry. The patches in `testing/adopt/CRATE` are applied
//! to copies of the crate. The crate's own tests run before and after. The program in that
//! directory compares the results and measures. A table lists the effects of the patches. All files
//! are written to `target/adopt`. Each assertion prints one line, and the last line counts them.

mod adoptions;
mod building;
mod captured;
mod own_tests;
mod patch;
mod place;
#[path = "../../../../testing/adopt/measure/src/record.rs"]
mod record;
mod table;
mod version;

use std::path::Path;
use std::process::ExitCode;

use adoptions::{ADOPTIONS, Adoption};
use building::cargo_for;
use patch::Patch;
use place::Place;
use record::{Peak, Record};
use table::Row;

use tasks::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::files;
use tasks::programs::output;
use tasks::source;
use tasks::workspace::{self, Workspace};

/// The arguments of `cargo xtask adopt`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Use only these crates.
    #[arg(value_name = "CRATE")]
    crates: Vec<String>,
    /// Use only the smallest crate and measure for about a minute.
    #[arg(long, conflicts_with = "crates")]
    only_small: bool,
    /// Capture a model of candle on the simulated device instead, for about ten minutes.
    #[arg(long, conflicts_with_all = ["crates", "only_small"])]
    captured: bool,
    /// Measure with fewer and shorter batches, which gives a wider spread.
    #[arg(long)]
    quick: bool,
    /// Skip the crates' own tests.
    #[arg(long)]
    no_tests: bool,
}

/// Adds the pool to the requested crates, and prints the table.
///
/// # Errors
///
/// Fails if a file cannot be read or written, if a patch does not apply, if a program cannot be
/// started, or if a crate that was requested by name is not available. A failed assertion is not
/// returned as an error: it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let Workspace { root, .. } = workspace::describe()?;
    let place = Place { kept: root.join("testing/adopt"), made: root.join("target/adopt") };
    let mut checks = Checks::default();
    if arguments.captured {
        return captured::run(&place, checks);
    }
    let mut rows = Vec::new();
    for adoption in chosen(arguments)? {
        match source::obtain(adoption.name, adoption.version, &place.made)? {
            Ok(source) => rows.extend(adopt(adoption, &source, &place, arguments, &mut checks)?),
            Err(why) if arguments.crates.is_empty() => checks.skip(&adoption.package(), &why),
            Err(why) => return Err(format!("{}: {why}", adoption.package()).into()),
        }
    }
    if !rows.is_empty() {
        println!("\n{}\n\n{}", table::of(&rows), table::EXPLANATION);
    }
    println!("\n{checks}");
    Ok(checks.exit_code_of_optional())
}

/// Returns the crates that the arguments select.
fn chosen(arguments: &Arguments) -> Result<Vec<&'static Adoption>, TaskError> {
    if arguments.only_small {
        return Ok(ADOPTIONS.iter().take(1).collect());
    }
    let is_known = |name: &&String| ADOPTIONS.iter().any(|adoption| adoption.name == **name);
    if let Some(unknown) = arguments.crates.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = ADOPTIONS.iter().map(|adoption| adoption.name).collect();
        return Err(format!(
            "there is no patch for {unknown}; patches exist for {}",
            known.join(", ")
        )
        .into());
    }
    let wanted = |adoption: &&Adoption| {
        arguments.crates.is_empty() || arguments.crates.iter().any(|name| name == adoption.name)
    };
    Ok(ADOPTIONS.iter().filter(wanted).collect())
}

/// Patches one crate, tests it and measures it.
fn adopt(
    adoption: &Adoption,
    source: &Path,
    place: &Place,
    arguments: &Arguments,
    checks: &mut Checks,
) -> Result<Vec<Row>, TaskError> {
    let package = adoption.package();
    let made = place.made.join(&package);
    files::copy(source, &made.join("original"))?;
    let mut patches = Vec::new();
    for version in adoption.versions {
        let patch = Patch::read(&place.kept.join(adoption.name).join(format!("{version}.patch")))?;
        let copy = made.join(version);
        files::copy(source, &copy)?;
        version::name_version(&copy, adoption.version, version)?;
        patch.apply(&package, &copy)?;
        checks.that(&format!("{package}: {version}: the patch fits, {}", patch.lines()), Ok(()));
        patches.push((*version, patch.lines()));
    }
    if !arguments.no_tests {
        let [before, after] = ["original", adoption.versions[0]]
            .map(|version| own_tests::run(adoption, &made.join(version), &place.made));
        let (before, after) = (before?, after?);
        checks.that(&format!("{package}: its own tests: {before}"), after.same_as(&before));
    }
    let Measured { records, peaks } =
        measure(adoption, place, arguments.quick || arguments.only_small)?;
    let mut rows = table::rows(&package, &patches, &records)?;
    checks.that(&format!("{package}: results are bit-identical in all cases"), Ok(()));
    if let [original, others @ ..] = &peaks[..] {
        for peak in others {
            let Peak { version, kibibytes } = peak;
            let name = format!("{package}: {version}: peak memory {kibibytes} KiB");
            checks.that(&name, within_peak(peak, original));
        }
        rows.extend(table::peak_rows(&package, &patches, original, others)?);
    }
    Ok(rows)
}

/// Checks that a version needs at most ten percent more memory than the original.
fn within_peak(peak: &Peak, original: &Peak) -> Outcome {
    if peak.kibibytes * 10 <= original.kibibytes * 11 {
        return Ok(());
    }
    Err(format!("that is more than 1.1 times the original's {} KiB", original.kibibytes))
}

/// The lines that a measuring program has printed.
#[derive(Debug)]
struct Measured {
    records: Vec<Record>,
    /// The peak memory of each version, with the original first. Empty if the program does not use
    /// separate processes.
    peaks: Vec<Peak>,
}

/// Builds and runs the measuring program, which fails if results differ.
fn measure(adoption: &Adoption, place: &Place, quick: bool) -> Result<Measured, TaskError> {
    let mut run = cargo_for(&place.made);
    run.args(["run", "--quiet", "--release", "--locked"]);
    run.args(quick.then_some(["--", "--quick"]).into_iter().flatten());
    let printed = output(run.current_dir(place.kept.join(adoption.name)))?;
    let lines = std::str::from_utf8(&printed)?.lines();
    let (peaks, records): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("peak"));
    let records = records.into_iter().map(str::parse).collect::<Result<_, String>>()?;
    let peaks = peaks.into_iter().map(str::parse).collect::<Result<_, String>>()?;
    Ok(Measured { records, peaks })
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Peak, chosen, within_peak};

    fn names(crates: &[&str], only_small: bool) -> Result<Vec<&'static str>, String> {
        let crates = crates.iter().copied().map(str::to_owned).collect();
        let arguments =
            Arguments { crates, only_small, captured: false, quick: false, no_tests: false };
        let chosen = chosen(&arguments).map_err(|error| error.to_string())?;
        Ok(chosen.iter().map(|adoption| adoption.name).collect())
    }

    #[test]
    fn a_tenth_more_memory_is_allowed() {
        let peak = |kibibytes| Peak { version: String::new(), kibibytes };
        within_peak(&peak(110), &peak(100)).unwrap();
        assert!(within_peak(&peak(111), &peak(100)).unwrap_err().contains("100 KiB"));
    }

    #[test]
    fn crates_are_chosen_by_name_or_all_or_the_first() {
        assert_eq!(names(&[], true).unwrap(), ["bspline"]);
        assert_eq!(names(&["bspline"], false).unwrap(), ["bspline"]);
        assert!(names(&[], false).unwrap().contains(&"bspline"));
        let refusal = names(&["serde"], false).unwrap_err();
        assert!(refusal.contains("serde") && refusal.contains("bspline"), "{refusal}");
    }
}
