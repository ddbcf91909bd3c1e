//! `scripts/gpu-run.sh` against archives whose programs are small shell scripts: every way to end.
//!
//! It runs with the PATH of a bare machine, in `sh`, and in `dash` where that is installed.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failing test helper panics")]

mod fake;

use fake::{Fake, Run, shells};

const PASSING: &str = "echo 'test result: ok. 1 passed; 0 failed'";
const FAILING: &str = "echo 'a <bad> \"answer\" & more'; exit 101";

/// Returns three tests, which the manifest counts.
fn three() -> Fake {
    Fake::new().test("one", PASSING).test("two", PASSING).test("three", PASSING).counts(3)
}

fn on_every_shell(fake: &Fake, arguments: &[&str], check: impl Fn(&Run)) {
    for shell in shells() {
        check(&fake.run(shell, arguments));
    }
}

#[test]
fn all_pass() {
    on_every_shell(&three(), &[], |run| {
        assert_eq!(run.code, 0, "{run}");
        assert_eq!(run.last_line(), "3 passed, 0 failed, 0 skipped");
        let report = run.report();
        assert_eq!(report["kind"], "gpu-test");
        assert_eq!(report["simulated"], false);
        assert_eq!(report["outcome"], "passed");
        assert_eq!(report["runner"], "script");
        assert_eq!(report["device"], "Fake \"3000\" \\ Ti");
        assert_eq!(report["dirty"], "true");
        assert_eq!(report["tests"].as_array().unwrap().len(), 3);
        assert_eq!(run.junit().matches("<testcase").count(), 3);
    });
}

#[test]
fn a_planted_failure_is_1() {
    on_every_shell(&three().test("four", FAILING).counts(4), &[], |run| {
        assert_eq!(run.code, 1, "{run}");
        assert!(run.output.contains("FAILED  four (exit code 101)"), "{run}");
        assert_eq!(run.last_line(), "3 passed, 1 failed, 0 skipped");
        assert_eq!(run.report()["tests"][3]["outcome"], "failed");
        let junit = run.junit();
        assert!(junit.contains("a &lt;bad&gt; &quot;answer&quot; &amp; more"), "{junit}");
    });
}

#[test]
fn a_missing_test_is_2() {
    on_every_shell(&three().counts(4), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("3 tests ran, but the manifest counts 4"), "{run}");
        assert_eq!(run.last_line(), "3 passed, 0 failed, 1 skipped");
    });
}

#[test]
fn one_test_too_many_is_2() {
    on_every_shell(&three().counts(2), &[], |run| assert_eq!(run.code, 2, "{run}"));
}

#[test]
fn no_test_at_all_is_2() {
    on_every_shell(&Fake::new().counts(0), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("nothing ran"), "{run}");
    });
}

#[test]
fn what_could_not_be_asked_is_skipped() {
    let unasked = format!("echo 'NOT ASKED: a topic'; {PASSING}");
    on_every_shell(&three().test("four", &unasked).counts(4), &[], |run| {
        assert_eq!(run.code, 0, "{run}");
        assert_eq!(run.last_line(), "3 passed, 0 failed, 1 skipped");
        assert_eq!(run.report()["skipped"], 1);
        assert_eq!(run.junit().matches("<skipped").count(), 1);
    });
    on_every_shell(&Fake::new().test("one", &unasked).counts(1), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
    });
}

#[test]
fn a_test_that_ends_well_without_running_fails() {
    let fake = three().test("four", "echo 'test result: ok. 0 passed; 0 failed'").counts(4);
    on_every_shell(&fake, &[], |run| {
        assert_eq!(run.code, 1, "{run}");
        assert_eq!(run.last_line(), "3 passed, 1 failed, 0 skipped");
    });
}

#[test]
fn a_crash_is_1() {
    on_every_shell(&three().test("four", "kill -SEGV $$").counts(4), &[], |run| {
        assert_eq!(run.code, 1, "{run}");
    });
}

#[test]
fn no_gpu_is_3_and_can_be_allowed() {
    let fake = three().probe("echo 'no GPU: libcuda cannot be loaded' >&2; exit 3");
    on_every_shell(&fake, &[], |run| {
        assert_eq!(run.code, 3, "{run}");
        assert!(run.errors.contains("libcuda cannot be loaded"), "{run}");
        assert!(run.errors.contains("the 3 GPU tests need an NVIDIA GPU"), "{run}");
        assert_eq!(run.report()["outcome"], "no GPU");
    });
    on_every_shell(&fake, &["--allow-no-gpu"], |run| {
        assert_eq!(run.code, 0, "{run}");
        assert!(run.output.lines().any(|line| line == "0 passed, 0 failed, 3 skipped"), "{run}");
    });
}

#[test]
fn stubs_and_simulators_are_no_gpu() {
    for library in ["/usr/local/cuda/lib64/stubs/libcuda.so", "/t/deps/libcuda_sim.so"] {
        let fake = three().probe(&format!("echo 'device: x'; echo 'libcuda: {library}'"));
        on_every_shell(&fake, &[], |run| {
            assert_eq!(run.code, 3, "{run}");
            assert!(run.errors.contains(library), "{run}");
        });
    }
}

/// Returns a probe of a machine with this driver and this device.
fn with_driver(driver: &str, capability: &str) -> Fake {
    three().probe(&format!("echo 'driver: {driver}'; echo 'capability: {capability}'"))
}

#[test]
fn a_machine_that_lacks_something_is_4_and_one_sentence() {
    let cases = [
        (
            with_driver("12.8", "9.0"),
            "the driver is for CUDA 12.8, but the archive needs one for 13.0",
        ),
        (with_driver("13.0", "7.0"), "has compute capability 7.0, but the archive needs 7.5"),
        (three().needing("13.0", "7.5", "99.1", ""), "but the archive needs 99.1 or newer"),
        (three().needing("13.0", "7.5", "2.0", "vax"), "the archive was built for vax"),
    ];
    for (fake, sentence) in cases {
        on_every_shell(&fake, &["--allow-no-gpu"], |run| {
            assert_eq!(run.code, 4, "{run}");
            assert!(run.errors.contains(sentence), "{run}");
            assert_eq!(run.errors.lines().count(), 1, "{run}");
            assert_eq!(run.last_line(), "0 passed, 0 failed, 3 skipped");
            assert_eq!(run.report()["outcome"], "unsuitable");
        });
    }
}

#[test]
fn versions_are_compared_as_numbers() {
    for driver in ["13.0", "13.1", "14.0"] {
        on_every_shell(&with_driver(driver, "12.0"), &[], |run| assert_eq!(run.code, 0, "{run}"));
    }
    let newer = with_driver("12.10", "7.5").needing("12.9", "7.5", "2.4", "");
    on_every_shell(&newer, &[], |run| assert_eq!(run.code, 0, "{run}"));
}

/// An old driver may not support its other calls.
#[test]
fn a_driver_that_is_too_old_to_be_asked_is_4() {
    let fake =
        three().probe("echo 'driver: 9.1'; echo 'no GPU: no cuDeviceGetUuid_v2' >&2; exit 3");
    on_every_shell(&fake, &[], |run| {
        assert_eq!(run.code, 4, "{run}");
        assert!(run.errors.contains("the driver is for CUDA 9.1"), "{run}");
    });
}

#[test]
fn a_manifest_without_needs_is_2() {
    on_every_shell(&three().without_needs(), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("does not say what the archive needs"), "{run}");
    });
}

#[test]
fn a_simulated_driver_is_reported_everywhere() {
    let look =
        r#"[ "${LD_LIBRARY_PATH##*/}" = driver ] && [ -f "$LD_LIBRARY_PATH/libcuda.so.1" ] && "#;
    let fake = Fake::new().test("one", &format!("{look}{PASSING}")).counts(1);
    let switched = ["--simulated-driver", "archive.tar.gz"];
    // Another driver than the one that was put there.
    on_every_shell(&fake, &switched, |run| assert_eq!(run.code, 2, "{run}"));
    let fake = fake.probe("echo 'device: Disguised device'");
    on_every_shell(&fake, &[], |run| assert_eq!(run.code, 3, "{run}"));
    on_every_shell(&fake, &switched, |run| {
        assert_eq!(run.code, 0, "{run}");
        let last = "1 passed, 0 failed, 0 skipped, on a SIMULATED driver: no result about a GPU";
        assert_eq!(run.last_line(), last);
        assert_eq!(run.report()["simulated"], true);
        assert!(
            run.junit().contains("<testsuites name=\"gpu-test-on-a-simulated-driver\""),
            "{run}"
        );
    });
    for part in [&["--simulated-driver"][..], &["--simulated", "archive.tar.gz"]] {
        on_every_shell(&fake, part, |run| assert_eq!(run.code, 2, "{run}"));
    }
}

#[test]
fn a_report_of_an_earlier_run_is_gone() {
    on_every_shell(&three().damaged(), &[], |run| assert!(!run.has("gpu-report.json"), "{run}"));
}

#[test]
fn a_probe_that_cannot_be_started_is_2() {
    on_every_shell(&three().probe("exit 126"), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("set TMPDIR"), "{run}");
    });
}

#[test]
fn a_probe_that_crashes_is_1() {
    on_every_shell(&three().probe("kill -SEGV $$"), &[], |run| assert_eq!(run.code, 1, "{run}"));
}

#[test]
fn variables_of_the_simulator_are_unset() {
    let variables = "${SIMCUDA_SEED-}${CUDA_SIM_SEED-}${DRIVER_CONFORMANCE_SIMULATOR-}";
    let look = format!("[ -z \"{variables}\" ] && ");
    let fake = Fake::new().test("one", &format!("{look}{PASSING}")).counts(1);
    on_every_shell(&fake, &[], |run| assert_eq!(run.code, 0, "{run}"));
}

#[test]
fn a_changed_program_is_2() {
    if !fake::installed("sha256sum") {
        println!("SKIPPED: sha256sum is not installed");
        return;
    }
    on_every_shell(&three().damaged(), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("the archive is damaged"), "{run}");
    });
}

#[test]
fn what_is_no_archive_is_2() {
    for shell in shells() {
        let run = three().run_on(shell, "missing.tar.gz", &[]);
        assert_eq!(run.code, 2, "{run}");
        let run = three().run(shell, &["--unknown"]);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.errors.contains("usage"), "{run}");
    }
}

#[test]
fn answers_are_counted() {
    let answers = "printf 'answer: a = 1 (noted)\\nanswer: b = 2 (expected 1, assumed) DIFFERS\\n\
                   SKIPPED: c: no such call\\n' >>\"$DRIVER_ANSWERS\"; ";
    let fake = Fake::new().test("one", &format!("{answers}{PASSING}")).counts(1);
    on_every_shell(&fake, &[], |run| {
        assert!(run.output.contains("answers: 2, differing: 1, not asked: 1"), "{run}");
    });
}

#[test]
fn benches_run_when_asked_for() {
    on_every_shell(&three(), &["--bench"], |run| assert_eq!(run.code, 2, "{run}"));
    let good = three().bench("[ \"$1\" = --bench ] && mkdir -p \"$CRITERION_HOME\"");
    on_every_shell(&good, &["--bench"], |run| {
        assert_eq!(run.code, 0, "{run}");
        assert!(run.has("criterion"), "{run}");
    });
    on_every_shell(&three().bench("exit 9"), &["--bench"], |run| assert_eq!(run.code, 1, "{run}"));
}

/// Returns a `cargo-nextest`: its report lies in the workspace, its exit code is `CODE`.
fn nextest(code: u8, cases: &str) -> String {
    format!(
        "[ \"$2\" = --version ] && exit 0\n\
         while [ $# -gt 0 ]; do [ \"$1\" = --workspace-remap ] && workspace=$2; shift; done\n\
         mkdir -p \"$workspace/target/nextest/gpu\"\n\
         cat >\"$workspace/target/nextest/gpu/junit.xml\" <<'END'\n{cases}\nEND\nexit {code}\n"
    )
}

const PASSED: &str =
    r#"<testcase name="m::one" classname="p::suite" timestamp="t" time="0.5"><system-out>"#;
const FAILED: &str = "<testcase name=\"m::two\" classname=\"p::suite\" time=\"1.5\">\n\
                      <failure type=\"test failure\">why</failure></testcase>";

#[test]
fn nextest_is_used_where_it_starts() {
    let all = nextest(0, &format!("{PASSED}\n</system-out></testcase>"));
    on_every_shell(&three().nextest(&all).counts(1), &[], |run| {
        assert_eq!(run.code, 0, "{run}");
        let report = run.report();
        assert_eq!(report["runner"], "cargo-nextest");
        assert_eq!(report["tests"][0]["test"], "m::one");
        assert_eq!(report["tests"][0]["program"], "p::suite");
        assert_eq!(report["tests"][0]["seconds"], 0.5);
    });
    let some = nextest(100, &format!("{PASSED}\n</system-out></testcase>\n{FAILED}"));
    on_every_shell(&three().nextest(&some).counts(2), &[], |run| {
        assert_eq!(run.code, 1, "{run}");
        assert_eq!(run.last_line(), "1 passed, 1 failed, 0 skipped");
    });
    let unasked = nextest(0, &format!("{PASSED}\nNOT ASKED: a topic\n</system-out></testcase>"));
    on_every_shell(&three().nextest(&unasked).counts(1), &[], |run| {
        assert_eq!(run.code, 2, "{run}");
        assert_eq!(run.report()["tests"][0]["outcome"], "skipped");
    });
    let hidden = nextest(100, &format!("{PASSED}\n</system-out></testcase>"));
    on_every_shell(&three().nextest(&hidden).counts(1), &[], |run| {
        assert_eq!(run.code, 1, "{run}");
    });
    let none = "[ \"$2\" = --version ] && exit 0\nexit 4";
    on_every_shell(&three().nextest(none), &[], |run| assert_eq!(run.code, 2, "{run}"));
}

#[test]
fn the_script_steps_in_where_nextest_cannot() {
    for program in ["exit 127", "[ \"$2\" = --version ] && exit 0\nexit 96"] {
        on_every_shell(&three().nextest(program), &[], |run| {
            assert_eq!(run.code, 0, "{run}");
            assert_eq!(run.report()["runner"], "script");
        });
    }
}
