//! Options from the environment: the settings of the machine, and how the tests run.

use std::env;
use std::ffi::OsString;

use cuda_sim::settings::{SettingError, Settings, number, switch, word};

const START: &str = "CUDA_SIM_START";
const ORDERS: &str = "CUDA_SIM_ORDERS";
const LEAKS: &str = "CUDA_SIM_LEAKS";
/// Variables that only this crate reads.
const OWN: [&str; 3] = [START, ORDERS, LEAKS];

/// How leaks are treated at the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaks {
    Fail,
    Print,
    Ignore,
}

/// Options that were read from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) machine: Settings,
    /// The number of seeds with which each test runs.
    pub(crate) orders: u64,
    pub(crate) leaks: Leaks,
}

impl Options {
    /// Reads all variables.
    ///
    /// # Errors
    ///
    /// Fails for the first variable with an invalid value.
    pub(crate) fn from_environment() -> Result<Self, SettingError> {
        Self::from_variables(env::vars_os().collect())
    }

    fn from_variables(variables: Vec<(OsString, OsString)>) -> Result<Self, SettingError> {
        let mut options = Self { machine: Settings::default(), orders: 1, leaks: Leaks::Fail };
        for (name, value) in &variables {
            match name.to_str() {
                Some(START) => drop(switch(START, value)?),
                Some(ORDERS) => options.orders = number(ORDERS, value, 1..=1_000_000)?,
                Some(LEAKS) => {
                    let all = [Leaks::Fail, Leaks::Print, Leaks::Ignore];
                    options.leaks = all[word(LEAKS, value, &["fail", "print", "ignore"])?];
                }
                _ => {}
            }
        }
        options.machine = Settings::from_variables(variables, &OWN)?;
        Ok(options)
    }
}

/// Returns `true` if the environment requests the simulator in every process.
///
/// # Errors
///
/// Fails if the variable is neither 0 nor 1.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn is_asked_for() -> Result<bool, SettingError> {
    env::var_os(START).map_or(Ok(false), |value| switch(START, &value))
}

#[cfg(test)]
mod tests {
    use super::{Leaks, Options};

    fn of(name: &str, value: &str) -> Result<Options, String> {
        let variables = vec![(name.into(), value.into())];
        Options::from_variables(variables).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_of_tests_are_read_beside_those_of_the_machine() {
        assert_eq!(of("CUDA_SIM_ORDERS", "12").unwrap().orders, 12);
        assert_eq!(of("CUDA_SIM_LEAKS", "print").unwrap().leaks, Leaks::Print);
        assert_eq!(of("CUDA_SIM_SEED", "7").unwrap().machine.seed, 7);
        assert_eq!(of("CUDA_SIM_START", "1").unwrap().leaks, Leaks::Fail);
    }

    #[test]
    fn what_they_cannot_say_is_told() {
        let no_orders = of("CUDA_SIM_ORDERS", "0").unwrap_err();
        assert_eq!(no_orders, "CUDA_SIM_ORDERS=\"0\": it takes a whole number from 1 to 1000000");
        let leaks = of("CUDA_SIM_LEAKS", "never").unwrap_err();
        assert_eq!(leaks, "CUDA_SIM_LEAKS=\"never\": it takes fail or print or ignore");
        assert_eq!(
            of("CUDA_SIM_START", "on").unwrap_err(),
            "CUDA_SIM_START=\"on\": it takes 0 or 1"
        );
        let unknown = of("CUDA_SIM_ORDER", "3").unwrap_err();
        assert!(
            unknown.contains("CUDA_SIM_ORDER") && unknown.contains("CUDA_SIM_ORDERS"),
            "{unknown}"
        );
    }
}
