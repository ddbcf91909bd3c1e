//! Writes the JavaScript that loads a WebAssembly module: `web-bindgen MODULE.wasm DIRECTORY`.
//!
//! The program does the same as `wasm-bindgen --target web --no-typescript`. The published program
//! also contains a test runner with an HTTPS client and a server, which take longer to build than
//! everything else.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, directory] = &*arguments else {
        eprintln!("usage: web-bindgen MODULE.wasm DIRECTORY");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(false);
    bindgen.remove_name_section(true).remove_producers_section(true);
    let written = bindgen.web(true).and_then(|bindgen| bindgen.generate(directory));
    if let Err(error) = written {
        eprintln!("{error:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
