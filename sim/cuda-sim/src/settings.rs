//! The settings of a simulated machine, as a value and from environment variables.

use std::env;
use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::world;

/// The common prefix of the variables. A misspelt variable is recognised by its prefix.
const PREFIX: &str = "CUDA_SIM_";
const SEED: &str = "CUDA_SIM_SEED";
const BACKGROUND: &str = "CUDA_SIM_BACKGROUND";
const DEVICES: &str = "CUDA_SIM_DEVICES";
const BYTES: &str = "CUDA_SIM_BYTES";
const DRIVER_VERSION: &str = "CUDA_SIM_DRIVER_VERSION";
const OTHER_ANSWERS: &str = "CUDA_SIM_OTHER_ANSWERS";
const INSTRUCTIONS: &str = "CUDA_SIM_INSTRUCTIONS";
const PRINT_REPORTS: &str = "CUDA_SIM_PRINT_REPORTS";
const FAULTS: &str = "CUDA_SIM_FAULTS";
const OWN: [&str; 9] = [
    SEED,
    BACKGROUND,
    DEVICES,
    BYTES,
    DRIVER_VERSION,
    OTHER_ANSWERS,
    INSTRUCTIONS,
    PRINT_REPORTS,
    FAULTS,
];

/// The settings of a simulated machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The seed that determines the order of asynchronous work; `CUDA_SIM_SEED`, 0 by default.
    pub seed: u64,
    /// `true` if a background thread runs all work that is ready, like a device. No seed reproduces
    /// that order. `CUDA_SIM_BACKGROUND`, off by default. The setting is ignored by a driver that a
    /// program loads without a test harness.
    pub background: bool,
    /// The number of devices, 1 to 4; `CUDA_SIM_DEVICES`, 1 by default.
    pub devices: u32,
    /// The memory of each device in bytes, from 2 MiB to 1 TiB; `CUDA_SIM_BYTES`, 1 GiB by default.
    pub bytes: u64,
    /// The CUDA version of the driver, as 1000 × major + 10 × minor. The driver refuses calls and
    /// PTX versions that are newer. `CUDA_SIM_DRIVER_VERSION`, 13000 by default.
    pub driver_version: u32,
    /// `true` if devices can enable access to each other's memory. This is on by default, and no
    /// variable changes it.
    pub peers: bool,
    /// `true` to choose the other alternative wherever NVIDIA's documentation leaves the behaviour
    /// open; `CUDA_SIM_OTHER_ANSWERS`, off by default.
    pub other_answers: bool,
    /// The number of instructions that a warp may execute in one block before the simulator treats
    /// it as an endless loop; `CUDA_SIM_INSTRUCTIONS`, 8,388,608 by default.
    pub instructions: u64,
    /// `true` if each report is printed to standard error immediately; `CUDA_SIM_PRINT_REPORTS`,
    /// off by default.
    pub print_reports: bool,
    /// The calls that fail; `CUDA_SIM_FAULTS`, none by default.
    pub faults: Vec<Fault>,
}

/// A call of the driver that fails and has no effect. `CUDA_SIM_FAULTS` contains entries such as
/// `cuMemAllocAsync:3:2`, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name of the call, or `*` for any call.
    pub call: String,
    /// The position of the failing call among the calls of that name, starting at 1.
    pub nth: u64,
    /// The `CUresult` that the call returns. For example, 2 means out of memory.
    pub code: u32,
}

/// An environment variable whose value the simulator cannot parse.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The value is not a whole number, or it is out of range.
    #[error(
        "{variable}={value:?}: it takes a whole number from {} to {}",
        .range.start(),
        .range.end()
    )]
    Number {
        /// The variable's name.
        variable: &'static str,
        /// The variable's value.
        value: OsString,
        /// The accepted range.
        range: RangeInclusive<u64>,
    },
    /// The value is not the version of a supported driver.
    #[error("{variable}={value:?}: it takes a CUDA version from 12000 on, where 12080 is 12.8")]
    Version {
        /// The variable's name.
        variable: &'static str,
        /// The variable's value.
        value: OsString,
    },
    /// The value is neither of the accepted words.
    #[error("{variable}={value:?}: it takes {}", .words.join(" or "))]
    Word {
        /// The variable's name.
        variable: &'static str,
        /// The variable's value.
        value: OsString,
        /// The accepted words.
        words: &'static [&'static str],
    },
    /// An entry of the list of failing calls is malformed.
    #[error(
        "{variable}: {entry:?} is not of the form CALL:NTH:CODE, as cuMemAllocAsync:3:2 is, with 1 as the first \
         call, and a code from 1 on"
    )]
    Fault {
        /// The variable's name.
        variable: &'static str,
        /// The entry between two commas.
        entry: String,
    },
    /// The variable has the simulator's prefix, but it is unknown.
    #[error("{variable:?} is not a setting of the simulated driver; its settings are {}", .known.join(", "))]
    Unknown {
        /// The variable's name.
        variable: OsString,
        /// All known variables.
        known: Vec<&'static str>,
    },
}

impl Default for Settings {
    fn default() -> Self {
        let own = world::Settings::default();
        Self {
            seed: own.seed,
            background: false,
            devices: 1,
            bytes: own.bytes as u64,
            driver_version: own.driver_version.unsigned_abs(),
            peers: own.peers,
            other_answers: own.other_answers,
            instructions: own.instructions,
            print_reports: own.prints_reports,
            faults: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads the settings from environment variables. Variables that are not set have defaults. The
    /// variables in `further` may also have the simulator's prefix.
    ///
    /// # Errors
    ///
    /// Fails for the first variable with an invalid value, and for an unknown one that starts with
    /// `CUDA_SIM_`.
    pub fn from_environment(further: &[&'static str]) -> Result<Self, SettingError> {
        Self::from_variables(env::vars_os(), further)
    }

    /// Reads the settings from given names and values.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Settings::from_environment`].
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        further: &[&'static str],
    ) -> Result<Self, SettingError> {
        let mut settings = Self::default();
        for (name, value) in variables {
            let Some(own) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if !settings.take(own, &value)? && !further.contains(&own) {
                let known = OWN.iter().chain(further).copied().collect();
                return Err(SettingError::Unknown { variable: name, known });
            }
        }
        Ok(settings)
    }

    /// Reads one variable. Returns `false` if there is no setting of this name.
    fn take(&mut self, name: &str, value: &OsStr) -> Result<bool, SettingError> {
        match name {
            SEED => self.seed = number(SEED, value, 0..=u64::MAX)?,
            BACKGROUND => self.background = switch(BACKGROUND, value)?,
            DEVICES => self.devices = small(number(DEVICES, value, 1..=4)?),
            BYTES => self.bytes = number(BYTES, value, 2 << 20..=1 << 40)?,
            DRIVER_VERSION => self.driver_version = version(value)?,
            OTHER_ANSWERS => self.other_answers = switch(OTHER_ANSWERS, value)?,
            INSTRUCTIONS => self.instructions = number(INSTRUCTIONS, value, 1..=u64::MAX)?,
            PRINT_REPORTS => self.print_reports = switch(PRINT_REPORTS, value)?,
            FAULTS => self.faults = faults(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Converts into the settings of the simulated world.
    pub(crate) fn of_world(&self) -> world::Settings {
        world::Settings {
            seed: self.seed,
            devices: usize::try_from(self.devices).unwrap_or(usize::MAX),
            bytes: usize::try_from(self.bytes).unwrap_or(usize::MAX),
            driver_version: i32::try_from(self.driver_version).unwrap_or(i32::MAX),
            peers: self.peers,
            other_answers: self.other_answers,
            instructions: self.instructions,
            prints_reports: self.print_reports,
        }
    }
}

/// Parses the value of a variable as a whole number.
///
/// # Errors
///
/// Fails if the value is not a number, or is out of range.
pub fn number(
    variable: &'static str,
    value: &OsStr,
    range: RangeInclusive<u64>,
) -> Result<u64, SettingError> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    let refused =
        || SettingError::Number { variable, value: value.to_owned(), range: range.clone() };
    number.filter(|number| range.contains(number)).ok_or_else(refused)
}

/// Parses the value of a variable as a switch: `true` for 1, `false` for 0.
///
/// # Errors
///
/// Fails for any other value.
pub fn switch(variable: &'static str, value: &OsStr) -> Result<bool, SettingError> {
    word(variable, value, &["0", "1"]).map(|place| place == 1)
}

/// Returns the index of the variable's value in the list of words.
///
/// # Errors
///
/// Fails if the list does not contain the value.
pub fn word(
    variable: &'static str,
    value: &OsStr,
    words: &'static [&'static str],
) -> Result<usize, SettingError> {
    let refused = || SettingError::Word { variable, value: value.to_owned(), words };
    words.iter().position(|word| value == *word).ok_or_else(refused)
}

fn version(value: &OsStr) -> Result<u32, SettingError> {
    let refused = |_| SettingError::Version { variable: DRIVER_VERSION, value: value.to_owned() };
    let version = number(DRIVER_VERSION, value, 12_000..=99_990).map_err(refused)?;
    Ok(small(version))
}

/// Converts a number whose range has been checked.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn faults(value: &OsStr) -> Result<Vec<Fault>, SettingError> {
    let text = value.to_string_lossy();
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(fault).collect()
}

fn fault(entry: &str) -> Result<Fault, SettingError> {
    let refused = || SettingError::Fault { variable: FAULTS, entry: entry.to_owned() };
    let fields: Vec<&str> = entry.split(':').collect();
    let [call, nth, code] = fields[..] else { return Err(refused()) };
    let nth: Option<u64> = nth.parse().ok().filter(|nth| *nth > 0);
    let code: Option<u32> = code.parse().ok().filter(|code| *code > 0);
    let (Some(nth), Some(code), false) = (nth, code, call.is_empty()) else {
        return Err(refused());
    };
    Ok(Fault { call: call.to_owned(), nth, code })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{Fault, SettingError, Settings};

    fn of(variables: &[(&str, &str)]) -> Result<Settings, SettingError> {
        let own = |&(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        Settings::from_variables(variables.iter().map(own), &["CUDA_SIM_LEAKS"])
    }

    #[test]
    fn each_variable_says_one_setting() {
        let told = of(&[
            ("CUDA_SIM_SEED", "42"),
            ("CUDA_SIM_BACKGROUND", "1"),
            ("CUDA_SIM_DEVICES", "2"),
            ("CUDA_SIM_BYTES", "4194304"),
            ("CUDA_SIM_DRIVER_VERSION", "12080"),
            ("CUDA_SIM_OTHER_ANSWERS", "0"),
            ("CUDA_SIM_INSTRUCTIONS", "1000"),
            ("CUDA_SIM_PRINT_REPORTS", "1"),
            ("CUDA_SIM_FAULTS", "cuMemAllocAsync:3:2, *:10:999"),
            ("CUDA_SIM_LEAKS", "print"),
            ("HOME", "anything"),
        ]);
        let fault = |call: &str, nth, code| Fault { call: call.to_owned(), nth, code };
        let expected = Settings {
            seed: 42,
            background: true,
            devices: 2,
            bytes: 4 << 20,
            driver_version: 12_080,
            peers: true,
            other_answers: false,
            instructions: 1000,
            print_reports: true,
            faults: vec![fault("cuMemAllocAsync", 3, 2), fault("*", 10, 999)],
        };
        assert_eq!(told, Ok(expected));
        assert_eq!(of(&[]), Ok(Settings::default()));
    }

    #[test]
    fn what_a_variable_cannot_say_is_told_with_its_name_and_value() {
        for (name, value) in [
            ("CUDA_SIM_SEED", "-1"),
            ("CUDA_SIM_SEED", ""),
            ("CUDA_SIM_BACKGROUND", "yes"),
            ("CUDA_SIM_DEVICES", "5"),
            ("CUDA_SIM_DEVICES", "0"),
            ("CUDA_SIM_BYTES", "1G"),
            ("CUDA_SIM_DRIVER_VERSION", "12.8"),
            ("CUDA_SIM_DRIVER_VERSION", "11080"),
            ("CUDA_SIM_INSTRUCTIONS", "0"),
            ("CUDA_SIM_PRINT_REPORTS", "2"),
            ("CUDA_SIM_FAULTS", "cuMemAlloc_v2"),
            ("CUDA_SIM_FAULTS", "cuMemAlloc_v2:0:2"),
            ("CUDA_SIM_FAULTS", "cuMemAlloc_v2:1:0"),
            ("CUDA_SIM_FAULTS", ":1:2"),
            ("CUDA_SIM_SEDE", "1"),
        ] {
            let error = of(&[(name, value)]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(name), "{text}");
            let is_unknown = matches!(error, SettingError::Unknown { .. });
            assert_eq!(is_unknown, name == "CUDA_SIM_SEDE", "{text}");
            assert!(is_unknown || text.contains(value), "{text}");
        }
    }
}
