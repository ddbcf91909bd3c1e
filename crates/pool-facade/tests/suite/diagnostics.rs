//! Programs that must not compile, with our own messages. The compiler that runs this test checks
//! small programs, offline, with the versions of the workspace's lock file. Its output is searched
//! for our text and for error codes, not for the compiler's own wording.

use crate::programs::{Program, accepted, refused};

/// Programs that are right: without them a wrong manifest would look like a refusal.
const ACCEPTED: Program<'static> = Program {
    name: "accepted",
    features: "ndarray",
    source: r#"
        use pool_facade::{ndarray, prelude::*};
        fn main() {
            with_pool!(Cpu, |scope| {
                scope.acquire::<f64, _>(3);
                scope.acquire_zeroed::<bool, _>(3);
                let left: &mut ndarray::ArrayRef<f64, ndarray::IxDyn> = scope.acquire_array_dyn(&[2]);
                let layout: &mut ndarray::LayoutRef<f64, ndarray::IxDyn> = left.as_mut();
                layout.invert_axis(ndarray::Axis(0));
            });
        }
    "#,
};

const ACCEPTED_WITHOUT_BACKEND: Program<'static> = Program {
    name: "accepted_without_backend",
    features: "",
    source: r#"
        use pool_facade::prelude::*;
        fn take<B: PoolBackend>(scope: &Scope<'_, B>) { scope.acquire_zeroed::<u8, _>(1); }
        fn main() { let _marker = (Cpu, Cuda); }
    "#,
};

const CPU_WITHOUT_ITS_FEATURE: Program<'static> = Program {
    name: "cpu_without_its_feature",
    features: "",
    source: r#"
        use pool_facade::prelude::*;
        fn main() { with_pool!(|scope| { scope.active_slots(); }); }
    "#,
};

const LOCAL_WITHOUT_ITS_FEATURE: Program<'static> = Program {
    name: "local_without_its_feature",
    features: "",
    source: r#"
        fn main() { pool_facade::local::<pool_facade::Cpu>(); }
    "#,
};

/// A program whose `main` consists of these pieces.
macro_rules! main_of {
    ($name:literal, $($piece:literal),+) => {
        Program {
            name: $name,
            features: "cpu",
            source: concat!("use pool_facade::prelude::*;\nfn main() { ", $($piece),+, " }\n"),
        }
    };
}

/// A call of one of the macros.
macro_rules! calling {
    ($name:literal, $call:literal) => {
        main_of!($name, "let _ = ", $call, ";")
    };
}

/// An acquire in a scope.
macro_rules! acquiring {
    ($name:literal, $call:literal) => {
        main_of!($name, "with_pool!(|scope| { let _ = scope.", $call, "; });")
    };
}

const CUDA_WITHOUT_ITS_FEATURE: Program<'static> =
    calling!("cuda_without_its_feature", "with_pool!(Cuda, |scope| { scope.active_slots(); })");

const WGPU_WITHOUT_ITS_FEATURE: Program<'static> =
    calling!("wgpu_without_its_feature", "with_pool!(Wgpu, |scope| { scope.active_slots(); })");

const OTHER_FORMS: [(&str, Program<'static>); 7] = [
    ("with_pool!", calling!("arrow", "with_pool!(scope => { scope.active_slots() })")),
    ("with_pool!", calling!("arrow_backend", "with_pool!(Cpu, scope => { scope.active_slots() })")),
    ("with_pool!", calling!("arrow_colon", "with_pool!(Cpu: a, Cpu: b => { a.active_slots() })")),
    ("with_pool!", calling!("mutable", "with_pool!(|mut scope| { scope.active_slots() })")),
    ("try_with_pool!", calling!("try_arrow", "try_with_pool!(scope => { scope.active_slots() })")),
    (
        "try_with_pool!",
        calling!("try_arrow_backend", "try_with_pool!(Cpu, scope => { scope.active_slots() })"),
    ),
    (
        "try_with_pool!",
        calling!("try_arrow_colon", "try_with_pool!(Cpu: a, Cpu: b, => { a.active_slots() })"),
    ),
];

const NOT_PLAIN_DATA: Program<'static> = Program {
    name: "not_plain_data",
    features: "cpu",
    source: r#"
        use pool_facade::prelude::*;
        #[derive(Clone, Copy)]
        struct Named(&'static str);
        fn main() {
            with_pool!(|scope| { scope.acquire_filled(3, Named("x")); });
        }
    "#,
};

const NOT_RECYCLABLE: Program<'static> = acquiring!("not_recyclable", "acquire::<bool, _>(8)");

const NOT_RECYCLABLE_ARRAY: Program<'static> =
    acquiring!("not_recyclable_array", "acquire::<char, _>([2, 2])");

const RECYCLED_TUPLE: Program<'static> = acquiring!("recycled_tuple", "acquire::<(u32, u32)>(3)");

/// Types that are not elements, with the compiler's names for them.
const NO_ELEMENTS: [(&str, Program<'static>); 4] = [
    ("(u32, u8)", acquiring!("filled_tuple", "acquire_filled(3, (1_u32, 2_u8))")),
    ("Option<u8>", acquiring!("filled_option", "acquire_filled(3, None::<u8>)")),
    ("&str", acquiring!("filled_reference", "acquire_filled(3, \"static\")")),
    ("String", acquiring!("filled_string", "acquire_filled(3, String::new())")),
];

/// Invalid shapes, and their names in the message.
const NO_SHAPES: [(&str, Program<'static>); 4] = [
    ("u32", acquiring!("length_of_32_bits", "acquire::<f32, _>(8_u32)")),
    ("[u32; 2]", acquiring!("lengths_of_32_bits", "acquire_zeroed::<f32, _>([2_u32, 3])")),
    ("Vec<usize>", acquiring!("owned_lengths", "acquire_filled(vec![2_usize, 3], 1.0)")),
    ("[usize; 7]", acquiring!("seven_axes", "acquire::<f32, _>([1_usize; 7])")),
];

/// A rank that is known at run time, where the index would need a fixed number of axes.
const NO_FIXED_SHAPE: Program<'static> =
    acquiring!("elements_of_a_dynamic_shape", "acquire_uninit::<u8, &[usize]>(&[2, 3])");

/// Two headers of arrays of dynamic rank, as a reference type of `ndarray`, and operations on them.
macro_rules! swapped {
    ($name:literal, $kind:literal, $how:literal) => {
        Program {
            name: $name,
            features: "ndarray",
            source: concat!(
                "use pool_facade::{ndarray, prelude::*};\n",
                "type Header = ndarray::",
                $kind,
                "<f64, ndarray::IxDyn>;\n",
                "fn main() {\n",
                "    with_pool!(Cpu, Cpu, |outer, inner| {\n",
                "        let left: &mut Header = outer.acquire_array_dyn::<f64>(&[2]).as_mut();\n",
                "        let right: &mut Header = inner.acquire_array_dyn::<f64>(&[2]).as_mut();\n",
                "        ",
                $how,
                "\n    });\n",
                "}\n"
            ),
        }
    };
}

const SWAPPED: [Program<'static>; 4] = [
    swapped!("swapped_layouts", "LayoutRef", "std::mem::swap(left, right);"),
    swapped!("swapped_raws", "RawRef", "std::mem::swap(left, right);"),
    swapped!("replaced_layout", "LayoutRef", "let _ = std::mem::replace(left, *right);"),
    swapped!("assigned_layout", "LayoutRef", "*left = *right;"),
];

const SWAPPED_ARRAYS: Program<'static> = Program {
    name: "swapped_arrays",
    features: "ndarray",
    source: r#"
        use pool_facade::prelude::*;
        fn main() {
            with_pool!(Cpu, Cpu, |outer, inner| {
                let left = outer.acquire_array_dyn::<f64>(&[2]);
                let right = inner.acquire_array_dyn::<f64>(&[2]);
                std::mem::swap(left, right);
            });
        }
    "#,
};

/// The list of a thread's idle pools, accessed through the bound of a type parameter, which needs
/// no trait in scope and no name for it.
macro_rules! reaching {
    ($name:literal, $call:literal) => {
        Program {
            name: $name,
            features: "cpu",
            source: concat!(
                "use pool_facade::{LocalPool, prelude::*};\n",
                "fn reach<B: LocalPool>(mine: Pool<B>) {\n    ",
                $call,
                "\n}\n",
                "fn main() { reach::<Cpu>(Pool::new(())); }\n"
            ),
        }
    };
}

const REACHING: [(&str, Program<'static>); 7] = [
    (
        "take",
        reaching!("reaching_take", "B::with_idle_pools(|idle| { let _ = (mine, idle.take()); });"),
    ),
    ("`list`", reaching!("reaching_list", "B::with_idle_pools(|idle| idle.list.close());")),
    (
        "`config`",
        reaching!(
            "reaching_config",
            "B::with_idle_pools(|idle| idle.config.set(PoolConfig::new()));"
        ),
    ),
    ("`armed`", reaching!("reaching_closer", "B::with_closer(|closer| closer.armed.set(true));")),
    ("E0507", reaching!("reaching_by_value", "B::with_idle_pools(|idle| drop(*idle));")),
    (
        "E0594",
        reaching!(
            "reaching_set",
            "B::with_idle_pools(|idle| *idle = pool_facade::IdlePools::new());"
        ),
    ),
    (
        "direct",
        reaching!("reaching_access", "let _ = unsafe { pool_facade::ListAccess::<B>::direct() };"),
    ),
];

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn right_programs_compile() {
    accepted(&ACCEPTED);
    accepted(&ACCEPTED_WITHOUT_BACKEND);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn a_marker_whose_feature_is_off_names_the_feature() {
    let of_cpu = [
        "Cpu` has no thread-local pools",
        "`Cpu` needs the feature `cpu` of `pool-facade`",
        "E0277",
    ];
    refused(&CPU_WITHOUT_ITS_FEATURE, &of_cpu);
    refused(&LOCAL_WITHOUT_ITS_FEATURE, &of_cpu);
    let of_cuda = ["Cuda` has no thread-local pools", "the feature `cuda`", "E0277"];
    refused(&CUDA_WITHOUT_ITS_FEATURE, &of_cuda);
    let of_wgpu = ["Wgpu` has no thread-local pools", "the feature `wgpu`", "E0277"];
    refused(&WGPU_WITHOUT_ITS_FEATURE, &of_wgpu);
}

/// Every other form of the macros is refused with the forms that they take.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn other_forms_of_the_macros_are_rejected_with_the_right_one() {
    for (called, program) in &OTHER_FORMS {
        let reported = format!(
            "write `{called}(|scope| {{ … }})`, `{called}(Backend, |scope| {{ … }})` or `{called}(A, B, |a, b| {{ … }})`; a scope is mutable without `mut`"
        );
        refused(program, &[&reported]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn an_element_that_is_not_plain_data_says_what_to_do() {
    let texts = [
        "Named` is not plain data, which this acquire requires",
        "derive it: `#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::NoUninit)] #[repr(C)]`",
        "E0277",
    ];
    refused(&NOT_PLAIN_DATA, &texts);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn an_element_that_cannot_be_recycled_names_the_way_out() {
    let texts = |element: &str| {
        format!("`{element}` cannot be handed out with recycled contents, which may be any bytes")
    };
    let way_out = "use `acquire_zeroed`, `acquire_filled`, `acquire_from` or `acquire_with`";
    refused(&NOT_RECYCLABLE, &[&texts("bool"), way_out, "E0277"]);
    refused(&NOT_RECYCLABLE_ARRAY, &[&texts("char"), way_out, "E0277"]);
}

/// A type that no derive makes an element has another way out.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn tuples_options_references_and_owners_are_rejected_with_advice() {
    let way_out = [
        "for a tuple of one type use an array, `[u32; 2]` for `(u32, u32)`",
        "host scopes have `acquire_with`: `acquire_with(n, |_| value)` repeats",
        "a type with `Drop`, such as `String` or `Vec`, needs an owner: use `boxed`, `boxed_slice`",
        "E0277",
    ];
    let recycled = ["`(u32, u32)` cannot be handed out with recycled contents"];
    refused(&RECYCLED_TUPLE, &[&recycled[..], &way_out].concat());
    for (name, program) in &NO_ELEMENTS {
        let said = format!("`{name}` is not plain data, which this acquire requires");
        refused(program, &[&[said.as_str()], &way_out[..]].concat());
    }
}

/// The error for a value that is not a shape lists the shapes.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn what_is_no_shape_is_rejected_with_the_shapes() {
    let shapes = "shapes are: `usize` for a length; `[usize; N]` or a tuple of `usize` for 1 to 6 axes; \
                  `&[usize]` for a number of axes known at run time";
    for (name, program) in &NO_SHAPES {
        let said = format!("`{name}` is not the shape of an array");
        refused(program, &[&said, shapes, "E0277"]);
    }
    let said = "`&[usize]` is not a shape whose number of axes is known at compile time";
    refused(&NO_FIXED_SHAPE, &[said, "E0277"]);
}

/// The cached header of an array of dynamic rank is lent as an unsized reference: code that would
/// put another array's address into it does not compile.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn dynamic_arrays_cannot_be_swapped_or_replaced() {
    for program in SWAPPED.iter().chain([&SWAPPED_ARRAYS]) {
        refused(program, &["E0277"]);
    }
}

/// An explicit pool cannot get into the thread's list, and the list cannot be closed from outside.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri starts no compiler")]
fn the_list_of_a_thread_is_out_of_reach() {
    for (function, program) in &REACHING {
        refused(program, &[function]);
    }
}
