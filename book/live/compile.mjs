// Compile the Python files of wheels for the Python that the pages have: nothing else can, and a page would do it anew at
// every start. Called by pack.py, in a folder with npm's packages: node compile.mjs WHEEL...; each wheel becomes a zip file
// of its name in the folder out, with .pyc files in the place of those .py files that could be compiled.
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "./node_modules/pyodide/pyodide.mjs";

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
for (const wheel of process.argv.slice(2)) {
  writeFileSync(`out/${wheel}`, compiled(new Uint8Array(readFileSync(wheel))).toJs());
}
