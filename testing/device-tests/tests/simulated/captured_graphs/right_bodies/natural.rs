//! Typical bodies: forks, pipelines, trees, libraries with their own streams and graphs, and scopes
//! together with temporaries.

use std::sync::Arc;

use cudarc::driver::result;
use pool_core::PoolViewMut;
use pool_cuda::AcquireShaped;
use pool_graph::{Capture, CaptureStream, CaptureView};

use super::{N, Named, Result, World, are_accepted, streams};
use crate::common::RELAXED;
use crate::hand_made::put_child;

fn fork_and_join(capture: &Capture<'_>, world: &World) -> Result {
    let [main, one, other] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut left = capture.acquire((one, N))?;
    let mut right = capture.acquire((other, N))?;
    capture.copy(one, &mut left, &x)?;
    capture.copy(other, &mut right, &x)?;
    world.add(capture, main, &left, &mut y)?;
    world.add(capture, main, &right, &mut y)
}

fn pipeline(capture: &Capture<'_>, world: &World) -> Result {
    let [main, one, other] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    for _ in 0..6 {
        let mut first = capture.acquire(N)?;
        capture.copy(main, &mut first, &x)?;
        let mut second = capture.acquire((one, N))?;
        capture.fill_bytes(one, &mut second, 0)?;
        world.add(capture, one, &first, &mut second)?;
        drop(first);
        world.add(capture, other, &second, &mut y)?;
    }
    Ok(())
}

fn double_buffering(capture: &Capture<'_>, world: &World) -> Result {
    let [main, copies, _] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut buffers = [capture.acquire(N)?, capture.acquire(N)?];
    for round in 0..6 {
        let buffer = &mut buffers[round % 2];
        capture.copy(copies, buffer, &x)?;
        world.add(capture, main, buffer, &mut y)?;
    }
    Ok(())
}

fn tree(capture: &Capture<'_>, world: &World) -> Result {
    let on = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut leaves: Vec<(CaptureStream, CaptureView<'_, f32>)> = Vec::new();
    for leaf in 0..8 {
        let mut view = capture.acquire((on[leaf % 3], N))?;
        capture.copy(on[leaf % 3], &mut view, &x)?;
        leaves.push((on[leaf % 3], view));
    }
    while leaves.len() > 1 {
        let (_, from) = leaves.remove(0);
        let (on, mut to) = leaves.remove(0);
        world.add(capture, on, &from, &mut to)?;
        leaves.push((on, to));
    }
    world.add(capture, on[0], &leaves[0].1, &mut y)
}

/// A library uses both of its streams, twice.
fn library_with_two_streams(capture: &Capture<'_>, world: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    for _ in 0..2 {
        let mut sums = [capture.acquire::<f32>(N)?, capture.acquire::<f32>(N)?];
        for sum in &mut sums {
            capture.fill_bytes(main, sum, 0)?;
        }
        let from = x.address();
        let to = [sums[0].address(), sums[1].address()];
        let [one, other] = &mut sums;
        let uses = [x.read(), one.write(), other.write()];
        let work = |stream: &Arc<_>| {
            for (side, to) in world.sides.iter().zip(to) {
                side.join(stream)?;
                world.add_raw(side, from, to)?;
            }
            world.sides.iter().try_for_each(|side| Ok(stream.join(side)?))
        };
        // SAFETY: the work reads and writes these views, on streams that it joins.
        unsafe { capture.enqueue(main, &uses, work) }?;
        world.add(capture, branch, &sums[0], &mut y)?;
        world.add(capture, main, &sums[1], &mut y)?;
    }
    Ok(())
}

/// A library captures a graph on its own stream and adds a copy of it.
fn library_with_a_graph(capture: &Capture<'_>, world: &World) -> Result {
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let (from, to) = (x.address(), y.address());
    let work = |stream: &Arc<_>| {
        let side = &world.sides[0];
        side.begin_capture(RELAXED)?;
        world.add_raw(side, from, to)?;
        // SAFETY: the stream is live. A strict capture does not permit to instantiate the graph.
        let child = unsafe { result::stream::end_capture(side.cu_stream()) }?;
        put_child(stream, child)?;
        // SAFETY: no other code uses the graph, and the node contains a copy of it.
        Ok(unsafe { result::graph::destroy(child) }?)
    };
    // SAFETY: the graph reads and writes these views.
    unsafe { capture.enqueue(capture.main(), &[x.read(), y.write()], work) }
}

/// A kernel on the stream of one scope uses views of another stream.
fn view_on_a_stream_of_the_session(capture: &Capture<'_>, world: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    let (mut x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let (x, mut y) = (capture.lend(main, &mut x)?, capture.lend(main, &mut y)?);
    capture.scope(main, |scope| {
        let mut sum = scope.try_acquire_zeroed::<f32, _>(N)?;
        let to = sum.address();
        capture.scope(branch, |other| {
            let stream = Arc::clone(other.context().stream());
            let from = x.view()?;
            let (_from, _to) = (from.on(&stream)?, sum.on(&stream)?);
            world.add_raw(&stream, from.address(), to)
        })?;
        Ok(y.view_mut()?.copy_from(sum.as_view())?)
    })
}

fn scopes_in_turn_with_temporaries_between(capture: &Capture<'_>, world: &World) -> Result {
    let main = capture.main();
    for _ in 0..3 {
        let mut temporary = capture.acquire::<f32>(N)?;
        capture.copy(main, &mut temporary, &world.block(capture, 0)?)?;
        let temporary = capture.lend(main, &mut temporary)?;
        let mut y = world.block(capture, 1)?;
        let mut y = capture.lend(main, &mut y)?;
        capture.scope(main, |scope| {
            let sum = scope.try_acquire_filled(N, 1.0_f32)?;
            let stream = scope.context().stream();
            world.add_raw(stream, temporary.view()?.address(), sum.address())?;
            Result::Ok(y.view_mut()?.copy_from(sum.as_view())?)
        })?;
    }
    Ok(())
}

fn waits_without_work(capture: &Capture<'_>, world: &World) -> Result {
    let [main, one, other] = streams(capture)?;
    for (later, earlier) in [(one, main), (other, main), (one, other), (main, one)] {
        capture.wait(later, earlier)?;
    }
    let mut first = capture.acquire::<f32>((other, N))?;
    capture.fill_bytes(other, &mut first, 1)?;
    for (later, earlier) in [(one, other), (other, one), (main, other)] {
        capture.wait(later, earlier)?;
    }
    drop(first);
    let mut second = capture.acquire::<f32>((one, N))?;
    capture.fill_bytes(one, &mut second, 0)?;
    capture.copy(main, &mut world.block(capture, 1)?, &second)
}

fn scopes_on_two_streams_at_once(capture: &Capture<'_>, world: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    capture.scope(main, |scope| {
        let outer = scope.try_acquire_filled(N, 1.0_f32)?;
        capture.scope(branch, |other| {
            let from = other.try_acquire_filled(N, 2.0_f32)?;
            let nested = other.scope();
            Result::Ok(nested.try_acquire_zeroed::<f32, _>(N)?.copy_from(from.as_view())?)
        })?;
        Result::Ok(scope.try_acquire_zeroed::<f32, _>(N)?.copy_from(outer.as_view())?)
    })?;
    capture.fill_bytes(main, &mut world.block(capture, 1)?, 0)
}

/// A scope copies from a scope on another stream.
fn scope_reads_a_view_of_another(capture: &Capture<'_>, _: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    capture.scope(main, |scope| {
        let from = scope.try_acquire_filled(N, 1.0_f32)?;
        capture.scope(branch, |other| {
            Result::Ok(other.try_acquire_filled(N, 2.0_f32)?.copy_from(from.as_view())?)
        })?;
        Result::Ok(scope.try_acquire_zeroed::<f32, _>(N)?.copy_from(from.as_view())?)
    })
}

fn temporaries_behind_such_a_scope(capture: &Capture<'_>, world: &World) -> Result {
    scope_reads_a_view_of_another(capture, world)?;
    let [main, one, other] = streams(capture)?;
    let mut first = capture.acquire::<f32>((other, N))?;
    capture.fill_bytes(other, &mut first, 0)?;
    let mut second = capture.acquire::<f32>(N)?;
    capture.copy(main, &mut second, &first)?;
    drop(first);
    let mut third = capture.acquire::<f32>((one, 2 * N))?;
    capture.fill_bytes(one, &mut third, 1)?;
    capture.copy(main, &mut world.block(capture, 1)?, &second)
}

fn temporaries_around_scopes_of_branches(capture: &Capture<'_>, world: &World) -> Result {
    let on = streams(capture)?;
    for round in 0..6 {
        let (one, other) = (on[round % 3], on[(round + 1) % 3]);
        let mut first = capture.acquire::<f32>((one, N))?;
        capture.copy(one, &mut first, &world.block(capture, 0)?)?;
        capture.scope(other, |scope| {
            scope.try_acquire_filled(N / 2 + round, 1.0_f32)?;
            Result::Ok(())
        })?;
        let mut second = capture.acquire::<f32>((other, N))?;
        capture.copy(other, &mut second, &first)?;
        drop(first);
        capture.copy(one, &mut world.block(capture, 1)?, &second)?;
    }
    Ok(())
}

fn shaped_arrays(capture: &Capture<'_>, world: &World) -> Result {
    let main = capture.main();
    capture.scope(main, |scope| {
        scope.try_acquire_shaped::<f32>(&[4, N / 4])?;
        scope.scope().try_acquire_shaped::<f32>(&[2, 3, 5])?;
        Result::Ok(())
    })?;
    let mut temporary = capture.acquire::<f32>(N)?;
    capture.fill_bytes(main, &mut temporary, 0)?;
    capture.copy(main, &mut world.block(capture, 1)?, &temporary)
}

fn calls_of_cudarc_on_another_stream(capture: &Capture<'_>, world: &World) -> Result {
    capture.scope(capture.main(), |scope| {
        let mut from = scope.try_acquire::<f32, _>(N)?;
        let mut to = scope.try_acquire_zeroed::<f32, _>(N)?;
        if !capture.is_dry() {
            world.streams[1].memset_zeros(&mut from)?;
            world.streams[1].memcpy_dtod(&from, &mut to)?;
        }
        Result::Ok(from.fill_with_value(2.0)?)
    })
}

/// A library uses one stream, in one call.
fn library_with_one_stream(capture: &Capture<'_>, world: &World) -> Result {
    let main = capture.main();
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut sum = capture.acquire::<f32>(N)?;
    capture.fill_bytes(main, &mut sum, 0)?;
    let (from, to) = (x.address(), sum.address());
    let work = |stream: &Arc<_>| {
        let side = &world.sides[0];
        side.join(stream)?;
        world.add_raw(side, from, to)?;
        Ok(stream.join(side)?)
    };
    // SAFETY: the work reads and writes these views, on a stream that it joins.
    unsafe { capture.enqueue(main, &[x.read(), sum.write()], work) }?;
    world.add(capture, main, &sum, &mut y)
}

/// A library records one event twice. Each wait refers to the record before it.
fn event_recorded_twice(capture: &Capture<'_>, world: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut sum = capture.acquire::<f32>(N)?;
    capture.fill_bytes(main, &mut sum, 0)?;
    let (from, to) = (x.address(), sum.address());
    let work = |stream: &Arc<cudarc::driver::CudaStream>| {
        let [one, other] = &world.sides;
        let event = stream.context().new_event(None)?;
        event.record(stream)?;
        one.wait(&event)?;
        world.add_raw(one, from, to)?;
        event.record(one)?;
        other.wait(&event)?;
        world.add_raw(other, from, to)?;
        event.record(other)?;
        stream.wait(&event)?;
        Ok(stream.join(one)?)
    };
    // SAFETY: the work reads and writes these views, on streams that it joins.
    unsafe { capture.enqueue(main, &[x.read(), sum.write()], work) }?;
    world.add(capture, branch, &sum, &mut y)
}

/// Forks inside a fork, which are joined from the inside out.
fn nested_forks(capture: &Capture<'_>, world: &World) -> Result {
    let [main, one, other] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut outer = capture.acquire::<f32>((one, N))?;
    capture.copy(one, &mut outer, &x)?;
    for _ in 0..3 {
        let mut inner = capture.acquire::<f32>((other, N))?;
        capture.copy(other, &mut inner, &outer)?;
        let mut beside = capture.acquire::<f32>((one, N))?;
        capture.copy(one, &mut beside, &x)?;
        world.add(capture, other, &beside, &mut inner)?;
        drop(beside);
        world.add(capture, one, &inner, &mut outer)?;
    }
    world.add(capture, main, &outer, &mut y)
}

/// One value is broadcast to all streams, and all partial results are reduced on one stream.
fn broadcast_and_reduce(capture: &Capture<'_>, world: &World) -> Result {
    let on = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut value = capture.acquire::<f32>(N)?;
    capture.copy(on[0], &mut value, &x)?;
    let mut parts = Vec::new();
    for stream in on {
        let mut part = capture.acquire::<f32>((stream, N))?;
        capture.fill_bytes(stream, &mut part, 0)?;
        world.add(capture, stream, &value, &mut part)?;
        world.add(capture, stream, &value, &mut part)?;
        parts.push(part);
    }
    drop(value);
    parts.iter().try_for_each(|part| world.add(capture, on[0], part, &mut y))
}

/// A value travels around three streams. Each stream has its own temporary.
fn ring(capture: &Capture<'_>, world: &World) -> Result {
    let on = streams(capture)?;
    let mut value = capture.acquire::<f32>(N)?;
    capture.copy(on[0], &mut value, &world.block(capture, 0)?)?;
    for step in 1..7 {
        let stream = on[step % 3];
        let mut next = capture.acquire::<f32>((stream, N))?;
        capture.copy(stream, &mut next, &value)?;
        world.add(capture, stream, &value, &mut next)?;
        value = next;
    }
    world.add(capture, on[0], &value, &mut world.block(capture, 1)?)
}

/// The next input is copied while the previous one is processed, with an explicit wait for each
/// buffer.
fn prefetch_with_waits(capture: &Capture<'_>, world: &World) -> Result {
    let [main, copies, _] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let mut ready = capture.acquire::<f32>((copies, N))?;
    capture.copy(copies, &mut ready, &x)?;
    for _ in 0..5 {
        capture.wait(main, copies)?;
        let mut next = capture.acquire::<f32>((copies, N))?;
        capture.copy(copies, &mut next, &x)?;
        world.add(capture, main, &ready, &mut y)?;
        ready = next;
    }
    world.add(capture, main, &ready, &mut y)
}

/// A library's stream is left unjoined after one call, and is joined in the next call.
fn side_stream_of_two_calls(capture: &Capture<'_>, world: &World) -> Result {
    let [main, branch, _] = streams(capture)?;
    let (x, mut y) = (world.block(capture, 0)?, world.block(capture, 1)?);
    let from = x.address();
    for on in [main, branch, main] {
        let mut sum = capture.acquire::<f32>((on, N))?;
        capture.fill_bytes(on, &mut sum, 0)?;
        let to = sum.address();
        let work = |stream: &Arc<_>| {
            let side = &world.sides[1];
            side.join(stream)?;
            world.add_raw(side, from, to)?;
            world.add_raw(side, from, to)?;
            Ok(stream.join(side)?)
        };
        // SAFETY: the work reads and writes these views, on a stream that it joins.
        unsafe { capture.enqueue(on, &[x.read(), sum.write()], work) }?;
        world.add(capture, on, &sum, &mut y)?;
    }
    Ok(())
}

/// Three streams read weights at the same time, and a scope on each stream uses its own result.
fn scopes_of_three_streams(capture: &Capture<'_>, world: &World) -> Result {
    let on = streams(capture)?;
    let x = world.block(capture, 0)?;
    for stream in on {
        let mut copy = capture.acquire::<f32>((stream, N))?;
        capture.copy(stream, &mut copy, &x)?;
        let lent = capture.lend(stream, &mut copy)?;
        capture.scope(stream, |scope| {
            let mut sum = scope.try_acquire_filled(N, 1.0_f32)?;
            Result::Ok(sum.copy_from(lent.view()?)?)
        })?;
    }
    capture.fill_bytes(on[0], &mut world.block(capture, 1)?, 0)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn natural_bodies_of_several_streams_are_accepted() {
    let named = |name, body, result| Named { name, body, result };
    are_accepted(&[
        named("an event recorded twice", event_recorded_twice, Some(2.0)),
        named("forks in forks", nested_forks, None),
        named("broadcast and reduce", broadcast_and_reduce, Some(6.0)),
        named("ring", ring, Some(64.0)),
        named("prefetch with waits", prefetch_with_waits, Some(6.0)),
        named("a side stream of two calls", side_stream_of_two_calls, Some(6.0)),
        named("scopes of three streams", scopes_of_three_streams, Some(0.0)),
    ]);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn sixteen_natural_bodies_are_accepted() {
    let named = |name, body, result| Named { name, body, result };
    are_accepted(&[
        named("fork and join", fork_and_join, Some(2.0)),
        named("pipeline", pipeline, Some(6.0)),
        named("double buffering", double_buffering, Some(6.0)),
        named("tree", tree, Some(8.0)),
        named("a library's stream", library_with_one_stream, Some(1.0)),
        named("a library's two streams", library_with_two_streams, Some(4.0)),
        named("a library's graph", library_with_a_graph, Some(1.0)),
        named("view on another stream", view_on_a_stream_of_the_session, Some(1.0)),
        named("scopes in turn", scopes_in_turn_with_temporaries_between, Some(2.0)),
        named("waits without work", waits_without_work, Some(0.0)),
        named("scopes at once", scopes_on_two_streams_at_once, Some(0.0)),
        named("a view of another scope", scope_reads_a_view_of_another, None),
        named("temporaries behind it", temporaries_behind_such_a_scope, Some(0.0)),
        named("temporaries around scopes", temporaries_around_scopes_of_branches, Some(1.0)),
        named("shaped arrays", shaped_arrays, Some(0.0)),
        named("calls of cudarc", calls_of_cudarc_on_another_stream, None),
    ]);
}
