//! The encoder with a tiny model, on each backend that is built, beside what an independent program computes.

mod golden;
mod host;
