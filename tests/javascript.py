"""The scripts of live figures without a browser: a JavaScript engine evaluates what the page will evaluate."""

import json
import re

import IPython.display
import numpy as np
import quickjs
from chromium import ROOT

STATIC = ROOT / "book" / "_static"


def scripts(names, *explorables):
    """A JavaScript context that has loaded these files and the generated blocks, as a chapter's page has."""
    context = quickjs.Context()
    context.eval("var window = globalThis;")
    for name in names:
        context.eval((STATIC / name).read_text(encoding="utf-8"))
    for explorable in explorables:
        (script,) = re.findall(r"<script>(.*?)</script>", explorable.html("fig-x"), re.DOTALL)
        context.eval(script)
    return context


def call(page, function, *arguments):
    """What a function returns for arguments that JSON can hold."""
    return json.loads(
        page.eval(f"JSON.stringify({function}({', '.join(map(json.dumps, arguments))}))")
    )


def formula(page, name, part, *at):
    """What a formula of a live figure gives."""
    return call(page, f"gqExplorables[{json.dumps(name)}].formulas[{json.dumps(part)}]", *at)


def assert_presets_lie_within(explorable, choices=()):
    """Presets set what the sliders can be set to, one is the paper's, and the caption is that of a live figure."""
    sliders = {slider.name: slider for slider in explorable.sliders}
    assert "that you set" in explorable.caption
    assert any("paper" in preset.label for preset in explorable.presets)
    for preset in explorable.presets:
        assert not choices or preset.choice in choices
        for name, value in preset.values.items():
            shown = np.log10(value) if sliders[name].log else value
            assert sliders[name].low <= shown <= sliders[name].high


def assert_small_and_alone(name, lines):
    """A script has fewer lines than this, and asks for nothing from anywhere."""
    source = (STATIC / name).read_text(encoding="utf-8")
    assert len(source.splitlines()) < lines
    assert not re.search(r"https?://|\b(fetch|XMLHttpRequest|import|eval|Function)\s*\(", source)


def assert_shown_as_html_and_a_sentence(monkeypatch, show, name):
    """A notebook gets the block and, where it shows no HTML, one plain sentence of it."""
    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda bundle, raw: shown.append(bundle))
    show("fig-x")
    assert f'data-explorable="{name}" data-figure="fig-x"' in shown[0]["text/html"]
    assert shown[0]["text/plain"] in shown[0]["text/html"]
