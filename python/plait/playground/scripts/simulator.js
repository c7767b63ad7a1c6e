// Workers that simulate. Each has at most one run at a time; of the runs that are requested
// meanwhile only the newest is made.

/**
 * A run for the packets alone that takes longer than this is ended when the next one is requested.
 * A complete run is ended at once.
 */
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
      this.waiting.delete(data.id);
      receive(data);
    };
  }

  /** Sends a request; `receive` gets the answer's text and the time that it took. */
  ask(request, receive) {
    this.count += 1;
    this.waiting.set(this.count, receive);
    this.worker.postMessage({ id: this.count, request: JSON.stringify(request) });
  }

  /**
   * Requests a run. A newer one may take its place before it begins. `first` is whether it is for
   * the packets alone.
   */
  run(request, receive, first) {
    const patience = this.first ? PATIENCE_MS : 0;
    if (this.running !== null && performance.now() - this.running > patience) {
      this.worker.terminate();
      this.start();
    }
    if (this.running !== null) {
      this.next = [request, receive, first];
      return;
    }
    this.running = performance.now();
    this.first = first;
    this.ask(request, (answer) => {
      this.running = null;
      const next = this.next;
      this.next = null;
      if (next) this.run(...next);
      receive(answer);
    });
  }
}
