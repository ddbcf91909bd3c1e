//! Which forms of a call there are, and since which version of CUDA.

use std::collections::HashMap;
use std::sync::OnceLock;

/// All calls of the newest version that is known.
const TABLE: &str = include_str!("versions.txt");

/// The oldest supported version: every supported driver has what there was by then.
const OLDEST: i32 = 12_000;

/// One call with all its forms.
#[derive(Debug)]
struct Call {
    /// The version in which each form came.
    since: Vec<i32>,
    has_per_thread_form: bool,
}

/// The table, read once.
#[derive(Debug, Default)]
struct Versions {
    calls: HashMap<&'static str, Call>,
    /// By the name that a library exports.
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

/// The name under which a library exports a form: the first has the name of the call.
fn export(symbol: &str, index: usize) -> String {
    if index == 0 { symbol.to_owned() } else { format!("{symbol}_v{}", index + 1) }
}

/// The oldest version that has an exported call, and what is older than all supported ones counts as the oldest.
pub(super) fn since(name: &str) -> i32 {
    versions().since.get(name).copied().unwrap_or(OLDEST)
}

/// The exported name of a call in the form that a version has; `None` where it has none. A name that is a form's already
/// stands for that form.
pub(super) fn form(symbol: &str, version: i32) -> Option<String> {
    let Some(call) = versions().calls.get(symbol) else {
        let since = *versions().since.get(symbol)?;
        return (since <= version).then(|| symbol.to_owned());
    };
    let newest = call.since.iter().rposition(|since| *since <= version)?;
    Some(export(symbol, newest))
}

/// Whether a call has a form with the thread's own default stream.
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
