//! The thread-local pools of `Wgpu`: one list for all streams that a thread chooses. A thread takes
//! a pool whose stream matches.

use pool_wgpu::{Stream, Wgpu};

// The pools share the thread's stream, and keep it alive as long as they need it.
crate::local_pools!(Wgpu, context: Stream::for_thread, is_for_thread: Stream::is_for_thread);
