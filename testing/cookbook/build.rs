//! Builds the C of the recipe that calls C.

fn main() {
    println!("cargo::rerun-if-changed=src/box_blur.c");
    cc::Build::new().file("src/box_blur.c").compile("box_blur");
}
