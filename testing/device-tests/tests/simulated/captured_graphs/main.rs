//! Tests captured graphs on the simulated driver, whose checkers detect races, stale addresses and
//! leaks.
//!
//! Each test needs its own process: `cargo xtask sim-test` runs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test panics")]

mod arenas_and_pools;
mod attack_four;
mod attacks;
mod blocks;
mod body_errors;
mod by_hand;
mod cases;
mod child_graphs;
mod closed_world;
mod common;
mod doubtful;
mod eager_pools;
mod failed_order_sweep;
mod faults;
mod feeding;
mod few_nodes;
mod fills;
mod first_failure;
mod hand_made;
mod host_functions;
mod hostile;
mod idle_scopes;
mod in_between;
mod invalidated;
mod kept;
mod ladders;
mod lent;
mod model;
mod node_kinds;
mod onlookers;
mod owned;
mod peers;
mod programmatic;
mod random;
mod records;
mod refused_destroys;
mod reported;
mod right_bodies;
mod rows;
mod scopes;
mod shapes;
mod two_devices;
mod wild;
mod workspaces;

#[path = "../../../../../crates/pool-plan/tests/support/capture.rs"]
#[allow(dead_code, reason = "only the planner's tests use its problems")]
mod generator;
#[path = "../../device/graphs/programs.rs"]
mod programs;
#[path = "../backend/shrink.rs"]
mod shrink;
#[path = "../../device/graphs/steps.rs"]
mod steps;
#[path = "../backend/support.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;
#[path = "../sweep.rs"]
mod sweep;
