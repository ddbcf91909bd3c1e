// The page: pictures on canvases, plots of the last seconds, and controls. All numbers come from
// the WebAssembly module.
import init, {
  Device, Heat, Host, Video, device_agrees_with_host, film_frame, host_agrees_with_native, memory_pages,
} from "./pool_browser.js";

const VIDEO_SIDE = 256;
const HEAT_SIDE = 192;
/// The number of samples in a plot, one per tick.
const SAMPLES = 60;
const TICK = 250;

const find = (id) => document.getElementById(id);
const show = (id, text) => { find(id).textContent = text; };
const paint = (id, side, bytes) => {
  find(id).getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(bytes), side, side), 0, 0);
};
const grey = (levels) => {
  const bytes = new Uint8ClampedArray(4 * levels.length);
  levels.forEach((level, index) => bytes.set([level, level, level, 255], 4 * index));
  return bytes;
};
const kibibytes = (bytes) => `${Math.round(bytes / 1024).toLocaleString("en")} KiB`;
const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/// The state of the page, for programs that control the page.
const state = { frames: 0, isPooled: true, isPaused: false, isLost: false, hostTimes: { pool: [], created: [] } };
globalThis.pool = state;

class Plot {
  constructor(id) {
    this.canvas = find(id);
    this.samples = [];
  }

  add(value, isPooled) {
    this.samples.push({ value, isPooled });
    this.samples.splice(0, this.samples.length - SAMPLES);
    this.draw();
  }

  draw() {
    const { canvas, samples } = this;
    const ratio = globalThis.devicePixelRatio;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const highest = Math.max(1e-9, ...samples.map(({ value }) => value)) * 1.1;
    const width = canvas.width / SAMPLES;
    samples.forEach(({ value, isPooled }, index) => {
      pen.fillStyle = style.getPropertyValue(isPooled ? "--pool" : "--created");
      const height = Math.max(ratio, (value / highest) * canvas.height);
      pen.fillRect(index * width, canvas.height - height, Math.max(1, width - ratio), height);
    });
  }
}

/// Reads the frames of the camera as grey levels.
async function camera() {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width: 320, height: 240 } });
  const video = document.createElement("video");
  video.srcObject = stream;
  video.muted = true;
  await video.play();
  const canvas = new OffscreenCanvas(VIDEO_SIDE, VIDEO_SIDE);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  return {
    stop: () => stream.getTracks().forEach((track) => track.stop()),
    frame: () => {
      const side = Math.min(video.videoWidth, video.videoHeight);
      const [left, top] = [(video.videoWidth - side) / 2, (video.videoHeight - side) / 2];
      pen.drawImage(video, left, top, side, side, 0, 0, VIDEO_SIDE, VIDEO_SIDE);
      const { data } = pen.getImageData(0, 0, VIDEO_SIDE, VIDEO_SIDE);
      const levels = new Uint8Array(VIDEO_SIDE * VIDEO_SIDE);
      for (let i = 0; i < levels.length; i += 1) {
        levels[i] = (77 * data[4 * i] + 150 * data[4 * i + 1] + 29 * data[4 * i + 2]) >> 8;
      }
      return levels;
    },
  };
}

function lose(error) {
  state.isLost = true;
  state.error = String(error?.message ?? error);
  show("status", `The device is lost (${state.error}). Reload the page to open it again.`);
}

function startVideo(device) {
  const video = new Video(device, VIDEO_SIDE);
  state.video = video;
  const plots = ["rate", "host", "buffers", "groups"].map((name) => new Plot(`plot-${name}`));
  let number = 0;
  let source = null;
  let times = [];
  let frames = 0;
  const objects = () => [video.buffers(state.isPooled), video.bind_groups(state.isPooled)];
  let before = objects();
  let since = performance.now();

  for (const input of document.querySelectorAll("input[name=way]")) {
    input.onchange = () => {
      state.isPooled = input.value === "pool";
      [before, frames, times, since] = [objects(), 0, [], performance.now()];
    };
  }
  find("pause").onclick = () => {
    state.isPaused = !state.isPaused;
    find("pause").setAttribute("aria-pressed", String(state.isPaused));
    show("pause", state.isPaused ? "Continue" : "Pause");
  };
  find("camera").onclick = async () => {
    if (source) {
      source.stop();
      source = null;
      show("camera", "Use the camera");
    } else {
      try {
        source = await camera();
        show("camera", "Use the film");
      } catch (error) {
        show("camera", `No camera: ${error.message}`);
      }
    }
    state.hasCamera = source !== null;
  };

  async function frame() {
    if (state.isPaused || state.isLost) {
      return;
    }
    const isPooled = state.isPooled;
    const levels = source ? source.frame() : film_frame(number, VIDEO_SIDE);
    number += 1;
    paint("video-in", VIDEO_SIDE, grey(levels));
    const start = performance.now();
    const picture = video.frame(levels, isPooled);
    const micros = 1000 * (performance.now() - start);
    paint("video-out", VIDEO_SIDE, await picture);
    if (isPooled === state.isPooled) {
      times.push(micros);
      frames += 1;
    }
    const kept = state.hostTimes[isPooled ? "pool" : "created"];
    kept.push(micros);
    kept.splice(0, kept.length - 1000);
    state.frames += 1;
  }

  function tick() {
    const now = performance.now();
    if (frames === 0) {
      return;
    }
    const seconds = (now - since) / 1000;
    const created = objects();
    const values = [frames / seconds, median(times), ...created.map((count, i) => (count - before[i]) / seconds)];
    const texts = [values[0].toFixed(1), values[1].toFixed(0), values[2].toFixed(0), values[3].toFixed(0)];
    ["rate", "host-time", "buffers", "groups"].forEach((id, index) => show(id, texts[index]));
    plots.forEach((plot, index) => plot.add(values[index], state.isPooled));
    const bytes = kibibytes(video.bytes(state.isPooled));
    show("bytes", state.isPooled ? `${bytes} held by the pool` : `${bytes} created by each frame`);
    [before, frames, times, since] = [created, 0, [], now];
  }

  return { frame, tick };
}

function startHeat(device) {
  const heat = new Heat(device, HEAT_SIDE);
  state.heat = heat;
  const plane = find("heat-plane");
  const brush = { x: HEAT_SIDE / 2, y: HEAT_SIDE / 2, isSeen: false };
  const radius = () => Number(find("radius").value);
  state.warmed = 0;

  function warm() {
    if (!state.isLost) {
      heat.warm(brush.x, brush.y, radius());
      state.warmed += 1;
    }
  }
  function place(event) {
    const box = plane.getBoundingClientRect();
    brush.x = ((event.clientX - box.left) / box.width) * HEAT_SIDE;
    brush.y = ((event.clientY - box.top) / box.height) * HEAT_SIDE;
  }
  plane.onpointerdown = (event) => {
    plane.setPointerCapture(event.pointerId);
    brush.isSeen = false;
    place(event);
    warm();
  };
  plane.onpointermove = (event) => {
    if (event.buttons & 1) {
      place(event);
      warm();
    }
  };
  plane.onkeydown = (event) => {
    const moves = { ArrowLeft: [-4, 0], ArrowRight: [4, 0], ArrowUp: [0, -4], ArrowDown: [0, 4] };
    const move = moves[event.key];
    if (move) {
      brush.x = Math.min(HEAT_SIDE - 1, Math.max(0, brush.x + move[0]));
      brush.y = Math.min(HEAT_SIDE - 1, Math.max(0, brush.y + move[1]));
    } else if (event.key === " ") {
      warm();
    } else {
      return;
    }
    brush.isSeen = true;
    event.preventDefault();
  };
  find("cool").onclick = () => heat.cool();
  warm();

  return async () => {
    paint("heat-plane", HEAT_SIDE, await heat.frame());
    if (brush.isSeen && document.activeElement === plane) {
      const pen = plane.getContext("2d");
      pen.strokeStyle = "#fff";
      pen.beginPath();
      pen.arc(brush.x, brush.y, radius(), 0, 2 * Math.PI);
      pen.stroke();
    }
  };
}

function measureHost(host) {
  const FRAMES = 20;
  const SCOPES = 200_000;
  const levels = film_frame(0, 64);
  const results = {};
  for (const [name, isPooled] of [["pool", true], ["vec", false], ["vec", false], ["pool", true]]) {
    const start = performance.now();
    for (let number = 0; number < FRAMES; number += 1) {
      host.frame(levels, isPooled);
    }
    const between = performance.now();
    host.three_arrays(SCOPES, isPooled);
    const end = performance.now();
    const one = results[name] ?? { frame: Infinity, arrays: Infinity };
    one.frame = Math.min(one.frame, (1000 * (between - start)) / FRAMES);
    one.arrays = Math.min(one.arrays, (1e6 * (end - between)) / SCOPES);
    results[name] = one;
  }
  for (const [name, { frame, arrays }] of Object.entries(results)) {
    show(`${name}-frame`, frame.toFixed(0));
    show(`${name}-arrays`, arrays.toFixed(1));
  }
  show("pages", kibibytes(65_536 * memory_pages()));
  state.hostResults = results;
}

function startHost() {
  const host = new Host(VIDEO_SIDE);
  const small = new Host(64);
  state.host = small;
  let number = 0;
  find("measure").onclick = () => measureHost(small);
  measureHost(small);
  return () => {
    paint("host-out", VIDEO_SIDE, host.frame(film_frame(number, VIDEO_SIDE), true));
    number += 1;
  };
}

async function openDevice() {
  if (!navigator.gpu) {
    return null;
  }
  try {
    return await Device.open();
  } catch (error) {
    state.error = error.message;
    return null;
  }
}

await init({ module_or_path: new URL("pool_browser_bg.wasm", import.meta.url) });
state.memoryPages = memory_pages;
state.hostAgrees = host_agrees_with_native();
const hostFrame = startHost();
const device = await openDevice();
state.hasDevice = device !== null;
let parts = [];
if (device) {
  state.device = device;
  state.deviceAgrees = await device_agrees_with_host(device);
  const video = startVideo(device);
  const heatFrame = startHeat(device);
  parts = [video.frame, heatFrame];
  setInterval(video.tick, TICK);
  show("status", "WebGPU is available, so everything runs.");
} else {
  find("video").hidden = true;
  find("heat").hidden = true;
  show("status", "This page has no WebGPU in this browser. Only the host part below runs.");
}
state.isReady = true;

let turn = 0;
async function animate() {
  try {
    if (!state.isPaused && turn % 4 === 0) {
      hostFrame();
    }
    turn += 1;
    if (!state.isLost) {
      for (const part of parts) {
        await part();
      }
    }
  } catch (error) {
    lose(error);
  }
  // A hidden page has no animation frames, so nothing is computed while the page is hidden.
  requestAnimationFrame(animate);
}
requestAnimationFrame(animate);
