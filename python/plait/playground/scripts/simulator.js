// Workers that simulate. Each has at most one run at a time; of the runs that are requested
// meanwhile only the newest is made.

/** A run without a preview after this time is ended when the next one is requested. */
const PATIENCE_MS = 700;

/** Compiles the simulator that the page contains. */
export async function compiled() {
  const text = document.getElementById("simulator").textContent.trim();
  const packed = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

export class Simulator {
  constructor(module) {
    this.module = module;
    const source = document.getElementById("worker").textContent;
    this.place = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.count = 0;
    this.start();
  }

  start() {
    this.worker = new Worker(this.place);
    this.worker.postMessage({ module: this.module });
    this.waiting = new Map();
    this.running = null;
    this.next = null;
    this.worker.onmessage = ({ data }) => {
      const receive = this.waiting.get(data.id);
      if ("answer" in data) this.waiting.delete(data.id);
      receive(data);
    };
  }

  /** Sends a request. `receive` gets the answer's text and the time that it took; before, a preview. */
  ask(request, receive) {
    this.count += 1;
    this.waiting.set(this.count, receive);
    this.worker.postMessage({ id: this.count, request: JSON.stringify(request) });
  }

  /**
   * Requests a run. It takes the place of one that has not begun. It ends one whose preview is
   * drawn.
   */
  run(request, receive) {
    const now = performance.now();
    if (this.running && (this.running.previewed || now - this.running.since > PATIENCE_MS)) {
      this.worker.terminate();
      this.start();
    }
    if (this.running) {
      this.next = [request, receive];
      return;
    }
    const running = { since: now, previewed: false };
    this.running = running;
    this.ask(request, (data) => {
      running.previewed = true;
      if ("answer" in data) this.running = null;
      const next = this.next;
      this.next = null;
      if (next) this.run(...next);
      receive(data);
    });
  }
}
