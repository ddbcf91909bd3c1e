//! Linking modules.

use super::foreign::{In, Out, Text};
use super::session::Session;
use crate::code::{Code, Outcome};
use crate::world::{Input, Log};

/// The values of `CUjit_option` through which a call returns something to the caller.
const WALL_TIME: u32 = 2;
const INFORMATION_LENGTH: u32 = 4;
const ERRORS: u32 = 5;
const ERRORS_LENGTH: u32 = 6;
/// The first number that is not an option.
const OPTIONS: u32 = 35;

/// The names of inputs that cannot be linked, by their number in `CUjitInputType`. Every kind
/// except PTX is listed.
const KINDS: [&str; 6] =
    ["machine code", "", "fat binaries", "object files", "archives of object files", "NVVM's code"];
const MACHINE_CODE: u32 = 0;
const PTX: u32 = 1;

/// Returns the caller's buffer for the error log. The other options only concern compilation.
fn log(count: u32, options: In<u32>, values: Out<u64>) -> Outcome<Log> {
    let mut log = Log::default();
    for (index, option) in options.array(count as usize)?.into_iter().enumerate() {
        let value = values.as_input().get_at(index)?;
        match option {
            ERRORS => log.address = value,
            ERRORS_LENGTH => {
                log.bytes = usize::try_from(value & 0xFFFF_FFFF).unwrap_or_default();
                log.length = Some(values.address_of(index));
            }
            // Only errors are logged, and times have no meaning in a simulation.
            WALL_TIME | INFORMATION_LENGTH => values.put_at(index, 0)?,
            _ if option >= OPTIONS => return Err(Code::INVALID_VALUE),
            _ => {}
        }
    }
    Ok(log)
}

/// Reads one input of a link: text, or the machine code that an earlier link produced.
fn input(kind: u32, bytes: &[u8]) -> Outcome<Input> {
    let kind_name = KINDS.get(kind as usize).ok_or(Code::INVALID_VALUE)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok();
    match text.filter(|text| matches!(kind, PTX | MACHINE_CODE) && text.contains(".version")) {
        Some(text) => Ok(Input::Text(text.to_owned())),
        None if kind == PTX => Err(Code::INVALID_PTX),
        None => Ok(Input::Other(kind_name)),
    }
}

fn add(session: &mut Session, link: u64, kind: u32, bytes: &[u8]) -> Outcome<()> {
    let input = input(kind, bytes)?;
    session.add_to_link(link, input)
}

driver_calls! {
    fn cuLinkCreate_v2(
        count: u32,
        options: In<u32>,
        values: Out<u64>,
        place: Out<u64>,
    ) |session| {
        let thread = session.thread;
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let log = log(count, options, values)?;
        place.put(session.begin_link(thread, log)?)
    }

    fn cuLinkAddData_v2(
        link: u64,
        kind: u32,
        data: In<u8>,
        bytes: usize,
        _name: Text,
        _count: u32,
        _options: In<u32>,
        _values: In<u64>,
    ) |session| { add(session, link, kind, &data.array(bytes)?) }

    fn cuLinkAddFile_v2(
        link: u64,
        kind: u32,
        path: Text,
        _count: u32,
        _options: In<u32>,
        _values: In<u64>,
    ) |session| {
        let bytes = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        add(session, link, kind, &bytes)
    }

    fn cuLinkComplete(link: u64, place: Out<*const u8>, length: Out<usize>) |session| {
        let image = session.complete_link(link)?;
        let (start, bytes) = (image.as_ptr(), image.len());
        length.put_if_wanted(bytes);
        place.put(start)
    }

    fn cuLinkDestroy(link: u64) |session| { session.end_link(link) }
}

#[cfg(test)]
mod tests {
    use super::{MACHINE_CODE, PTX, input};
    use crate::code::Code;
    use crate::world::Input;

    #[test]
    fn text_is_taken_also_as_what_another_link_has_made() {
        let text = b".version 8.0\n.target sm_80\n\0what lies behind it";
        for kind in [PTX, MACHINE_CODE] {
            let taken = input(kind, text).unwrap();
            assert!(matches!(taken, Input::Text(taken) if taken.ends_with("sm_80\n")), "{kind}");
        }
        let refused = |kind, bytes: &[u8]| match input(kind, bytes) {
            Ok(Input::Other(what)) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(MACHINE_CODE, b"\x7fELF"), "machine code");
        assert_eq!(refused(4, text), "archives of object files");
        assert!(matches!(input(PTX, b"\xff"), Err(Code::INVALID_PTX)));
        assert!(matches!(input(6, text), Err(Code::INVALID_VALUE)));
    }
}
