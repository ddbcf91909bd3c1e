//! Planted mistakes of a backend: a browser's run of the suite reports each by the case written for
//! it.

use pool_conformance::cases::all;
use pool_conformance::panics::{catch_quietly, text};
use pool_wgpu::flaw::{CASES, Flaw, with_planted};
use pool_wgpu::wgpu;

use crate::runner::Test;
use crate::say;
use crate::wgpu::support::{WgpuProbe, own_stream};

pub(crate) const TESTS: &[Test] = &[Test {
    name: "flaws::every_planted_mistake_is_named_by_its_case",
    run: every_mistake_is_named,
}];

fn every_mistake_is_named() {
    for (flaw, name) in CASES {
        let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
        let case = all().into_iter().find(|case| case.name() == name);
        let Some(case) = case else { panic!("no case \"{name}\"") };
        let mut probe = WgpuProbe::new(stream);
        probe.reports_frees = flaw != Flaw::Unreported;
        let ended = with_planted(flaw, || catch_quietly(|| case.run(&probe)));
        let said = ended.err().map(|payload| text(payload.as_ref()).to_owned());
        say!("{flaw:?} | {name} | {said:.100?}");
        // The checks that follow every case must not be the only ones that report it.
        let is_named = said.as_ref().is_some_and(|said| !said.contains("afterwards: "));
        assert!(is_named, "{flaw:?}");
    }
}
