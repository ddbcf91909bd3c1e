//! The page of compiler errors quotes the compiler. The compiler that runs this test checks each
//! section's program: it refuses the program with the section's error code, and with our own
//! messages where they are ours. The other texts are compared if the compiler has the release that
//! the page names. The documentation tests compile and run the fixes of each section.

use std::process::Command;

use crate::programs::{Program, check};

const PAGE: &str = include_str!("../../src/compiler_errors.md");

/// The words that begin the messages of this repository, which no compiler changes.
const OUR_WORDS: [&str; 4] = [
    "a scope can be used only on the thread",
    "a guard of `local()` can be used only on the thread",
    "is not `Copy`, and a pool never drops an element",
    "cannot be stacked",
];

/// A section of the page.
struct Section {
    /// The lines of the compiler's text.
    text: Vec<&'static str>,
    program: String,
    code: &'static str,
}

/// The contents of the first block of code that begins with `fence`, and the rest of that line.
fn block(section: &'static str, fence: &str) -> (&'static str, &'static str) {
    let begin = section.find(fence).expect("a block of code") + fence.len();
    let (line, rest) = section[begin..].split_once('\n').expect("a line");
    let end = rest.find("```").expect("the block ends");
    (line, &rest[..end])
}

fn section(title: &str) -> Section {
    let title = format!("# {title}\n");
    let begin = PAGE.find(&title).unwrap_or_else(|| panic!("no section {title:?}")) + title.len();
    let rest = &PAGE[begin..];
    let section = &rest[..rest.find("\n# ").unwrap_or(rest.len())];
    let (_, text) = block(section, "```text");
    let (code, source) = block(section, "```rust,compile_fail,");
    let program = format!("fn main() {{\n{source}}}\n");
    Section { text: text.lines().map(str::trim).collect(), program, code }
}

/// The release of the compiler that checks the programs, such as `1.95`.
fn release() -> String {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = version.split(' ').nth(1).expect("rustc 1.95.0 (…)");
    number.rsplit_once('.').map_or(number, |(release, _)| release).to_owned()
}

/// Checks that the compiler refuses the program of a section, with the section's text.
#[track_caller]
fn says(name: &str, title: &str) {
    let Section { text, program, code } = section(title);
    let (accepted, said) = check(&Program { name, features: "cpu", source: &program });
    assert!(!accepted, "{name} must not compile");
    assert!(text[0].starts_with(&format!("error[{code}]: ")), "{name} begins with {}", text[0]);
    assert!(said.contains(&format!("error[{code}]")), "{name}: no {code} in:\n{said}");
    let release = release();
    let is_of_the_page = PAGE.contains(&format!("those of Rust {release};"));
    for line in text {
        let is_ours = OUR_WORDS.iter().any(|words| line.contains(words));
        if is_ours || is_of_the_page {
            assert!(said.contains(line), "{name}: no {line:?} in:\n{said}");
        } else {
            println!("SKIPPED: the words {line:?}: they may differ in Rust {release}");
        }
    }
}

/// A test for each section, by the name of the attack that it comes from.
macro_rules! sections {
    ($($name:ident = $title:literal;)+) => {
        $(
            #[test]
            #[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
            fn $name() {
                says(stringify!($name), $title);
            }
        )+

        const TITLES: &[&str] = &[$($title),+];
    };
}

sections! {
    d01b_view_returned_from_the_macro = "A view leaves the block of `with_pool!`";
    d01c_view_returned_from_a_borrowed_scope = "A function returns a view of its caller's scope";
    d07_inner_scope_while_a_vector_lives = "A scope opens an inner scope while a vector of it grows";
    d03_outer_scope_acquires_from_the_inner = "An outer scope acquires while an inner scope or its view is in use";
    d12_vector_kept = "The body of `keep` returns a vector";
    d12_two_arrays_kept = "The body of `keep` returns two arrays";
    d04_scope_sent = "A scope is sent to another thread";
    d04b_guard_sent = "A guard of `local()` is sent to another thread";
    d08_element_with_a_destructor = "An element has a destructor";
    d09_element_that_is_not_copy = "An element is a type of your own that is not `Copy`";
    d13_stack_of_whole_buffers = "A stack of wgpu's buffers";
}

#[test]
fn every_section_of_the_page_is_checked() {
    // Lines of programs that rustdoc hides begin with `# `, too; the page has none.
    let titles: Vec<_> = PAGE.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    assert_eq!(titles, TITLES);
}

/// Other values that must not be sent to another thread, with the message of scopes.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn d04_a_vector_of_a_scope_and_a_future_say_so_too() {
    let vector = "use pool_facade::prelude::*;
        fn main() {
            let mut pool = Pool::<Cpu>::new(());
            let scope = pool.scope();
            let mut vector = scope.acquire_vec::<u8>(3);
            std::thread::scope(|threads| { threads.spawn(|| { vector.push(1); }); });
        }";
    let future = "use pool_facade::prelude::*;
        fn is_send<T: Send>(_: T) {}
        fn main() {
            is_send(async { with_pool!(|scope| { std::future::ready(()).await; scope.active_slots() }) });
        }";
    let words = ["GuardMayLeaveItsThread", "close the block of `with_pool!` before each `.await`"];
    for (name, source, words) in
        [("d04_vector", vector, &OUR_WORDS[..1]), ("d04_future", future, &words)]
    {
        let (accepted, said) = check(&Program { name, features: "cpu", source });
        assert!(!accepted, "{name} must not compile");
        for words in words {
            assert!(said.contains(words), "{name}: no {words:?} in:\n{said}");
        }
        assert!(!said.contains("NonNull"), "{name} names a pointer:\n{said}");
    }
}

/// Code that is generic over `T: Copy` may call what asks for `HostElement`.
#[test]
fn copy_is_all_that_a_host_element_needs() {
    use pool_facade::prelude::*;

    fn generic<'s, T: Copy + Ord + 's>(scope: &mut Scope<'s, Cpu>, values: &[T]) -> &'s mut [T] {
        scope.keep(|inner| {
            let sorted = inner.acquire_with(values.len(), |i| values[i]);
            sorted.sort();
            let mut vector = inner.acquire_vec(0);
            vector.extend_from_slice(sorted);
            let mut fixed = inner.acquire_fixed_vec(vector.len());
            fixed.extend_from_slice(&vector).ok();
            inner.acquire_from_iter(fixed.iter().copied().filter(|value| *value > values[0]))
        })
    }
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    assert_eq!(generic(&mut scope, &["b", "c", "a", "d"]), ["c", "d"]);
    assert_eq!(generic(&mut scope, &[Some((2, 'x')), None, Some((3, 'y'))]), [Some((3, 'y'))]);
}
