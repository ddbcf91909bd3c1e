//! Defines the thread-local pools of `Wgpu`. One list contains the pools for all streams that a
//! thread selects. A thread uses an idle pool only if the pool was created for the stream that the
//! thread has selected.

use pool_wgpu::{Stream, Wgpu};

// The pools share the thread's stream, which stays alive as long as a pool needs it.
crate::local_pools!(Wgpu, context: Stream::for_thread, is_for_thread: Stream::is_for_thread);
