//! Gives the library the name by which a loaded CUDA driver is known to the dynamic loader.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Opened by its path, it then answers for `libcuda.so` in this process, and in no other.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
