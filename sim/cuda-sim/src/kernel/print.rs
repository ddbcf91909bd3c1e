//! `vprintf`, which `printf` in CUDA C++ calls with the addresses of the format and the arguments.

use super::engine::{Engine, size};
use super::launch::Fault;
use super::printed::Printed;
use super::warp::{Warp, lanes};
use crate::printf::{Argument, BUFFER, Conversion, Piece, pieces};
use crate::ptx::op::Print;
use crate::report::Mistake;

/// The largest number of arguments that are printed. Conversions beyond this limit are printed
/// unchanged.
const MOST_ARGUMENTS: usize = 32;

/// The number of printed bytes that count as one instruction. Like an instruction, the count covers
/// 32 threads.
const BYTES_OF_A_STEP: usize = 32;
/// The largest number of invalid conversions reported for one launch.
const MOST_CONVERSIONS: usize = 32;

/// Reads arguments one after the other. Each argument is aligned to a multiple of its size.
struct Reader {
    next: u64,
    lane: usize,
    at: usize,
}

impl Engine<'_> {
    /// Prints for each thread. Each thread receives the number of arguments that it printed, or -1
    /// if the format's address is null.
    pub(super) fn print(
        &mut self,
        warp: &mut Warp,
        wanted: &Print,
        at: usize,
        active: u32,
    ) -> Result<(), Fault> {
        for lane in lanes(active) {
            let [format, next] = [wanted.format, wanted.arguments].map(|start| {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(&warp.local_of(lane)[start..start + 8]);
                u64::from_le_bytes(bytes)
            });
            let printed = match format {
                0 => -1_i32,
                _ => self.print_one(warp, format, Reader { next, lane, at })?,
            };
            let result = wanted.result..wanted.result + 4;
            warp.local_of(lane)[result].copy_from_slice(&printed.to_le_bytes());
        }
        Ok(())
    }

    fn print_one(
        &mut self,
        warp: &mut Warp,
        format: u64,
        mut reader: Reader,
    ) -> Result<i32, Fault> {
        let place = (reader.lane, reader.at);
        let format = self.text(warp, format, usize::MAX, place)?;
        let (mut text, mut count, mut is_full) = (Vec::new(), 0, false);
        for piece in pieces(&format) {
            let before = text.len();
            match piece {
                Piece::Text(own) => text.extend(own),
                Piece::Unknown(written) => {
                    self.report_conversion(warp, written, place, "is no conversion of printf");
                    text.extend(written);
                }
                Piece::Conversion(conversion, written) => {
                    let arguments =
                        conversion.counts() + usize::from(conversion.argument() != Argument::None);
                    // The arguments of later conversions lie even further away.
                    is_full |= count + arguments > MOST_ARGUMENTS;
                    if is_full && arguments > 0 {
                        text.extend(written);
                    } else {
                        count += arguments;
                        text.extend(self.converted(warp, conversion, written, &mut reader)?);
                    }
                }
            }
            self.count_bytes(warp, text.len() - before, place)?;
        }
        let thread = warp.first_thread + size(reader.lane);
        self.printed.push(Printed { block: self.block, thread, text });
        Ok(i32::try_from(count).unwrap_or(i32::MAX))
    }

    /// Formats a conversion with its arguments.
    fn converted(
        &mut self,
        warp: &mut Warp,
        conversion: Conversion,
        written: &[u8],
        reader: &mut Reader,
    ) -> Result<Vec<u8>, Fault> {
        let mut counts = Vec::new();
        for _ in 0..conversion.counts() {
            let count = self.argument(warp, 4, reader)? & 0xFFFF_FFFF;
            counts.push(i32::from_ne_bytes(u32::try_from(count).unwrap_or(0).to_ne_bytes()));
        }
        let argument = conversion.argument();
        let bits = match argument {
            Argument::None => return Ok(b"%".to_vec()),
            Argument::Text => self.argument(warp, 8, reader)?,
            Argument::Bytes(bytes) => self.argument(warp, bytes, reader)?,
        };
        let place = (reader.lane, reader.at);
        let Some(conversion) = conversion.with_counts(&counts) else {
            self.report_conversion(warp, written, place, "has a width that fits no buffer");
            return Ok(written.to_vec());
        };
        if argument != Argument::Text {
            return Ok(conversion.number(bits));
        }
        if bits == 0 {
            return Ok(conversion.text(None));
        }
        let most = conversion.precision().unwrap_or(usize::MAX);
        let text = self.text(warp, bits, most, place)?;
        Ok(conversion.text(Some(&text)))
    }

    fn argument(
        &mut self,
        warp: &mut Warp,
        bytes: usize,
        reader: &mut Reader,
    ) -> Result<u64, Fault> {
        let rest = bytes as u64 - 1;
        // The address wraps around to 0, which is invalid.
        let address = reader.next.wrapping_add(rest) & !rest;
        reader.next = address.wrapping_add(bytes as u64);
        self.look(warp, address, bytes, (reader.lane, reader.at))
    }

    /// Reads a text up to its zero byte or to a limit.
    fn text(
        &mut self,
        warp: &mut Warp,
        start: u64,
        most: usize,
        place: (usize, usize),
    ) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::new();
        let mut address = start;
        while text.len() < most {
            if text.len() > BUFFER {
                let (lane, at) = place;
                return Err(self.failed(warp, lane, at, "a text to print that has no end"));
            }
            match self.look(warp, address, 1, place)?.to_le_bytes()[0] {
                0 => break,
                byte => text.push(byte),
            }
            address = address.wrapping_add(1);
        }
        self.count_bytes(warp, text.len(), place)?;
        Ok(text)
    }

    /// Counts the text as instructions, so a kernel that prints forever is stopped.
    fn count_bytes(
        &mut self,
        warp: &mut Warp,
        bytes: usize,
        (lane, at): (usize, usize),
    ) -> Result<(), Fault> {
        warp.printed += bytes;
        warp.steps += (warp.printed / BYTES_OF_A_STEP) as u64;
        warp.printed %= BYTES_OF_A_STEP;
        if warp.steps > self.instructions {
            return Err(self.without_end(warp, lane, at));
        }
        Ok(())
    }

    fn report_conversion(
        &mut self,
        warp: &Warp,
        written: &[u8],
        (lane, at): (usize, usize),
        what: &str,
    ) {
        let is_new = self.conversions.len() < MOST_CONVERSIONS
            && self.conversions.insert((at, written.to_vec()));
        if !is_new {
            return;
        }
        let who = self.who(self.block, warp.first_thread + size(lane), Some(at));
        let text = format!(
            "kernel {}, {who}: `{}` {what}, and is printed as it is written",
            self.program.name,
            String::from_utf8_lossy(written)
        );
        self.report_again(Mistake::KernelFault, text);
    }
}
