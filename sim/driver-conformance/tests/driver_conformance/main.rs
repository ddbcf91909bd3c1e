//! The questions. Each is a test that needs a CUDA device and its own process.

mod capture_events;
mod capture_modes;
mod capture_rules;
mod child_graphs;
mod default_stream;
mod device_memory;
mod double_destroy;
mod event_times;
mod graph_memory;
mod graph_reading;
mod graph_update;
mod host_copies;
mod memory_pools;
mod replay;
mod rows;
mod sticky_errors;
mod support;
mod virtual_memory;
