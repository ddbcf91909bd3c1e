// What WebAssembly imports to wait: its stack is suspended until the event loop has run.
const channel = new MessageChannel();
const waiting = [];
channel.port1.onmessage = () => waiting.shift()();

export const suspend = new WebAssembly.Suspending(
  () => new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  }),
);
