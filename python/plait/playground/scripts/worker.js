// Runs in a worker: one request after the other, in JSON, by the simulator compiled to WebAssembly.
let module = null;
let ready = null;
/** The number of the request that runs, and the simulator that answers it. */
let running = null;

onmessage = async ({ data }) => {
  if (data.module) {
    module = data.module;
    ready = started();
    return;
  }
  const start = performance.now();
  let answer;
  try {
    running = { id: data.id, simulator: (await ready).exports };
    answer = answered(running.simulator, data.request);
  } catch (error) {
    answer = JSON.stringify({ error: `the simulator stopped: ${error.message}` });
    // A trap can leave the memory of an instance in any state.
    ready = started();
  }
  postMessage({ id: data.id, answer, simulated_ms: performance.now() - start });
};

function started() {
  return WebAssembly.instantiate(module, { page: { preview } });
}

/** The simulator calls it during a run. */
function preview(place, length) {
  postMessage({ id: running.id, preview: textIn(running.simulator, place, length) });
}

function answered(simulator, request) {
  const bytes = new TextEncoder().encode(request);
  const room = simulator.plait_room(bytes.length);
  new Uint8Array(simulator.memory.buffer, room, bytes.length).set(bytes);
  const answer = simulator.plait_answer(room, bytes.length);
  const [place, length] = [Number(answer >> 32n), Number(answer & 0xffffffffn)];
  const text = textIn(simulator, place, length);
  simulator.plait_release(place, length);
  return text;
}

function textIn(simulator, place, length) {
  return new TextDecoder().decode(new Uint8Array(simulator.memory.buffer, place, length));
}
