//! A program that only names the crate. An environment variable makes the simulator its driver.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::process::Command;

use cuda_sim_test as _;
use cudarc::driver::CudaContext;

#[test]
fn a_crate_that_is_named_and_one_variable_are_enough() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--ignored", "--exact", "asks_for_a_device", "--nocapture"]);
    let answer = program.env("CUDA_SIM_START", "1").output().unwrap();
    let text = String::from_utf8_lossy(&answer.stdout);
    assert!(answer.status.success() && text.contains("Simulated device"), "{answer:?}");
}

#[test]
#[ignore = "a program"]
fn asks_for_a_device() {
    println!("{}", CudaContext::new(0).unwrap().name().unwrap());
}
