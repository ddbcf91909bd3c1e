//! The conformance tests of every backend: all cases, and random programs against the naive model.

use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::run_all;
use pool_wgpu::{Stream, wgpu};

use crate::support::{Snapshots, WgpuProbe, own_stream, stream};

#[test]
fn every_case_passes() {
    let Some((stream, _quiet)) = stream() else { return };
    run_all(&WgpuProbe::new(stream));
}

/// Runs programs that check their results at the end, and prints their amount of work. They have a
/// device of their own, because a wait for a device waits for all its work.
fn run_programs(stream: &Stream, kind: &str, run: impl Fn(u32, &dyn Fn() -> WgpuProbe) -> Tally) {
    let (programs, snapshots) = (test_cases(), Snapshots::new(stream.clone()));
    let tally = run(programs, &|| WgpuProbe::with_snapshots(stream.clone(), snapshots.clone()));
    assert_eq!(tally.programs, u64::from(programs));
    println!("{programs} {kind} programs, {} acquires; {:?}", tally.acquires, stream.counts());
}

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    run_programs(&stream, "lexical", |programs, probe| run_random_lexical(programs, probe));
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    run_programs(&stream, "dynamic", |programs, probe| run_random_dynamic(programs, probe));
}
