//! Maps one physical page at many virtual addresses.

use driver_conformance::driver::{
    self, Attribute, Device, Mode, Outcome, Physical, Reserved, Stream,
};
use driver_conformance::{Answers, Kernels, ask, codes};

use crate::support::{read_numbers, write_numbers};

const VIEWS: usize = 8;

fn ask_of_pages(topic: &str, question: impl FnOnce(&Device, &mut Answers, usize) -> Outcome<()>) {
    ask(topic, |device, answers| {
        if device.attribute(Attribute::VirtualMemory)? == 0 {
            answers.skip("the device cannot map pages by hand");
            return Ok(());
        }
        let page = driver::granularity(device)?;
        answers.noted("bytes of a page", page);
        question(device, answers, page)
    });
}

/// Returns a range of addresses for many pages, which all map to one physical page.
fn many_views(device: &Device, page: usize) -> Outcome<Reserved> {
    let (reserved, pages) = (Reserved::new(VIEWS * page)?, Physical::new(device, page)?);
    for view in 0..VIEWS {
        reserved.map(view * page, &pages)?;
    }
    reserved.allow(device)?;
    Ok(reserved)
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_page_at_many_addresses() {
    ask_of_pages("one page mapped many times", |device, answers, page| {
        let mapped = many_views(device, page);
        answers.seen("mapping", &mapped, codes::SUCCESS);
        let reserved = mapped?;
        let view = |index: usize| reserved.span().part(index * page, 16);
        let stream = Stream::non_blocking()?;
        let kernels = Kernels::load()?;

        write_numbers(view(0), &[1, 2, 3, 4])?;
        let seen = read_numbers(view(VIEWS - 1))? == [1, 2, 3, 4];
        answers.seen("a copy through one is seen through another", seen, true);
        kernels.multiply_add.launch(&stream, view(3), 10, 1)?;
        stream.synchronize()?;
        let seen = read_numbers(view(5))? == [11, 21, 31, 41];
        answers.seen("a kernel's store too", seen, true);
        driver::fill_behind(&stream, view(6), 0)?;
        stream.synchronize()?;
        answers.seen("a fill too", read_numbers(view(1))? == [0; 4], true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_addresses_in_one_capture() {
    ask_of_pages("one page mapped many times, in a capture", |device, answers, page| {
        let reserved = many_views(device, page)?;
        let view = |index: usize| reserved.span().part(index * page, 16);
        let (stream, kernels) = (Stream::non_blocking()?, Kernels::load()?);
        stream.begin_capture(Mode::ThreadLocal)?;
        answers.seen("a fill", driver::fill_behind(&stream, view(0), 0), codes::SUCCESS);
        let copied = driver::copy_behind(&stream, view(1), view(2));
        answers.seen("a copy between two of them", copied, codes::SUCCESS);
        let launched = kernels.multiply_add.launch(&stream, view(3), 1, 9);
        answers.seen("a kernel", launched, codes::SUCCESS);
        let exec = stream.end_capture()?.instantiate()?;
        answers.seen("the launch", exec.launch(&stream), codes::SUCCESS);
        answers.seen("the wait", stream.synchronize(), codes::SUCCESS);
        let seen = read_numbers(view(4))? == [9; 4];
        answers.seen("its store is seen through another", seen, true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn pages_under_an_address() {
    ask_of_pages("pages taken away and put back", |device, answers, page| {
        let reserved = Reserved::new(page)?;
        let first = Physical::new(device, page)?;
        reserved.map(0, &first)?;
        reserved.allow(device)?;
        let some = reserved.span().part(0, 16);
        write_numbers(some, &[5; 4])?;
        answers.documented("cuMemUnmap", reserved.unmap(0, page), codes::SUCCESS);
        reserved.map(0, &first)?;
        reserved.allow(device)?;
        answers.seen("the contents are back", read_numbers(some)? == [5; 4], true);
        answers.documented("cuMemRelease while mapped", first.release(), codes::SUCCESS);
        answers.documented("the contents stay", read_numbers(some)? == [5; 4], true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_address_without_pages() {
    ask_of_pages("a reserved address without pages", |_, answers, page| {
        let some = Reserved::new(page)?.span().part(0, 16);
        answers.seen("cuMemcpyDtoH", driver::download(some), codes::INVALID_VALUE);
        answers.seen("and nothing stays broken", driver::allocate(64), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn pages_without_access() {
    ask_of_pages("pages before access is allowed", |device, answers, page| {
        let (reserved, pages) = (Reserved::new(page)?, Physical::new(device, page)?);
        reserved.map(0, &pages)?;
        let read = driver::download(reserved.span().part(0, 16));
        answers.seen("cuMemcpyDtoH", read, codes::INVALID_VALUE);
        answers.seen("and nothing stays broken", driver::allocate(64), codes::SUCCESS);
        Ok(())
    });
}
