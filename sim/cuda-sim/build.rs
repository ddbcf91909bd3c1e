//! Sets the soname under which the dynamic loader knows a loaded CUDA driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Once the library is opened by its path, the loader resolves `libcuda.so` to it, in this
    // process alone.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
