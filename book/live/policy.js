// What a page that runs its cells may ask for: three layers, each a content-security policy of its own. Where one of
// them does not hold nothing starts; so the inner two are tried before the page's could answer for them.
const PAGE = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; form-action 'self'; base-uri 'none'";
const WORKER = "default-src 'none'; script-src 'wasm-unsafe-eval'; worker-src blob:";
const OUTPUT = "default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'";

let workshop, sealed;

// No layer lets a text become code, so where one does become code the layer is missing. (Firefox logs each trial.)
function close(realm, policy, what) {
  const meta = document.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = policy;
  realm.document.head.append(meta);
  if (sealed) return;
  try {
    realm.Function("");
  } catch {
    return;
  }
  throw new Error(`this browser does not keep ${what} from the network, so nothing runs here`);
}

async function room(parent, inside, attributes) {
  const frame = document.createElement("iframe");
  for (const [name, value] of Object.entries({ ...attributes, srcdoc: `<!doctype html>${inside}` })) frame.setAttribute(name, value);
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  parent.append(frame);
  await loaded;
  return frame;
}

// A worker has the policy of the document whose constructor made it.
export async function worker(address) {
  if (!workshop) {
    const frame = await room(document.body, "", { hidden: "" });
    close(frame.contentWindow, WORKER, "a worker");
    workshop = frame.contentWindow;
  }
  return new workshop.Worker(address);
}

// A frame without scripts that looks like an output of the page, and the element in it for what a cell returns. The
// browser makes that element only where scripts are off; and once the book's styles are there, the frame is closed.
export async function outputRoom(parent, title) {
  const sheets = [...document.querySelectorAll('link[rel="stylesheet"]')].map((link) => link.outerHTML).join("");
  const body = '<body><div class="bd-content"><div class="bd-article"><div class="cell_output"><noscript><div class="output text_html">';
  const frame = await room(parent, `<html class="gq-live-inside">${sheets}${body}`, { sandbox: "allow-same-origin", class: "gq-live-frame", title });
  const place = frame.contentDocument.querySelector("noscript > div");
  if (!place) throw new Error("this browser runs the scripts of an output, so nothing runs here");
  // Before it is closed: afterwards the styles' own icons would be refused, aloud.
  await Promise.all([...frame.contentDocument.fonts].filter((font) => font.family.includes("Awesome")).map((font) => font.load().catch(() => {})));
  close(frame.contentWindow, OUTPUT, "an output");
  return { frame, place };
}

// Before the first cell runs. What the page's own buttons do has to be read before: afterwards Chromium refuses it.
export async function seal() {
  if (sealed) return;
  (await outputRoom(document.body, "")).frame.remove();
  document.querySelectorAll("[onclick]").forEach((one) => one.onclick);
  close(window, PAGE, "this page");
  sealed = true;
}
