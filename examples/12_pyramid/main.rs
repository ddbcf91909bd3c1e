//! Computes a photograph's pyramid and its edges, with and without a pool. The pictures are written
//! to `target/demo`.
//!
//! ```text
//! cargo run --release --example 12_pyramid
//! ```

#[cfg(test)]
mod tests;
mod workload;

use std::error::Error;
use std::path::Path;

use pool_facade::prelude::*;
use workload::{allocating, check, files, pooled};

fn main() -> Result<(), Box<dyn Error>> {
    let photograph = files::photograph()?;
    let expected = allocating::pyramid(&photograph);
    with_pool!(|scope| {
        let levels = pooled::pyramid(&mut scope, &photograph);
        check(&expected, &levels)?;

        for level in &levels {
            let edges = level.edges.pixels.iter().filter(|mark| **mark == 255).count();
            println!(
                "{:3} × {:3}: {edges:5} edge pixels",
                level.picture.width, level.picture.height
            );
        }
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = package.parent().unwrap_or(package).join("target/demo");
        files::write(&folder, &levels)?;
        println!("\nidentical in both versions; the pictures are in {}\n", folder.display());
        println!("{}", scope.stats());
    });
    Ok(())
}
