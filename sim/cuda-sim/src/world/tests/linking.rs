//! Linking, libraries, and the contexts of a thread.

use super::super::state::link::{Input, Log};
use super::super::{Shape, World};
use super::{THREAD, bytes, reach, world};
use crate::code::{Code, Outcome};
use crate::report::Mistake;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";
const ONE: Shape = Shape { grid: [1; 3], block: [1; 3], shared: 0 };

/// Writes the result of `twice` for this module's `counter`, and the size of the common variable.
const CALLER: &str = ".global .u32 counter = 20;
    .common .global .align 4 .b8 shared_by_all[4];
    .extern .func (.param .b32 result) twice (.param .b32 x);
    .visible .entry k(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %l<4>;
    ld.param.u64 %l0, [out]; ld.global.u32 %r0, [counter];
    { .param .b32 x; .param .b32 result;
    st.param.b32 [x], %r0; call.uni (result), twice, (x); ld.param.b32 %r1, [result]; }
    st.global.u32 [%l0], %r1; ret; }";

/// This `counter` and the one in `CALLER` are different variables.
const CALLED: &str = ".global .u32 counter = 2;
    .common .global .align 4 .b8 shared_by_all[16];
    .visible .func (.param .b32 result) twice (.param .b32 x) {
    .reg .b32 %r<4>;
    ld.param.b32 %r0, [x]; ld.global.u32 %r1, [counter]; mul.lo.u32 %r0, %r0, %r1;
    st.param.b32 [result], %r0; ret; }";

fn module(body: &str) -> String {
    format!("{HEAD}{body}\n")
}

fn linked(world: &mut World, bodies: &[&str]) -> Outcome<String> {
    let link = world.begin_link(THREAD, Log::default())?;
    for body in bodies {
        world.add_to_link(link, Input::Text(module(body)))?;
    }
    let image = world.complete_link(link)?.to_vec();
    assert_eq!(image.last(), Some(&0), "a caller may take it for a text");
    world.end_link(link)?;
    Ok(String::from_utf8(image[..image.len() - 1].to_vec()).unwrap())
}

/// Returns the number that kernel `k` writes.
fn run(world: &mut World, kernel: u64) -> Outcome<u32> {
    let out = world.allocate_plain(THREAD, 4)?;
    let function = world.function_to_launch(THREAD, kernel)?;
    let call = world.kernel_call(function, ONE, out.to_le_bytes().to_vec())?;
    world.launch_kernel(THREAD, 0, call, false)?;
    let goal = world.wait_for_context(THREAD)?;
    reach(world, goal)?;
    Ok(u32::from_le_bytes(bytes(world, out, 4).try_into().unwrap()))
}

#[test]
fn variables_lie_where_they_are_aligned_to() {
    let mut world = world(0);
    let text = module(".global .b8 before; .global .align 65536 .b8 pages[4];");
    let image = world.load_module(THREAD, &text).unwrap();
    let (address, size) = world.variable_of(image, "pages").unwrap();
    assert_eq!((address % 65_536, size), (0, 4));
    let text = module(".global .align 131072 .b8 pages[4];");
    assert_eq!(world.load_module(THREAD, &text), Err(Code::INVALID_PTX));
}

#[test]
fn linked_modules_call_each_other_and_keep_names_of_their_own() {
    let mut world = world(0);
    let image = linked(&mut world, &[CALLER, CALLED]).unwrap();
    let library = world.load_library(&image).unwrap();
    let kernel = world.kernel_of_library(library, "k").unwrap();
    assert_eq!(run(&mut world, kernel), Ok(40));
    let instance = world.module_of_library(THREAD, library).unwrap();
    let (_, size) = world.variable_of(instance, "shared_by_all").unwrap();
    assert_eq!(size, 16, "the largest of those that are common");
    // A linked image can be linked again, in this case with a function that needs no other module.
    let more = ".visible .entry other() { ret; }";
    let link = world.begin_link(THREAD, Log::default()).unwrap();
    world.add_to_link(link, Input::Text(image)).unwrap();
    world.add_to_link(link, Input::Text(module(more))).unwrap();
    let again = String::from_utf8(world.complete_link(link).unwrap().to_vec()).unwrap();
    let library = world.load_library(again.trim_end_matches('\0')).unwrap();
    assert_eq!(world.kernels_of_library(library).unwrap().len(), 2);
    assert_eq!(world.reports.text(), "");
}

#[test]
fn what_cannot_be_linked_is_told_by_its_name() {
    let mut world = world(0);
    let other = ".visible .func twice() { ret; }";
    for (bodies, expected) in [
        (vec![CALLER], "`twice` has no body to call"),
        (vec![CALLED, CALLED], "`twice` is defined in another module, too"),
        (vec![CALLER, other], "sizes or spaces differ"),
        (
            vec![".extern .global .u32 away; .visible .entry k() { ret; }"],
            "`away` is defined in no",
        ),
        (vec![".visible .entry k() { frobnicate.u32 %r0; }"], "frobnicate"),
        (vec![".common .global .u32 x = 1;"], "`.common` is for global variables without a value"),
    ] {
        assert_eq!(linked(&mut world, &bodies), Err(Code::INVALID_PTX), "{expected}");
        let said = world.reports.last(Mistake::InvalidPtx).unwrap();
        assert!(said.contains(expected), "{said}");
    }
    let link = world.begin_link(THREAD, Log::default()).unwrap();
    let machine_code = Input::Other("machine code");
    assert_eq!(world.add_to_link(link, machine_code), Err(Code::NOT_SUPPORTED));
    assert_eq!(world.complete_link(link).map(<[u8]>::len), Err(Code::INVALID_VALUE));
    world.end_link(link).unwrap();
    assert_eq!(world.end_link(link), Err(Code::INVALID_HANDLE));
    assert_eq!(
        linked(&mut world, &[".weak .func a() { ret; }", ".visible .func a() { ret; }"]).map(drop),
        Ok(())
    );
}

#[test]
fn a_library_is_a_module_on_each_device_that_needs_it() {
    let mut world = world(0);
    let text = module(".visible .global .u32 own = 7; .visible .entry k() { ret; }");
    let library = world.load_library(&text).unwrap();
    let kernel = world.kernel_of_library(library, "k").unwrap();
    assert_eq!(world.kernel_of_library(library, "no"), Err(Code::NOT_FOUND));
    assert_eq!(world.library_of_kernel(kernel), Ok(library));
    assert_eq!(world.leaks(), "1 of kind library");
    let first = world.module_of_library(THREAD, library).unwrap();
    assert_eq!(world.module_of_library(THREAD, library), Ok(first));
    // The other device does not have a context yet.
    assert_eq!(world.function_on(kernel, 1), Err(Code::INVALID_CONTEXT));
    let context = world.retain(1).unwrap();
    world.push_context(THREAD, context).unwrap();
    let second = world.module_of_library(THREAD, library).unwrap();
    let address = |world: &mut World, module| world.variable_of(module, "own").unwrap().0;
    assert_ne!(address(&mut world, first), address(&mut world, second));
    assert_eq!(world.leaks(), "1 of kind library");
    world.unload_library(library).unwrap();
    assert_eq!(world.leaks(), "");
    assert_eq!(world.function_to_launch(THREAD, kernel), Err(Code::INVALID_HANDLE));
    assert!(world.reports.text().starts_with("stale handle: "), "{}", world.reports.text());
    let broken = module(".visible .entry k() { frobnicate.u32 %r0; }");
    assert_eq!(world.load_library(&broken), Err(Code::INVALID_PTX));
}

#[test]
fn contexts_of_a_thread_are_a_stack() {
    let mut world = world(0);
    let first = world.current_context(THREAD).unwrap();
    let second = world.retain(1).unwrap();
    world.push_context(THREAD, second).unwrap();
    assert_eq!(world.current_device(THREAD), Ok(1));
    // The new current context replaces the previous one.
    world.set_current(THREAD, first).unwrap();
    assert_eq!(world.pop_context(THREAD), Ok(first));
    assert_eq!(world.current_context(THREAD), Ok(first));
    world.set_current(THREAD, 0).unwrap();
    assert_eq!(world.current_context(THREAD), Ok(0));
    assert_eq!(world.pop_context(THREAD), Err(Code::INVALID_CONTEXT));
    world.set_current(THREAD, second).unwrap();
    world.reset_context(1).unwrap();
    assert_eq!(world.current_device(THREAD), Err(Code::CONTEXT_IS_DESTROYED));
    assert!(!world.is_retained(1));
}
