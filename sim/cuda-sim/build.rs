//! Sets the soname under which the dynamic loader knows a loaded CUDA driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Once a process has opened the library by its path, the loader resolves `libcuda.so` to this
    // library. Other processes are not affected.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so");
    }
}
