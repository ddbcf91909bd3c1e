//! The library that cudarc loaded: its presence, its file and its exports.

use std::ffi::{CString, c_char, c_void};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::driver::sys;

/// Returns `true` if a driver library can be loaded; checked once.
pub(super) fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| {
        // SAFETY: it loads libraries by the names of NVIDIA's driver and unloads them. Only their
        // initialisers can do harm, and this crate exists to run them.
        unsafe { sys::is_culib_present() }
    })
}

/// The simulated driver's own call that returns if a call is modelled.
type Models = unsafe extern "C" fn(*const c_char) -> u32;

/// Returns `true` if the driver exports this call, and a simulated one models it; `false` without a
/// driver.
#[must_use]
pub fn has(name: &str) -> bool {
    exports(name) && simulator_models(name)
}

fn exports(name: &str) -> bool {
    address_of(name).is_some()
}

/// Returns the address of a symbol of the driver.
fn address_of(name: &str) -> Option<u64> {
    if !is_present() {
        return None;
    }
    // SAFETY: the check above found a library, so this does not panic; its initialisers ran before
    // without harm.
    let library = unsafe { sys::culib() };
    // SAFETY: the type is a pointer, which any symbol has; it is never dereferenced or called here.
    let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) };
    symbol.ok().map(|symbol| symbol.addr() as u64)
}

/// Returns `true` for a real driver, which refuses no call by its name alone.
fn simulator_models(name: &str) -> bool {
    static MODELS: OnceLock<Option<Models>> = OnceLock::new();
    let models = MODELS.get_or_init(|| {
        // SAFETY: `exports` checked before that a library can be loaded.
        let library = unsafe { sys::culib() };
        // SAFETY: only the simulated driver has this symbol, and it has this type there.
        let found = unsafe { library.get::<Models>(b"simcuda_models") };
        found.ok().map(|symbol| *symbol)
    });
    let (Some(models), Ok(name)) = (models, CString::new(name)) else { return true };
    // SAFETY: the text ends with a zero byte and outlives the call; the library is never closed.
    unsafe { models(name.as_ptr()) != 0 }
}

/// Returns the file that the driver was loaded from, as the system maps it: the file itself, after
/// links. Returns `None` if none is loaded or the system does not list mappings.
#[must_use]
pub fn loaded_file() -> Option<PathBuf> {
    let address = address_of("cuInit")?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    file_at(&maps, address)
}

/// Returns the file that is mapped at an address, under any name.
fn file_at(maps: &str, address: u64) -> Option<PathBuf> {
    let holds = |line: &&str| range(line).is_some_and(|range| range.contains(&address));
    let line = maps.lines().find(holds)?;
    line.find('/').map(|start| PathBuf::from(line[start..].trim_end()))
}

/// Parses `7f02-7f03` at the beginning of a line.
fn range(line: &str) -> Option<Range<u64>> {
    let (first, end) = line.split_once(' ')?.0.split_once('-')?;
    Some(u64::from_str_radix(first, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::file_at;

    #[test]
    fn the_driver_is_found_by_its_address() {
        let maps = "\
7f00-7f01 r--p 00000000 08:01 11    /usr/lib/libcudart.so.13
7f01-7f02 rw-p 00000000 00:00 0
7f02-7f03 r-xp 00000000 08:01 12    /usr/lib/with space/libcuda.so.580.1
7f03-7f04 r-xp 00000000 08:01 13    /opt/plain.so
";
        let driver = Path::new("/usr/lib/with space/libcuda.so.580.1");
        assert_eq!(file_at(maps, 0x7f02).unwrap(), driver);
        assert_eq!(file_at(maps, 0x7f03).unwrap(), Path::new("/opt/plain.so"));
        assert_eq!(file_at(maps, 0x7f01), None);
        assert_eq!(file_at(maps, 0x7f04), None);
    }
}
