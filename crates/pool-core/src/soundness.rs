//! Lists programs that do not compile, one for each soundness guarantee. Each program misuses a
//! scope or a pool. The compiler rejects each program because of a borrow error or an unsatisfied
//! trait bound. Each example is compiled as a documentation test, which checks that the compiler
//! reports the error code stated in the example.
//!
//! The documentation of [`Scope`](crate::Scope#why-this-is-sound) explains why these guarantees are
//! sufficient. For misuses of handles, dynamic pools, and free lists, see the documentation of
//! [`DynamicPool`](crate::DynamicPool), [`Handle`](crate::Handle), and
//! [`FreeList`](crate::FreeList).
//!
//! # Scopes
//!
//! ## An outer scope cannot acquire while a view of an inner scope lives
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let inner = outer.scope();
//! let view = inner.acquire::<u8, _>(1);
//! outer.acquire::<u8, _>(1); // outer_used_while_inner_view_lives
//! view[0] = 1;
//! ```
//!
//! ## An outer scope cannot acquire while an inner scope is in use
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let inner = outer.scope();
//! outer.acquire::<u8, _>(1); // outer_used_while_inner_scope_lives
//! inner.acquire::<u8, _>(1);
//! ```
//!
//! ## An outer scope cannot be trimmed while an inner scope is in use
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let inner = outer.scope();
//! outer.trim(); // outer_trimmed_while_inner_scope_lives
//! inner.acquire::<u8, _>(1);
//! ```
//!
//! ## Two inner scopes of one outer scope cannot be in use at the same time
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let first = outer.scope();
//! let second = outer.scope(); // two_inner_of_one_outer
//! first.acquire::<u8, _>(1);
//! ```
//!
//! ## An inner scope cannot be swapped with its own outer scope
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let mut inner = outer.scope();
//! std::mem::swap(&mut inner, &mut outer); // swap_inner_with_outer
//! inner.acquire::<u8, _>(1);
//! ```
//!
//! ## A scope cannot be sent to another thread
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! std::thread::scope(|threads| {
//!     threads.spawn(move || scope.acquire::<u8, _>(1)[0] = 1); // scope_to_thread
//! });
//! ```
//!
//! ## A reference to a scope cannot be sent to another thread
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! std::thread::scope(|threads| {
//!     threads.spawn(|| scope.acquire::<u8, _>(1)[0] = 1); // scope_reference_to_thread
//! });
//! ```
//!
//! ## A scope cannot be cloned
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let copy = scope.clone(); // scope_not_clone
//! ```
//!
//! ## A scope cannot be created without a pool
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool_core::Scope::<Memory>::default(); // scope_has_no_default
//! ```
//!
//! # Elements
//!
//! ## Recycled bytes are never handed out as `bool`s
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let flags = scope.acquire::<bool, _>(8); // recycled_bool
//! ```
//!
//! ## Recycled bytes are never handed out as an array of `bool`s
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let flags = scope.acquire::<bool, _>([2, 4]); // recycled_bool_array
//! ```
//!
//! ## A view cannot make its block uninitialized
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let holes = scope.acquire::<std::mem::MaybeUninit<u8>, _>(8); // maybeuninit_never_offered
//! ```
//!
//! ## An element cannot own anything
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let boxes = scope.acquire_zeroed::<Option<Box<u8>>, _>(8); // element_with_drop
//! ```
//!
//! ## An element cannot have a larger alignment than the backend supports
//!
//! The maximum alignment of an element is
//! [`PoolBackend::MAX_ALIGN`](crate::PoolBackend::MAX_ALIGN). Host memory has no maximum alignment.
//! If a backend does not implement `align_block`, the maximum alignment is the alignment of its
//! blocks.
//!
//! ```compile_fail,E0080
//! # use pool_conformance::{DeferredBackend as Memory, Ledger, deferred::Queue};
//! # let mut pool = pool_core::Pool::<Memory>::new(Queue::new(Ledger::new()));
//! #[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
//! #[repr(C, align(4096))]
//! struct Page([u8; 4096]);
//! let scope = pool.scope();
//! let pages = scope.acquire::<Page, _>(1); // overaligned_element
//! ```
//!
//! # Elements of any `Copy` type
//!
//! ## A slice cannot outlive the data that its elements refer to
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let names = {
//!     let name = String::from("Ada");
//!     scope.acquire_with(1, |_| name.as_str()) // references_outlived_by_their_slice
//! };
//! assert_eq!(names, ["Ada"]);
//! ```
//!
//! ## An array cannot outlive the data that its elements refer to
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let cells = {
//!     let value = 3_u8;
//!     scope.acquire_with([2, 2], |_| &value) // references_outlived_by_their_array
//! };
//! assert_eq!(cells[[1, 1]], &3);
//! ```
//!
//! ## Data that a slice refers to cannot change while the slice lives
//!
//! ```compile_fail,E0506
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let mut value = 3_u8;
//! let references = scope.acquire_with(2, |_| &value);
//! value = 4; // referent_changed_while_its_slice_lives
//! assert_eq!(references, [&3, &3]);
//! ```
//!
//! ## Uninitialized memory cannot be read as a value
//!
//! ```compile_fail,E0308
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let numbers: &mut [f64] = scope.acquire_uninit::<f64, _>(8); // uninitialised_read_as_a_value
//! ```
//!
//! ## Uninitialized memory cannot outlive its scope
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! let bytes = {
//!     let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//!     pool.scope().scratch(8, 4096) // scratch_carried_out_of_its_pool
//! };
//! bytes[0].write(1);
//! ```
//!
//! ## A vector cannot outlive the data that its elements refer to
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let mut words = scope.acquire_vec(1);
//! {
//!     let word = String::from("gone");
//!     words.push(word.as_str()); // vector_of_references_outlives_them
//! }
//! words.pop();
//! ```
//!
//! ## A slice of a vector cannot be kept while the vector grows
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let mut numbers = scope.acquire_vec(1);
//! let before = &numbers[..];
//! numbers.push(3); // vector_grows_while_a_slice_of_it_lives
//! assert!(before.is_empty());
//! ```
//!
//! ## A scope cannot open an inner scope while one of its vectors lives
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut scope = pool.scope();
//! let mut numbers = scope.acquire_vec(1);
//! let inner = scope.scope(); // inner_scope_while_a_vector_may_grow
//! numbers.push(inner.acquire::<u8, _>(1)[0]);
//! ```
//!
//! ## A vector cannot outlive its pool
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! let mut numbers = {
//!     let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//!     pool.scope().acquire_fixed_vec::<u8>(1) // vector_carried_out_of_its_pool
//! };
//! numbers.clear();
//! ```
//!
//! ## References are never handed out as recycled contents
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let names = scope.acquire::<&str, _>(8); // recycled_references
//! ```
//!
//! ## An element that owns something cannot be copied into a pool
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let texts = scope.acquire_with(8, |i| i.to_string()); // owner_made_element_by_element
//! ```
//!
//! ## An element with padding cannot be used with every backend
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let pairs = scope.acquire_filled(8, (1_u8, 2_u32)); // padding_on_every_backend
//! ```
//!
//! ## The dynamic pool stores only plain data
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
//! let handle = pool.acquire_filled(8, (1_u8, 2_u32)); // padding_in_the_dynamic_pool
//! ```
//!
//! ## Only the slice that the body returns can be kept from an inner scope
//!
//! ```compile_fail,E0521
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut scope = pool.scope();
//! let mut second = None;
//! let first = scope.keep(|inner| {
//!     second = Some(inner.acquire::<u8, _>(1)); // second_array_kept
//!     inner.acquire::<u8, _>(1)
//! });
//! ```
//!
//! ## A kept array cannot refer to data that is not kept
//!
//! The compiler's error for this program has no error code.
//!
//! ```compile_fail
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut scope = pool.scope();
//! let kept = scope.keep(|inner| {
//!     let words = inner.acquire_filled(1, 'a');
//!     inner.acquire_with(1, |_| &words[0]) // kept_references_into_the_inner_scope
//! });
//! ```
//!
//! ## An outer scope cannot acquire while an array of an inner scope is about to be kept
//!
//! ```compile_fail,E0502
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut scope = pool.scope();
//! let kept = scope.keep(|inner| {
//!     scope.acquire::<u8, _>(1); // outer_used_while_keeping
//!     inner.acquire::<u8, _>(1)
//! });
//! ```
//!
//! ## A body cannot return a slice that may end before the pool
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut scope = pool.scope();
//! let mut local = [1_u8; 4];
//! let kept = scope.keep(|_| &mut local[..]); // local_array_kept
//! ```
//!
//! # Views and their scopes
//!
//! ## A view of an inner scope cannot outlive the outer scope
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = {
//!     let mut outer = pool.scope();
//!     outer.scope().acquire::<u8, _>(1) // inner_view_carried_out_of_outer
//! };
//! view[0] = 1;
//! ```
//!
//! ## An outer scope cannot be replaced while a view of an inner scope lives
//!
//! ```compile_fail,E0506
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut other_pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let view = outer.scope().acquire::<u8, _>(1);
//! outer = other_pool.scope(); // outer_replaced_while_inner_view_lives
//! view[0] = 1;
//! ```
//!
//! ## An outer scope cannot be moved while a view of an inner scope lives
//!
//! ```compile_fail,E0505
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let mut outer = pool.scope();
//! let view = outer.scope().acquire::<u8, _>(1);
//! drop(outer); // outer_moved_while_inner_view_lives
//! view[0] = 1;
//! ```
//!
//! # Pools
//!
//! ## A pool cannot open another scope while a view lives
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! let other = pool.scope(); // another scope while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool cannot be trimmed while a view lives
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! pool.trim(); // trimmed while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool cannot be moved while a view lives
//!
//! ```compile_fail,E0505
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! let moved = pool; // moved while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool cannot be dropped while a view lives
//!
//! ```compile_fail,E0505
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! drop(pool); // dropped while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A view cannot outlive its pool
//!
//! ```compile_fail,E0597
//! # use pool_conformance::HeapBackend as Memory;
//! let view = {
//!     let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//!     pool.scope().acquire::<u8, _>(1) // a view carried out of its pool
//! };
//! view[0] = 1;
//! ```
//!
//! ## A pool cannot be shared between threads
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! fn shared<T: Sync>() {}
//! shared::<pool_core::Pool<Memory>>(); // pool_not_sync
//! ```
//!
//! ## A pool cannot be cloned
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let copy = pool.clone(); // pool_not_clone
//! ```
