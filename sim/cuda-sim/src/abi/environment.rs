//! What the driver is like where nothing controls it: settings by variables of the environment.

use std::env;
use std::str::FromStr;

use crate::world::Settings;

/// The CUDA version that the driver says it is for: `12080` is 12.8.
const DRIVER_VERSION: &str = "CUDA_SIM_DRIVER_VERSION";
/// Asks for the other answers to what is doubtful.
const OTHER_ANSWERS: &str = "CUDA_SIM_OTHER_ANSWERS";
/// How many devices there are, 1 to 4.
const DEVICES: &str = "CUDA_SIM_DEVICES";
/// Draws the order in which what is asynchronous runs.
const SEED: &str = "CUDA_SIM_SEED";
/// How many instructions a warp may take in one block.
const INSTRUCTIONS: &str = "CUDA_SIM_INSTRUCTIONS";
/// Asks for every report on the standard error, when it is made.
const PRINT_REPORTS: &str = "CUDA_SIM_PRINT_REPORTS";

/// The settings of a driver that a program has loaded as it would load any.
pub(super) fn settings() -> Settings {
    let settings = Settings::default();
    Settings {
        seed: number(SEED).unwrap_or(settings.seed),
        devices: number(DEVICES).unwrap_or(settings.devices),
        driver_version: number(DRIVER_VERSION).unwrap_or(settings.driver_version),
        instructions: number(INSTRUCTIONS).unwrap_or(settings.instructions),
        other_answers: env::var_os(OTHER_ANSWERS).is_some(),
        prints_reports: env::var_os(PRINT_REPORTS).is_some(),
        ..settings
    }
}

fn number<N: FromStr>(variable: &str) -> Option<N> {
    env::var(variable).ok()?.parse().ok()
}
