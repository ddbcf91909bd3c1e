//! The command `pool-plan`, which is a module of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    pool_plan::command::main()
}
