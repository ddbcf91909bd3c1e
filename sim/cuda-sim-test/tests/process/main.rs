//! Runs processes with the simulated driver and checks their end, exit code and output.
//!
//! The programs are the ignored tests in `programs`. Each test in this file runs one program in a
//! separate process, as `cargo test` would, and checks the outcome.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod programs;

use std::process::{Command, Output};

/// The outcome of a program: its exit code and its output.
struct Ended {
    code: Option<i32>,
    text: String,
}

fn run(program: &str, variables: &[(&str, &str)]) -> Ended {
    run_with(&["--exact", &format!("programs::{program}")], variables)
}

fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--nocapture"]).args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CUDA_SIM_") {
            command.env_remove(name);
        }
    }
    let Output { status, stdout, stderr } =
        command.envs(variables.iter().copied()).output().unwrap();
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ended { code: status.code(), text }
}

impl Ended {
    #[track_caller]
    fn is(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.text);
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in\n{}", self.text);
        }
    }

    #[track_caller]
    fn is_silent(&self, code: i32) {
        self.is(code, &[]);
        assert!(!self.text.contains("cuda-sim-test:"), "{}", self.text);
    }
}

/// Programs that end early leave objects unfreed.
const TWO_DEVICES: &[(&str, &str)] = &[("CUDA_SIM_DEVICES", "2"), ("CUDA_SIM_LEAKS", "ignore")];
const FAILED: i32 = cuda_sim_test::EXIT_CODE;
const OF_LIBTEST: i32 = 101;

#[test]
fn a_program_without_a_mistake_ends_well_and_nothing_is_printed() {
    run("clean", &[]).is_silent(0);
}

#[test]
fn the_driver_is_found_by_both_of_its_names() {
    run("both_names", &[]).is_silent(0);
}

#[test]
fn tests_on_several_threads_have_one_driver() {
    let ended = run_with(&["programs::beside", "--test-threads", "4"], &[]);
    ended.is_silent(0);
    ended.is(0, &["4 passed"]);
}

#[test]
fn a_race_between_streams_fails_a_run_whose_tests_pass() {
    run("race", &[]).is(
        FAILED,
        &[
            "1 passed",
            "1 mistake, 0 leaks (CUDA_SIM_SEED=0)",
            "race: ",
            "nothing orders it after",
            "stream 2",
            "lacks an event: record it after the access",
            "exits with code 3",
        ],
    );
}

#[test]
fn a_race_that_is_still_pending_at_the_end_is_found() {
    let ended = run("pending", &[("CUDA_SIM_LEAKS", "ignore")]);
    ended.is(FAILED, &["race: ", "kernel mark", "0 leaks"]);
}

#[test]
fn a_leak_fails_is_printed_or_ignored_as_the_environment_says() {
    run("leak", &[]).is(FAILED, &["1 passed", "0 mistakes, 1 leak", "leak: ", "4096 bytes"]);
    run("leak", &[("CUDA_SIM_LEAKS", "print")]).is(0, &["leak: "]);
    run("leak", &[("CUDA_SIM_LEAKS", "ignore")]).is_silent(0);
}

#[test]
fn stale_accesses_fail() {
    run("stale", &[]).is(FAILED, &["1 passed", "use after free: "]);
}

#[test]
fn a_test_that_fails_keeps_its_code_and_the_reports_are_printed() {
    run("race_and_panic", &[]).is(OF_LIBTEST, &["on purpose", "race: ", "1 failed"]);
    let ended = run("panic", &[]);
    ended.is_silent(OF_LIBTEST);
}

#[test]
fn a_process_that_a_test_ends_is_judged_by_what_lives_then() {
    run("exit_well", &[]).is(FAILED, &["leak: "]);
    run("exit_with_seven", &[]).is(7, &["leak: "]);
}

#[test]
fn a_child_of_fork_prints_nothing_and_its_parent_does() {
    let ended = run("fork", &[]);
    ended.is(FAILED, &["1 leak", "the child ended with 0"]);
    assert_eq!(ended.text.matches("1 leak").count(), 1, "{}", ended.text);
}

#[test]
fn mistakes_on_purpose_can_be_taken() {
    run("taken", &[]).is_silent(0);
}

#[test]
fn a_second_start_is_the_same_simulator_or_an_error_that_names_both_machines() {
    run("twice", &[]).is_silent(0);
    run("otherwise", &[]).is(0, &["devices: 1", "devices: 2", "a separate process"]);
}

#[test]
fn one_variable_starts_it_before_main() {
    run("asks_the_loader", &[("CUDA_SIM_START", "1")]).is(0, &["Simulated device"]);
    run("asks_the_loader", &[("CUDA_SIM_START", "0")]).is(0, &["no simulator"]);
    run("asks_the_loader", &[("CUDA_SIM_START", "1"), ("CUDA_SIM_DEVICES", "3")])
        .is(0, &["3 devices"]);
}

#[test]
fn a_wrong_variable_ends_the_process_before_main() {
    let started = ("CUDA_SIM_START", "1");
    for (wrong, text) in [
        (("CUDA_SIM_DEVICES", "9"), "CUDA_SIM_DEVICES=\"9\": it takes a whole number from 1 to 4"),
        (("CUDA_SIM_SEDE", "1"), "\"CUDA_SIM_SEDE\" is not a setting"),
        (("CUDA_SIM_FAULTS", "cuInit"), "CUDA_SIM_FAULTS: \"cuInit\" is not of the form"),
    ] {
        let ended = run("clean", &[started, wrong]);
        ended.is(FAILED, &["cuda-sim-test: the environment: ", text]);
        assert!(!ended.text.contains("running 1 test"), "{}", ended.text);
    }
    run("clean", &[("CUDA_SIM_START", "yes")])
        .is(FAILED, &["CUDA_SIM_START=\"yes\": it takes 0 or 1"]);
    // Without that variable, the test that starts the simulator prints the error.
    let ended = run("clean", &[("CUDA_SIM_DRIVER_VERSION", "12.8")]);
    ended.is(OF_LIBTEST, &["CUDA_SIM_DRIVER_VERSION=\"12.8\": it takes a CUDA version"]);
}

#[test]
fn settings_reach_the_driver() {
    let fault = [("CUDA_SIM_FAULTS", "cuMemAllocAsync:2:2")];
    run("allocates_three", &fault).is_silent(0);
    run("allocates_three", &[]).is(OF_LIBTEST, &["the second allocation"]);
    run("version", &[("CUDA_SIM_DRIVER_VERSION", "12080")])
        .is(0, &["driver 12080", "CUDA_ERROR_NOT_SUPPORTED"]);
    run("endless", &[("CUDA_SIM_INSTRUCTIONS", "1000")]).is(FAILED, &["kernel fault: ", "1000"]);
    let printed = run("race", &[("CUDA_SIM_PRINT_REPORTS", "1")]);
    printed.is(FAILED, &["simulated driver: race: "]);
}

#[test]
fn what_kernels_print_is_seen_once_the_host_waits_and_not_at_the_end() {
    run("printing::prints", &[]).is(0, &["launched\nthread 0\nthread 1\nwaited\n"]);
    let ended = run("printing::prints_and_exits", &[("CUDA_SIM_LEAKS", "ignore")]);
    ended.is(0, &[]);
    assert!(!ended.text.contains("thread 0"), "{}", ended.text);
}

#[test]
fn what_kernels_print_is_that_of_the_device_that_the_host_waits_for() {
    run("printing::prints_on_another_device", TWO_DEVICES).is(
        0,
        &["launched\nthread 0\nthread 1\nstream\nthread 0\nthread 1\nevent\nthread 0\nthread 1\nlaunch\n"],
    );
}

#[test]
fn modules_and_libraries_that_come_and_go_show_what_kernels_print() {
    let shown = "thread 0\nthread 1\n";
    let parts = ["module loaded", "module unloaded", "library loaded", "library unloaded"];
    let expected: String = parts.iter().map(|part| format!("{shown}{part}\n")).collect();
    run("printing::prints_until_modules_go", TWO_DEVICES).is(0, &[&expected]);
}

#[test]
fn who_reads_the_output_may_call_the_driver_while_another_thread_prints() {
    run("printing::prints_into_a_pipe", &[]).is(0, &["read 16384 lines\n"]);
}

#[test]
fn orders_are_drawn_by_seeds_and_the_one_that_fails_is_named() {
    let ended = run("orders", &[("CUDA_SIM_ORDERS", "40"), ("CUDA_SIM_SEED", "100")]);
    ended.is(OF_LIBTEST, &["the failing order is CUDA_SIM_SEED=1"]);
    let seed = ended.text.split("order is CUDA_SIM_SEED=").nth(1).unwrap();
    let seed = seed.split_whitespace().next().unwrap();
    run("orders", &[("CUDA_SIM_SEED", seed)]).is(OF_LIBTEST, &["the copy came first"]);
}

#[test]
fn an_order_is_the_same_alone_and_among_others() {
    let told = run("orders_told", &[("CUDA_SIM_ORDERS", "30"), ("CUDA_SIM_SEED", "7")]);
    let orders: Vec<&str> = told.text.lines().filter(|line| line.contains("seed ")).collect();
    let both = |end: &str| orders.iter().filter(|line| line.ends_with(end)).count();
    assert!(both(": 0.") > 3 && both(": 1.") > 3, "{}", told.text);
    for seed in ["11", "20", "21", "36"] {
        let part = format!("seed {seed}: ");
        let expected = orders.iter().find_map(|line| line.find(&part).map(|start| &line[start..]));
        run("orders_told", &[("CUDA_SIM_SEED", seed)]).is(FAILED, &[expected.unwrap()]);
    }
}
