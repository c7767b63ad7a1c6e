// Runs in a worker: one request after the other, in JSON, by the simulator compiled to WebAssembly.
let module = null;
let ready = null;

onmessage = async ({ data }) => {
  if (data.module) {
    module = data.module;
    ready = WebAssembly.instantiate(module, {});
    return;
  }
  const start = performance.now();
  let answer;
  try {
    answer = answered((await ready).exports, data.request);
  } catch (error) {
    answer = JSON.stringify({ error: `the simulator stopped: ${error.message}` });
    // A trap can leave the memory of an instance in any state.
    ready = WebAssembly.instantiate(module, {});
  }
  postMessage({ id: data.id, answer, simulated_ms: performance.now() - start });
};

function answered(simulator, request) {
  const bytes = new TextEncoder().encode(request);
  const room = simulator.plait_room(bytes.length);
  new Uint8Array(simulator.memory.buffer, room, bytes.length).set(bytes);
  const answer = simulator.plait_answer(room, bytes.length);
  const [place, length] = [Number(answer >> 32n), Number(answer & 0xffffffffn)];
  const text = new TextDecoder().decode(new Uint8Array(simulator.memory.buffer, place, length));
  simulator.plait_release(place, length);
  return text;
}
