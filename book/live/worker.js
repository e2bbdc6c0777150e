// Python in a worker of the page. Before this text stand the scripts of Pyodide, changed by pack.py so that they load
// nothing: `gqModule` is what they would import. Everything else comes as blobs in messages; nothing is fetched.
"use strict";

const BASE = "https://live.invalid/"; // never asked: `fetch` below answers for it, and policy.js forbids everything else
const held = new Map();
let python, kernel;

self.fetch = async (address) => {
  const name = String(address?.url ?? address).split("/").pop();
  if (!held.has(name)) throw new TypeError(`${name} is not among the files of this page, and nothing is fetched`);
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(held.get(name), { headers: { "Content-Type": type } });
};

// Whether a text can become code here, which policy.js does not allow.
function open() {
  try {
    return Boolean(Function(""));
  } catch {
    return false;
  }
}

const TASKS = {
  async boot({ files, lock, source }) {
    if (open()) throw new Error("this browser does not keep a worker from the network, so nothing runs here");
    for (const [name, blob] of Object.entries(files)) held.set(name, blob);
    python = await loadPyodide({ indexURL: BASE, lockFileContents: lock, checkAPIVersion: false });
    held.clear();
    kernel = python.toPy({ __name__: "gq_kernel", __file__: "kernel.py" });
    python.runPython(source, { globals: kernel, filename: "kernel.py" });
  },
  async install({ files }) {
    const packages = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
    for (const { name, blob } of files) {
      const own = name.endsWith(".zip"); // ours is laid out like a checkout
      python.unpackArchive(await blob.arrayBuffer(), own ? "zip" : "wheel", { extractDir: own ? "/gq" : packages });
    }
    python.runPython("import importlib; importlib.invalidate_caches()");
  },
  async begin() {
    kernel.get("install")();
  },
  needs: ({ source }) => JSON.parse(kernel.get("needs")(source)),
  asked: ({ source }) => JSON.parse(kernel.get("asked")(source)),
  run: ({ source, name }) => kernel.get("run")(source, name),
  check: ({ answer, solution, name }) => JSON.parse(kernel.get("check")(answer, solution, name)),
};

self.onmessage = async ({ data: { id, task, ...rest } }) => {
  try {
    if (kernel) kernel.set("post", (text) => self.postMessage({ id, output: JSON.parse(text) }));
    self.postMessage({ id, done: await TASKS[task](rest) });
  } catch (error) {
    self.postMessage({ id, failed: String(error?.message ?? error) });
  }
};
