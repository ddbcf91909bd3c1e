//! A stream of frames in several ways. Each is in a process of its own, because they also differ in
//! their global allocator. The processes alternate, some frames each, so that slowdowns of the
//! machine affect all of them. Every frame's picture must be the same in all ways.

mod columns;
mod figures;
mod plot;
#[path = "../../../examples/18_stream/src/record.rs"]
#[allow(unreachable_pub, reason = "a library exports it")]
mod record;
mod scenario;
mod server;
mod table;

use std::fs;
use std::path::Path;

use indicatif::ProgressBar;

use crate::{TaskError, progress};
use columns::Column;
use figures::Figures;
use record::Record;
use scenario::Scenario;
use server::Server;

pub(crate) use columns::Columns;
pub(crate) use scenario::Length;

/// The number of turns of a scenario.
const TURNS: usize = 20;

/// The records of one way: each camera's frames, in their order.
#[derive(Debug)]
struct Run {
    column: Column,
    records: Vec<Record>,
}

/// Works through all scenarios, or the one of a name; prints the tables and writes the pictures.
///
/// # Errors
///
/// Fails if a program cannot be run, if two ways make different pictures, if the pool's frames are
/// not steady, or if a picture cannot be written.
pub(crate) fn run(
    length: Length,
    only: Option<&str>,
    columns: &Columns,
    folder: &Path,
) -> Result<(), TaskError> {
    fs::create_dir_all(folder)?;
    let scenarios = scenario::named(length, only)?;
    if let [Scenario::LONG] = scenarios[..] {
        return long_run(columns, folder);
    }
    let progress =
        progress::bar(scenarios.iter().map(|one| one.frames * columns.all().len()).sum());
    for scenario in &scenarios {
        let film = folder.join("stream.film");
        columns.make_film(scenario, &film)?;
        let runs = measure(scenario, columns, &film, folder, &progress)?;
        same_pictures(&runs)?;
        steady(scenario, &runs)?;
        let warm_up = scenario.warm_up();
        let figures: Vec<(Column, Figures)> = runs
            .iter()
            .map(|run| (run.column, Figures::of(&run.records[warm_up..], scenario.workers)))
            .collect();
        let picture = folder.join(format!("stream-{}.svg", scenario.name()));
        plot::write(&picture, scenario, &runs)?;
        let (table, verdict) = (table::of(&figures), table::verdict(&figures));
        progress.suspend(|| println!("{scenario}\n\n{table}\n\n{verdict}\n"));
        fs::remove_file(film)?;
    }
    progress.finish_and_clear();
    println!("{}", table::EXPLANATION);
    if let Some(adapter) = columns.adapter() {
        println!("{}\n", table::of_wgpu(adapter));
    }
    if length == Length::Full && only.is_none() {
        long_run(columns, folder)?;
    }
    Ok(())
}

/// Runs all ways alternately.
fn measure(
    scenario: &Scenario,
    columns: &Columns,
    film: &Path,
    folder: &Path,
    progress: &ProgressBar,
) -> Result<Vec<Run>, TaskError> {
    let start = |column: &Column| Server::start(columns, *column, scenario, film, folder);
    let mut servers: Vec<Server> = columns.all().iter().map(start).collect::<Result<_, _>>()?;
    let mut done = 0;
    while done < scenario.frames {
        let frames = scenario.frames.div_ceil(TURNS).min(scenario.frames - done);
        for server in &mut servers {
            progress.set_message(format!("{}: {}", scenario.name(), server.column.name));
            server.work(frames)?;
            progress.inc(frames as u64);
        }
        done += frames;
    }
    servers.into_iter().map(Server::end).collect()
}

/// Checks that every frame's picture is the same in all ways.
fn same_pictures(runs: &[Run]) -> Result<(), TaskError> {
    let Some((first, others)) = runs.split_first() else { return Err("there are no runs".into()) };
    for other in others {
        let pairs = first.records.iter().zip(&other.records);
        let different = pairs.filter(|(left, right)| left.checksum != right.checksum).count();
        if different > 0 || first.records.len() != other.records.len() {
            let (left, right) = (first.column.name, other.column.name);
            return Err(format!("{different} pictures differ between {left} and {right}").into());
        }
    }
    Ok(())
}

/// Checks that the pool's frames request nothing from the heap after all are known. Also checks
/// that each camera's addresses stay, and that its pool's held and live bytes do.
fn steady(scenario: &Scenario, runs: &[Run]) -> Result<(), TaskError> {
    let Some(pool) = runs.iter().find(|run| run.column.is_pool()) else {
        return Err("no run uses the pool".into());
    };
    let records = &pool.records[scenario.warm_up()..];
    let allocations: u64 = records.iter().map(|record| record.allocations).sum();
    if allocations > 0 {
        return Err(format!("the pooled frames made {allocations} allocations").into());
    }
    // The records of one frame are in the order of the cameras.
    let mut pairs = records.iter().zip(records.iter().skip(scenario.workers));
    let what = |record: &Record| (record.addresses, record.reserved, record.live);
    match pairs.find(|(before, after)| what(before) != what(after)) {
        Some((before, after)) => Err(format!("from {before:?} to {after:?}").into()),
        None => Ok(()),
    }
}

/// Runs the pool alone, for 100,000 small frames, and checks the values that must never change.
fn long_run(columns: &Columns, folder: &Path) -> Result<(), TaskError> {
    let scenario = Scenario::LONG;
    let film = folder.join("stream.film");
    columns.make_film(&scenario, &film)?;
    let mut server = Server::start(columns, Column::POOL, &scenario, &film, folder)?;
    let progress = progress::bar(scenario.frames);
    progress.set_message(scenario.name());
    while server.frames() < scenario.frames {
        let frames = (scenario.frames / 100).min(scenario.frames - server.frames());
        server.work(frames)?;
        progress.inc(frames as u64);
    }
    progress.finish_and_clear();
    let run = server.end()?;
    fs::remove_file(film)?;
    let records = &run.records[scenario.warm_up()..];
    let faults: Option<u64> = records.iter().map(|record| record.faults).sum();
    let held =
        |wanted: fn(i64, i64) -> i64| records.iter().filter_map(|one| one.held).reduce(wanted);
    let (least, most) = (held(i64::min).unwrap_or(0), held(i64::max).unwrap_or(0));
    let last = records.last().ok_or("there is no frame")?;
    let (reserved, live) =
        last.reserved.zip(last.live).ok_or("the pool does not report its bytes")?;
    steady(&scenario, &[run])?;
    let faults = match faults {
        Some(0) => "no page faults",
        Some(faults) => return Err(format!("{faults} page faults in steady state").into()),
        None => "page faults not counted on this system",
    };
    println!(
        "{} frames of {}x{} with the pool. After {} frames: no allocations, {faults}, and the same addresses in each frame.\n\
         The pool held {reserved} bytes in each frame. At most {live} of these bytes were in use at once.\n\
         The process held {least} to {most} bytes more than before the first frame.\n",
        scenario.frames,
        scenario.width,
        scenario.height,
        scenario.warm_up(),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Column, Record, Run, Scenario, same_pictures, steady};

    fn run(column: Column, change: impl Fn(usize, &mut Record)) -> Run {
        let record = |index: usize| {
            let checksum = index as u64;
            let mut record = Record { checksum, addresses: 7, ..Record::default() };
            change(index, &mut record);
            record
        };
        Run { column, records: (0..Scenario::LONG.warm_up() + 20).map(record).collect() }
    }

    #[test]
    fn one_other_picture_is_found() {
        let pool = || run(Column::POOL, |_, _| ());
        assert!(same_pictures(&[pool(), run(Column::VEC, |_, _| ())]).is_ok());
        let other = run(Column::VEC, |index, record| record.checksum += u64::from(index == 3));
        let error = same_pictures(&[pool(), other]).unwrap_err().to_string();
        assert!(error.contains('1') && error.contains("Vec"), "{error}");
        assert!(same_pictures(&[]).is_err());
    }

    #[test]
    fn a_late_allocation_or_another_address_is_found_and_an_early_one_may_be() {
        let warm_up = Scenario::LONG.warm_up();
        let of =
            |change: fn(usize, &mut Record)| steady(&Scenario::LONG, &[run(Column::POOL, change)]);
        assert!(of(|_, _| ()).is_ok());
        assert!(of(|index, record| record.allocations = u64::from(index == 0)).is_ok());
        assert!(of(|index, record| record.allocations = u64::from(index > 30)).is_err());
        assert!(warm_up < 30);
        assert!(of(|index, record| record.addresses += u64::from(index == 35)).is_err());
        assert!(of(|index, record| record.reserved = Some(u64::from(index == 35))).is_err());
        assert!(of(|index, record| record.live = Some(u64::from(index > 40))).is_err());
        assert!(steady(&Scenario::LONG, &[run(Column::VEC, |_, _| ())]).is_err());
    }
}
