// Python as the page sees it: files that are read when they are needed, and a worker that can be stopped.
import kernelSource from "./kernel.py";
import { seal, worker } from "./policy.js";

export class Stopped extends Error {}

// Files of the book's folder `_live`. A page that is opened as a file may not fetch, but it may load scripts; each holds
// one file in base64 and hands it to `window.gqLive.take`.
export class Files {
  constructor(base, manifest) {
    Object.assign(this, { base, manifest, blobs: new Map(), waiting: new Map() });
  }

  take(name, text) {
    const coded = atob(text);
    const bytes = new Uint8Array(coded.length);
    for (let at = 0; at < coded.length; at++) bytes[at] = coded.charCodeAt(at);
    const blob = new Blob([bytes]);
    if (!this.manifest.files[name].gzip) return this.waiting.get(name)(blob);
    new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).blob().then(this.waiting.get(name));
  }

  get(name) {
    if (!this.blobs.has(name)) {
      const loaded = new Promise((resolve, reject) => {
        this.waiting.set(name, resolve);
        const script = document.createElement("script");
        script.src = `${this.base}${name}.js`;
        script.onload = () => script.remove();
        script.onerror = () => reject(new Error(`${name} is missing from the folder _live: run make live again`));
        document.head.append(script);
      });
      this.blobs.set(name, loaded);
      loaded.catch(() => this.blobs.delete(name));
    }
    return this.blobs.get(name);
  }
}

export class Python {
  constructor(files, manifest, say) {
    Object.assign(this, { files, manifest, say, asked: 0, pending: new Map(), groups: new Set(), installed: new Set() });
  }

  // One message to the worker and its answer; outputs come in between.
  ask(task, rest = {}, onOutput = () => {}) {
    return new Promise((resolve, reject) => {
      this.pending.set(++this.asked, { resolve, reject, onOutput });
      this.worker.postMessage({ id: this.asked, task, ...rest });
    });
  }

  answer({ id, output, done, failed }) {
    const waiting = this.pending.get(id);
    if (!waiting) return;
    if (output) return waiting.onOutput(output);
    this.pending.delete(id);
    if (failed === undefined) waiting.resolve(done);
    else waiting.reject(new Error(failed));
  }

  start() {
    this.started ??= this.boot().catch((error) => {
      this.stop();
      throw error;
    });
    return this.started;
  }

  async boot() {
    this.say("Reading Python …");
    const { runtime, boot } = this.manifest;
    const blobs = await Promise.all([runtime, ...boot].map((name) => this.files.get(name)));
    const address = URL.createObjectURL(new Blob([blobs[0]], { type: "text/javascript" }));
    this.worker = await worker(address);
    this.worker.onmessage = ({ data }) => this.answer(data);
    this.worker.onerror = (event) => this.fail(new Error(event.message || "the worker could not be started"));
    this.say("Starting Python …");
    const files = Object.fromEntries(boot.map((name, at) => [name, blobs[at + 1]]));
    await this.ask("boot", { files, lock: this.manifest.lock, source: kernelSource });
    URL.revokeObjectURL(address);
    await seal();
    await this.install("core");
    await this.ask("begin");
  }

  async install(group) {
    if (this.groups.has(group)) return;
    this.groups.add(group);
    const { title, files: names } = this.manifest.groups[group];
    const fresh = names.filter((name) => !this.installed.has(name));
    this.say(`Loading ${title} …`);
    const files = await Promise.all(fresh.map(async (name) => ({ name, blob: await this.files.get(name) })));
    await this.ask("install", { files });
    fresh.forEach((name) => this.installed.add(name));
  }

  async prepare(source) {
    await this.start();
    for (const group of await this.ask("needs", { source })) await this.install(group);
  }

  async run(source, name, onOutput) {
    await this.prepare(source);
    this.say(`Running ${name.slice(1, -1)} …`);
    return this.ask("run", { source, name }, onOutput);
  }

  fail(error) {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }

  // An endless loop hears nothing, so the worker is ended, and with it all that was computed.
  stop() {
    this.worker?.terminate();
    this.fail(new Stopped("stopped"));
    this.started = this.worker = undefined;
    this.groups.clear();
    this.installed.clear();
  }
}
