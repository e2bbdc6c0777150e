// Compile the Python files of wheels for the Python that the pages have: nothing else can, and a page would do it anew at
// every start. Called by pack.py: node compile.mjs PYODIDE OUT WHEEL...; each wheel becomes a zip file of its name in OUT,
// with .pyc files in the place of those .py files that could be compiled.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , pyodide, out, ...wheels] = process.argv;
const { loadPyodide } = await import(pathToFileURL(join(pyodide, "pyodide.mjs")).href);
const python = await loadPyodide({ checkAPIVersion: false });
const compiled = python.runPython(`
import importlib.util, io, marshal, warnings, zipfile

def compiled(data):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data.to_py())) as wheel, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(name for name in wheel.namelist() if not name.endswith("/")):
            content = wheel.read(name)
            if name.endswith(".py"):
                try:
                    code = marshal.dumps(compile(content, name, "exec", dont_inherit=True))
                    # flag 1: the file has the digest of its source, here none, and nobody compares it
                    name, content = name + "c", importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + code
                except SyntaxError:
                    pass  # templates, which nobody imports
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()

warnings.simplefilter("ignore")
compiled
`);
for (const wheel of wheels) {
  const place = join(out, basename(wheel));
  writeFileSync(`${place}.part`, compiled(new Uint8Array(readFileSync(wheel))).toJs());
  renameSync(`${place}.part`, place);
}
