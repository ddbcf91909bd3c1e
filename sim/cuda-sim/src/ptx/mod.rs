//! PTX: reads the text of a module and returns kernels that can run.
//!
//! `lexer`, `parser` and `body` parse the text. `decode` resolves names to numbers and instructions
//! to functions on bits. Every unknown construct is reported here, before anything runs.

#![forbid(unsafe_code)]

mod body;
mod carry;
mod compare;
mod convert;
mod decode;
mod directed;
mod dot;
mod error;
mod float;
mod function;
#[cfg(test)]
mod hostile;
mod image;
mod integer;
#[cfg(test)]
mod isa;
mod lexer;
mod link;
mod number;
pub(crate) mod op;
mod parser;
mod rounding;
mod syntax;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use convert::pair as convert_pair;
pub(crate) use error::{PtxError, Reading};
pub(crate) use image::bytes as initial_bytes;
pub(crate) use link::image as linked_image;
pub(crate) use op::Program;
pub(crate) use syntax::{Linkage, Module, Variable};
pub(crate) use types::Space;

/// Parses a module. The text may contain several linked modules.
///
/// # Errors
///
/// Fails if the text is not PTX, or uses features that are not modelled.
pub(crate) fn parse(text: &str) -> Reading<Module> {
    let Some(pieces) = link::pieces(text)? else { return piece(text, 1) };
    let read = pieces.into_iter().map(|(text, line)| piece(text, line));
    link::link(read.collect::<Reading<_>>()?)
}

fn piece(text: &str, line: u32) -> Reading<Module> {
    let tokens = lexer::tokens(text, line)?;
    parser::Parser::new(&tokens).module()
}

/// Decodes the kernels of a module whose variables have these addresses. Functions that no kernel
/// calls are also checked.
///
/// # Errors
///
/// Fails for the first unknown instruction, modifier, type or name.
pub(crate) fn programs(
    module: &Module,
    addresses: &HashMap<String, u64>,
    text: &str,
) -> Reading<Vec<Program>> {
    let text: Arc<str> = text.into();
    let mut kernels = Vec::new();
    for function in module.functions.iter().filter(|function| function.body.is_some()) {
        let program = decode::program(module, function, addresses, &text)?;
        if function.is_entry {
            kernels.push(program);
        }
    }
    Ok(kernels)
}
