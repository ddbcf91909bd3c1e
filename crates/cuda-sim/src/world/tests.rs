//! Tests of the world without its C interface.
