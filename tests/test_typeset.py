"""Mathematics that was typed as plain text: what is taken for a formula, its TeX, and where a line may be broken."""

import re

import pytest

from kit.typeset import _greek, pieces, to_html, to_markdown


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("A policy has a value", "A policy has a value"),
        ("A σ in (0, 1)", r"A $\sigma$ in (0, 1)"),
        ("where A has two eigenvalues", "where $A$ has two eigenvalues"),
        ("A is Hurwitz", "$A$ is Hurwitz"),
        ("S_t = a and A_t = a.", "$S_{t} = a$ and $A_{t} = a$."),
        ("case I leads; I, not M", "case I leads; $I$, not $M$"),
        ("Appendix E; E is a mean", r"Appendix E; $\mathbb{E}$ is a mean"),
        ("First: M. Dumke, not M. It", "First: M. Dumke, not $M$. It"),
        ("an ε-greedy n-step λ-return", r"an $\varepsilon$-greedy $n$-step $\lambda$-return"),
        ("Q-learning and σ's law", r"Q-learning and $\sigma$’s law"),
        ("for ε in (0, 2]. (x)", r"for $\varepsilon$ in (0, 2]. $(x)$"),
        ("of 8 x 8, a reward of -3", "of 8 × 8, a reward of −3"),
        (
            "GQ(σ, λ), Q^π(λ), Q(s, a)",
            r"GQ$(\sigma, \lambda)$, $\mathrm{Q}^{\pi}(\lambda)$, $Q(s, a)$",
        ),
        (
            "½‖A_σθ + b‖², Â_k, θ̇",
            r"$\tfrac12\lVert A_{\sigma}\theta + b\rVert^{2}$, $\hat{A}_{k}$, $\dot{\theta}$",
        ),
        ("(λγ)^(l-t) δ_l, l >= t", r"$(\lambda\gamma)^{l-t} \delta_{l}$, $l \ge t$"),
        (
            "P(s'|s,a), |S||A|",
            r"$P(s^{\prime} \mid s, a)$, $\lvert\mathcal{S}\rvert\lvert\mathcal{A}\rvert$",
        ),
        ("in Eq. (8), by (13)–(14), 2(3)", "in Eq. (8), by (13)–(14), 2(3)"),
        ("full sampling (σ = 1)", r"full sampling $(\sigma = 1)$"),
        ("σ (p = 1024)", r"$\sigma$ $(p = 1024)$"),
        ("from 2^7 to 2^11, p = 0.19", "from $2^{7}$ to $2^{11}$, $p = 0.19$"),
        ("as $x_1^\\ast$ says", "as $x_1^\\ast$ says"),
        ("-½∇MSPBE, the MSPBE", r"$- \tfrac12\nabla\mathrm{MSPBE}$, the MSPBE"),
        ('the "best" *of* a_b', "the “best” \\*of\\* $a_{b}$"),
        (
            "E[φ φ^T]⁻¹ and E_π Q(S', .)",
            r"$\mathbb{E}[\phi \phi^{\top}]^{-1}$ and $\mathbb{E}_{\pi} Q(S^{\prime}, \cdot)$",
        ),
        ("1 + 1 = 3, 69.8 / 14.1", "1 + 1 = 3, 69.8 / 14.1"),
        ("", ""),
        # stars, primes and indices, one after another and in brackets of each kind
        ("x*, θ*, 3*, x’ and x'", r"$x^{*}$, $\theta^{*}$, 3\*, $x^{\prime}$ and $x^{\prime}$"),
        (
            "γ_{t+1}, θ_12, θ^-12, θ_k^2_j",
            r"$\gamma_{t+1}$, $\theta_{12}$, $\theta^{-12}$, $\theta_{kj}^{2}$",
        ),
        ("(a + b)^2, [x, y]_2, {x | y}", r"$(a + b)^{2}$, $[x, y]_{2}$, $\{x \mid y\}$"),
        (
            "‖θ‖_M^2, |S|^2, 2_3",
            r"$\lVert \theta\rVert_{M}^{2}$, $\lvert\mathcal{S}\rvert^{2}$, 2\_3",
        ),
        (r"x^(\tau), x_{t \tau}", r"$x^{\tau}$, $x_{t \tau}$"),
        # brackets that are not closed, or not opened, are signs in the text
        ("(σ", r"($\sigma$"),
        ("σ)", r"$\sigma$)"),
        ("‖σ", r"‖$\sigma$"),
        ("((σ) x", r"($(\sigma) x$"),
        # functions are mathematics before or close behind a letter, and words elsewhere
        ("max σ, max Q(s), the max", r"$\max \sigma$, $\max Q(s)$, the max"),
        ("max (σ, λ), max (of)", r"$\max (\sigma, \lambda)$, max (of)"),
        ("sup‖x‖, θmax", r"$\sup\lVert x\rVert$, $\theta\max$"),
        # letters that are names, articles, initials; and those that are not
        ("Step A is. Part B", "Step A is. Part B"),
        ("A; B? A. B", "$A$; $B$? A. $B$"),
        ("A θ + b", r"$A \theta + b$"),
        ("A θ and", r"A $\theta$ and"),
        ("A b, a b, a = b, θ a", r"A $b$, a $b$, $a = b$, $\theta$ a"),
        # products: what is side by side belongs together if one of the two is surely mathematics
        ("2 θ, 12 θ, 2 x, θ 2", r"$2 \theta$, 12 $\theta$, 2 $x$, $\theta$ 2"),
        ("θ (x = 1), θ (x), x (θ)", r"$\theta$ $(x = 1)$, $\theta (x)$, $x (\theta)$"),
        ("x y, x θ, x A_t", r"$x$ $y$, $x \theta$, $x A_{t}$"),
        # operators at the edge of a formula
        ("+ θ, +θ, θ +", r"+ $\theta$, $+ \theta$, $\theta$ +"),
        ("x - y, (-3), 4/-3", "$x - y$, (−3), 4/−3"),
        ("50% of θ = 50%", r"50% of $\theta = 50\%$"),
        ("(1, ..., n), x...y", r"$(1, \ldots , n)$, $x$...$y$"),
        # the names of algorithms are upright
        (
            "Q(σ), Q(σ, λ), Q(x), Q^π(σ)",
            r"$\mathrm{Q}(\sigma)$, $\mathrm{Q}(\sigma, \lambda)$, $Q(x)$, $\mathrm{Q}^{\pi}(\sigma)$",
        ),
        ("E[x], Ê, é", r"$\mathbb{E}[x]$, $\hat{\mathbb{E}}$, é"),
        ('say "A" ("b")', "say “$A$” (“$b$”)"),
        ("one\n  more  σ", r"one more $\sigma$"),
        # the same words and letters at the end of a text, where nothing follows them
        ("it is M.", "it is $M$."),
        ("A", "$A$"),
        ("A policy", "A policy"),
        ("A θ", r"A $\theta$"),
        ("A θ +", r"$A \theta$ +"),
        ("A θ + b c", r"$A \theta + b$ $c$"),
        ("where A then", "where $A$ then"),
        ("by: M. Dumke", "by: M. Dumke"),
        ('say "a" so', "say “a” so"),
        ("max θ", r"$\max \theta$"),
        ("θmax", r"$\theta\max$"),
        ("θ/max of it", r"$\theta$/max of it"),
        ("max + θ", r"max + $\theta$"),
        # an "a" that touches a formula is part of it
        ("aθ, a(x), a‖x‖", r"$a\theta$, $a(x)$, $a\lVert x\rVert$"),
        ("θa, (x)a, ‖x‖a, 2a", r"$\theta a$, $(x)a$, $\lVert x\rVert a$, $2a$"),
        ("θ a = b", r"$\theta$ $a = b$"),
        # what makes a product of neighbours, and what does not
        ("(y)^2 x, ‖x‖ y, (1 + 1)^2", r"$(y)^{2} x$, $\lVert x\rVert y$, $(1 + 1)^{2}$"),
        ("2 |S|, x |S|", r"$2 \lvert\mathcal{S}\rvert$, $x \lvert\mathcal{S}\rvert$"),
        ("θ 2^3, θ (1), (1) θ", r"$\theta$ $2^{3}$, $\theta$ (1), (1) $\theta$"),
        ("$x$θ, θ $x$", r"$x$$\theta$, $\theta$ $x$"),
        ("+ θx, = = θ", r"+ $\theta x$, = = $\theta$"),
        ("Φx, (θ;x), Q[σ]", r"$\Phi x$, $(\theta; x)$, $Q[\sigma]$"),
        ("x'^2, x_X", r"$x^{\prime2}$, $x_{X}$"),
    ],
)
def test_formulas_are_told_from_words(text, markdown):
    assert to_markdown(text) == markdown


def test_greek_letters_have_their_names_in_tex():
    assert [_greek(letter) for letter in "αλΛσΩ"] == ["alpha", "lambda", "Lambda", "sigma", "Omega"]


def test_a_long_formula_is_whole_where_it_is_not_broken():
    whole = r"x\theta = a\theta + b\theta - c\theta"
    assert pieces("so xθ = aθ + bθ - cθ.") == [(False, "so "), (True, whole), (False, ".")]
    assert to_markdown("so xθ = aθ + bθ - cθ.") == f"so ${whole}$."


def test_quotes_stay_as_they_are_in_html():
    assert to_html("the others' sum") == "the others' sum"
    assert to_html("$x'$") == r"""<span class="math notranslate nohighlight">\(x'\)</span>"""


def test_a_long_formula_can_be_broken_and_keeps_its_comma():
    written = to_html("so A_σ = Φᵀ Ξ (I - γλ P^μ)⁻¹ ((1 - σ) γP^π + σ γP^μ - I) Φ, say")
    assert written.count("</span><wbr><span") == 4
    assert written.endswith(
        r'<span class="gq-tight"><span class="math notranslate nohighlight">\(I) \Phi\)</span>,</span> say'
    )


def formulas(text):
    """What is between the marks of each formula of the HTML, and how many places to break a line there are."""
    written = to_html(text)
    return re.findall(r"\\\((.*?)\\\)</span>", written), written.count("<wbr>")


def test_a_formula_is_broken_after_operators_only_if_it_is_long():
    assert formulas("x = aθ + bθ - cθ") == (
        [r"x = a\theta + b\theta - c\theta"],
        0,
    )  # 16 characters
    assert formulas("xθ = aθ + bθ - cθ") == (
        [r"x\theta = {}", r"a\theta + {}", r"b\theta - {}", r"c\theta"],
        3,
    )  # and 17
    assert formulas("as the text has it, xθ = aθ + bθ") == ([r"x\theta = a\theta + b\theta"], 0)
    # neither at a fraction, nor behind a part of three characters or fewer
    assert formulas("x θ/y θ/z θ/z θ/z") == ([r"x \theta/y \theta/z \theta/z \theta/z"], 0)
    for before in ("", "that is, "):
        assert formulas(f"{before}θ - aθ + bθ - cθ + d") == (
            [r"\theta - a\theta + {}", r"b\theta - {}", r"c\theta + {}", "d"],
            3,
        )


def test_a_formula_is_broken_between_brackets_and_inside_long_ones():
    # the group of 21 characters is opened up, the short ones are not
    assert formulas("(aθ + bθ + cθ + dθ_1)² (xθ)(yθ)") == (
        [
            r"(a\theta + {}",
            r"b\theta + {}",
            r"c\theta + {}",
            r"d\theta_{1})^{2} {}",
            r"(x\theta) {}",
            r"(y\theta)",
        ],
        5,
    )


def test_a_formula_begins_with_brackets_or_has_them_behind_a_space():
    assert formulas("(xθ)(yθ)(zθ)(wθ_1)") == (
        [r"(x\theta) {}", r"(y\theta) {}", r"(z\theta) {}", r"(w\theta_{1})"],
        3,
    )
    assert formulas("x(aθ + bθ + cθ_1)") == (
        [r"x(a\theta + b\theta + c\theta_{1})"],
        0,
    )  # brackets of 16 characters
    assert formulas("θ (aθ + bθ + cθ_12)") == (
        [r"\theta (a\theta + {}", r"b\theta + {}", r"c\theta_{12})"],
        2,
    )


def test_a_long_set_keeps_its_braces():
    assert formulas("{aθ + bθ + cθ + dθ}") == (
        [r"\{a\theta + {}", r"b\theta + {}", r"c\theta + {}", r"d\theta\}"],
        3,
    )
    assert formulas("[aθ + bθ + cθ, dθ_1]") == (
        [r"[a\theta + {}", r"b\theta + {}", r"c\theta, d\theta_{1}]"],
        2,
    )


def test_what_touches_a_formula_stays_on_its_line():
    assert to_html("θ < 1 & <b>") == (
        r'<span class="math notranslate nohighlight">\(\theta &lt; 1\)</span> &amp; <span class="gq-tight">&lt;'
        r'<span class="math notranslate nohighlight">\(b\)</span>&gt;</span>'
    )
    assert to_html('no "formula"') == "no “formula”"


def test_a_text_must_be_a_text():
    with pytest.raises(ValueError, match="text is 3"):
        pieces(3)


@pytest.mark.parametrize("depth", [49, 51, 2000])
def test_brackets_as_deep_as_one_likes_come_back(depth):
    """A text from elsewhere neither exhausts the stack nor the reader."""
    for text in (
        "(" * depth + "σ" + ")" * depth,
        "(" * depth + "σ",
        "σ" + ")" * depth,
        "‖" * depth + "σ",
    ):
        kept = "".join(part for _, part in pieces(text)).replace("\\sigma", "σ").replace("\\|", "‖")
        assert kept.count("σ") == 1
        assert kept.count("(") == text.count("(")
