// The editor of a cell: CodeMirror with Python, and the few keys that a notebook has.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const setFault = StateEffect.define();
// The line of an error, until the text is changed.
const fault = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setFault)) continue;
      const known = effect.value >= 1 && effect.value <= transaction.state.doc.lines;
      if (!known) return Decoration.none;
      const line = transaction.state.doc.line(effect.value);
      return Decoration.set([Decoration.line({ class: "gq-live-fault" }).range(line.from)]);
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Tab leaves the editor, as it leaves every other field: Enter indents, and Ctrl-] and Ctrl-[ move a line.
export function makeEditor({ parent, text, label, onRun, onRunNext, onChange }) {
  const run = (then) => () => (then(), true);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        keymap.of([
          { key: "Shift-Enter", run: run(onRunNext) },
          { key: "Mod-Enter", run: run(onRun) },
          ...defaultKeymap,
          ...historyKeymap,
        ]),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        indentUnit.of("    "),
        python(),
        syntaxHighlighting(classHighlighter),
        fault,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", autocapitalize: "off", autocorrect: "off", spellcheck: "false" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    mark: (line) => view.dispatch({ effects: setFault.of(line ?? 0) }),
    focus: () => view.focus(),
  };
}
