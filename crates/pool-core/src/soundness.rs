//! Programs that do not compile, one for each promise: misuses of scopes and pools that the borrow
//! checker and the bounds of the acquire family refuse. The documentation tests compile each
//! example, which must fail with the error that it names.
//!
//! The section [`Scope`](crate::Scope#why-this-is-sound) argues that these promises suffice. The
//! misuses of handles, the dynamic pool and lists of idle pools are on their own pages:
//! [`DynamicPool`](crate::DynamicPool), [`Handle`](crate::Handle), [`FreeList`](crate::FreeList).
//!
//! # Scopes
//!
//! ## An outer scope does not acquire while a view of an inner scope lives
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
//! ## An outer scope does not acquire while an inner scope is in use
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
//! ## An outer scope does not trim while an inner scope is in use
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
//! ## Two inner scopes of one outer scope are not in use at once
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
//! ## An inner scope is not swapped with its own outer scope
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
//! ## A scope is not sent to another thread
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
//! ## A reference to a scope is not sent to another thread
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
//! ## A scope is not cloned
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let copy = scope.clone(); // scope_not_clone
//! ```
//!
//! ## A scope is not made without a pool
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool_core::Scope::<Memory>::default(); // scope_has_no_default
//! ```
//!
//! # Elements
//!
//! ## Recycled bytes are not handed out as `bool`s
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let flags = scope.acquire::<bool, _>(8); // recycled_bool
//! ```
//!
//! ## Recycled bytes are not handed out as an array of `bool`s
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let flags = scope.acquire::<bool, _>([2, 4]); // recycled_bool_array
//! ```
//!
//! ## A view does not allow its block to become uninitialised
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let holes = scope.acquire::<std::mem::MaybeUninit<u8>, _>(8); // maybeuninit_never_offered
//! ```
//!
//! ## An element does not own anything
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let boxes = scope.acquire_zeroed::<Option<Box<u8>>, _>(8); // element_with_drop
//! ```
//!
//! ## An element has no higher alignment than the backend's blocks
//!
//! The limit is [`PoolBackend::MAX_ALIGN`](crate::PoolBackend::MAX_ALIGN). Host memory has none. If
//! a backend's blocks are not divided, such as a device's, the limit is the alignment of its
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
//! # Elements of any type that is `Copy`
//!
//! ## A slice does not outlive the values that its elements refer to
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
//! ## An array does not outlive the values that its elements refer to
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
//! ## The values that a slice refers to are not changed while the slice lives
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
//! ## Uninitialised memory is not read as a value
//!
//! ```compile_fail,E0308
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let numbers: &mut [f64] = scope.acquire_uninit::<f64, _>(8); // uninitialised_read_as_a_value
//! ```
//!
//! ## Uninitialised memory does not outlive its scope
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
//! ## A vector does not outlive the values that its elements refer to
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
//! ## A slice of a vector is not kept while the vector grows
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
//! ## A scope opens no inner scope while one of its vectors may grow
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
//! ## A vector does not outlive its pool
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
//! ## References are not handed out recycled
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let names = scope.acquire::<&str, _>(8); // recycled_references
//! ```
//!
//! ## An element that owns something is not copied into a pool
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let texts = scope.acquire_with(8, |i| i.to_string()); // owner_made_element_by_element
//! ```
//!
//! ## An element with padding is not an element of every backend
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let scope = pool.scope();
//! let pairs = scope.acquire_filled(8, (1_u8, 2_u32)); // padding_on_every_backend
//! ```
//!
//! ## The dynamic pool keeps only plain data
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! let mut pool = pool_core::DynamicPool::<Memory>::new(Default::default());
//! let handle = pool.acquire_filled(8, (1_u8, 2_u32)); // padding_in_the_dynamic_pool
//! ```
//!
//! ## An inner scope keeps only the value that its body returns
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
//! ## A kept value does not refer to one that is not kept
//!
//! This error has no number in the compiler.
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
//! ## An outer scope does not acquire while an array of an inner scope is about to be kept
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
//! ## A body returns no value that may end before the pool
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
//! ## A view of an inner scope does not outlive the outer scope
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
//! ## An outer scope is not replaced while a view of an inner scope lives
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
//! ## An outer scope is not moved while a view of an inner scope lives
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
//! ## A pool does not open another scope while a view lives
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! let other = pool.scope(); // another scope while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool is not trimmed while a view lives
//!
//! ```compile_fail,E0499
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! pool.trim(); // trimmed while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool is not moved while a view lives
//!
//! ```compile_fail,E0505
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! let moved = pool; // moved while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A pool is not dropped while a view lives
//!
//! ```compile_fail,E0505
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let view = pool.scope().acquire::<u8, _>(1);
//! drop(pool); // dropped while a view lives
//! view[0] = 1;
//! ```
//!
//! ## A view does not outlive its pool
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
//! ## A pool is not shared by threads
//!
//! ```compile_fail,E0277
//! # use pool_conformance::HeapBackend as Memory;
//! fn shared<T: Sync>() {}
//! shared::<pool_core::Pool<Memory>>(); // pool_not_sync
//! ```
//!
//! ## A pool is not cloned
//!
//! ```compile_fail,E0599
//! # use pool_conformance::HeapBackend as Memory;
//! # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
//! let copy = pool.clone(); // pool_not_clone
//! ```
