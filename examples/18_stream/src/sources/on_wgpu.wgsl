// The steps of `denoise`, `pyramid` and `edges` on 32-bit integers, so the results are bitwise
// equal to the host's.

struct Planes {
    width: u32,
    height: u32,
    // The size of the output plane.
    to_width: u32,
    to_height: u32,
}

@group(1) @binding(0) var<uniform> planes: Planes;
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

const WIDTH: u32 = 64;

struct Position {
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
}

fn byte(at: u32) -> u32 {
    return (source[at / 4] >> (8 * (at % 4))) & 255;
}

// A pixel and the pixels above and below it, sorted for each colour.
struct Column {
    low: vec3<u32>,
    mid: vec3<u32>,
    high: vec3<u32>,
}

fn colour(x: u32, y: u32) -> vec3<u32> {
    let at = 3 * (y * planes.width + x);
    return vec3(byte(at), byte(at + 1), byte(at + 2));
}

fn column(x: u32, y: u32) -> Column {
    let above = colour(x, max(y, 1) - 1);
    let here = colour(x, y);
    let below = colour(x, min(y + 1, planes.height - 1));
    let least = min(above, here);
    let most = max(above, here);
    return Column(min(least, below), max(least, min(most, below)), max(most, below));
}

fn median_of(a: vec3<u32>, b: vec3<u32>, c: vec3<u32>) -> vec3<u32> {
    return max(min(a, b), min(max(a, b), c));
}

// Converts bytes of red, green and blue to one word per pixel.
@compute @workgroup_size(WIDTH)
fn medians(position: Position) {
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let x = at % planes.width;
        let y = at / planes.width;
        let here = column(x, y);
        var clean = here.mid;
        if x > 0 && x < planes.width - 1 {
            let left = column(x - 1, y);
            let right = column(x + 1, y);
            clean = median_of(
                max(max(left.low, here.low), right.low),
                median_of(left.mid, here.mid, right.mid),
                min(min(left.high, here.high), right.high),
            );
        }
        result[at] = clean.x | (clean.y << 8) | (clean.z << 16);
    }
}

@compute @workgroup_size(WIDTH)
fn greys(position: Position) {
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let pixel = source[at];
        result[at] = (77 * (pixel & 255) + 150 * ((pixel >> 8) & 255) + 29 * (pixel >> 16)) >> 4;
    }
}

fn of_row(x: u32, by: u32, y: u32) -> u32 {
    return source[y * planes.width + min(max(2 * x + by, 2) - 2, planes.width - 1)];
}

@compute @workgroup_size(WIDTH)
fn halve_rows(position: Position) {
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let x = at % planes.to_width;
        let y = at / planes.to_width;
        result[at] = of_row(x, 0, y) + 4 * of_row(x, 1, y) + 6 * of_row(x, 2, y) + 4 * of_row(x, 3, y)
            + of_row(x, 4, y);
    }
}

fn of_column(x: u32, y: u32, by: u32) -> u32 {
    return source[min(max(2 * y + by, 2) - 2, planes.height - 1) * planes.width + x];
}

@compute @workgroup_size(WIDTH)
fn halve_columns(position: Position) {
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let x = at % planes.to_width;
        let y = at / planes.to_width;
        result[at] = (of_column(x, y, 0) + 4 * of_column(x, y, 1) + 6 * of_column(x, y, 2) + 4 * of_column(x, y, 3)
            + of_column(x, y, 4)) >> 8;
    }
}

fn grey(at: u32) -> i32 {
    return i32(source[at]);
}

// Returns the steepness. The next higher bit is set if the picture is steeper from left to right
// than from top to bottom.
@compute @workgroup_size(WIDTH)
fn steepness(position: Position) {
    let row = planes.width;
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let x = at % row;
        let y = at / row;
        if x == 0 || x == row - 1 || y == 0 || y == planes.height - 1 {
            result[at] = 1 << 16;
            continue;
        }
        let across = grey(at - row + 1) + 2 * grey(at + 1) + grey(at + row + 1)
            - grey(at - row - 1) - 2 * grey(at - 1) - grey(at + row - 1);
        let down = grey(at + row - 1) + 2 * grey(at + row) + grey(at + row + 1)
            - grey(at - row - 1) - 2 * grey(at - row) - grey(at - row + 1);
        let is_level = select(0u, 1u, abs(across) >= abs(down));
        result[at] = u32(abs(across) + abs(down)) | (is_level << 16);
    }
}

// The same value as in `edges`.
const STEEP: u32 = 2400;

@compute @workgroup_size(WIDTH)
fn ridges(position: Position) {
    let row = planes.width;
    for (var at = position.id.x; at < planes.to_width * planes.to_height; at += position.groups.x * WIDTH) {
        let x = at % row;
        let y = at / row;
        let own = source[at] & 0xFFFF;
        var mark = 0u;
        if own >= STEEP && x > 0 && x < row - 1 && y > 0 && y < planes.height - 1 {
            let step = select(row, 1, source[at] >> 16 == 1);
            if own > (source[at - step] & 0xFFFF) && own >= (source[at + step] & 0xFFFF) {
                mark = 255;
            }
        }
        result[at] = mark;
    }
}
