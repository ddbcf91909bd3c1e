//! The forms of each call, and the version of CUDA that introduced each form.

use std::collections::HashMap;
use std::sync::OnceLock;

/// All calls of the newest CUDA version that the simulator knows.
const TABLE: &str = include_str!("versions.txt");

/// The oldest supported version. Every supported driver provides the calls of this version.
const OLDEST: i32 = 12_000;

/// A call and all its forms.
#[derive(Debug)]
struct Call {
    /// The version that introduced each form.
    since: Vec<i32>,
    has_per_thread_form: bool,
}

/// The parsed table, which is read once.
#[derive(Debug, Default)]
struct Versions {
    calls: HashMap<&'static str, Call>,
    /// The version that introduced each call, by its exported name.
    since: HashMap<String, i32>,
}

fn versions() -> &'static Versions {
    static VERSIONS: OnceLock<Versions> = OnceLock::new();
    VERSIONS.get_or_init(|| {
        let mut versions = Versions::default();
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let Some(symbol) = words.next() else { continue };
            let since: Vec<i32> = words.filter_map(|word| word.parse().ok()).collect();
            for (index, since) in since.iter().enumerate() {
                versions.since.insert(export(symbol, index), *since);
            }
            let has_per_thread_form = line.ends_with(" per-thread");
            versions.calls.insert(symbol, Call { since, has_per_thread_form });
        }
        versions
    })
}

/// Returns the name under which a library exports a form. The first form is exported under the
/// call's own name.
fn export(symbol: &str, index: usize) -> String {
    if index == 0 { symbol.to_owned() } else { format!("{symbol}_v{}", index + 1) }
}

/// Returns the oldest version that provides an exported call. Calls that are older than all
/// supported versions count as part of the oldest one.
pub(super) fn since(name: &str) -> i32 {
    versions().since.get(name).copied().unwrap_or(OLDEST)
}

/// Returns the exported name of the form that a call has in a version, or `None` if that version
/// lacks the call. The name of a form selects that form.
pub(super) fn form(symbol: &str, version: i32) -> Option<String> {
    let Some(call) = versions().calls.get(symbol) else {
        let since = *versions().since.get(symbol)?;
        return (since <= version).then(|| symbol.to_owned());
    };
    let newest = call.since.iter().rposition(|since| *since <= version)?;
    Some(export(symbol, newest))
}

/// Returns `true` if a call has a form for per-thread default streams.
pub(super) fn has_per_thread_form(symbol: &str) -> bool {
    versions().calls.get(symbol).is_some_and(|call| call.has_per_thread_form)
}

#[cfg(test)]
pub(super) fn knows(name: &str) -> bool {
    versions().since.contains_key(name)
}

#[cfg(test)]
mod tests {
    use super::{form, has_per_thread_form, since, versions};

    #[test]
    fn a_version_has_the_newest_form_that_is_not_newer() {
        let of = |symbol, version| form(symbol, version);
        assert_eq!(of("cuMemAlloc", 2000).as_deref(), Some("cuMemAlloc"));
        assert_eq!(of("cuMemAlloc", 3020).as_deref(), Some("cuMemAlloc_v2"));
        assert_eq!(of("cuMemAlloc", 13_000).as_deref(), Some("cuMemAlloc_v2"));
        assert_eq!(
            of("cuStreamGetCaptureInfo", 12_020).as_deref(),
            Some("cuStreamGetCaptureInfo_v2")
        );
        assert_eq!(
            of("cuStreamGetCaptureInfo", 12_030).as_deref(),
            Some("cuStreamGetCaptureInfo_v3")
        );
        assert_eq!(of("cuMemFree_v2", 12_000).as_deref(), Some("cuMemFree_v2"));
        assert_eq!(of("cuMemAllocAsync", 11_010), None);
        assert_eq!(of("cuNothing", 13_000), None);
        assert!(has_per_thread_form("cuMemcpyAsync") && !has_per_thread_form("cuMemAlloc"));
    }

    #[test]
    fn versions_are_those_of_the_header() {
        assert_eq!(since("cuMemAdvise_v2"), 12_020);
        assert_eq!(since("cuEventElapsedTime_v2"), 12_080);
        assert_eq!(since("cuCtxCreate_v4"), 12_050);
        assert_eq!(since("cuGraphAddNode_v2"), 12_030);
        assert_eq!(since("simcuda_read"), 12_000);
        for (symbol, call) in &versions().calls {
            let ordered = call.since.is_sorted_by(|one, next| one < next);
            let known = call.since.iter().all(|since| (2000..=13_000).contains(since));
            assert!(ordered && known && !call.since.is_empty(), "{symbol}");
        }
    }
}
