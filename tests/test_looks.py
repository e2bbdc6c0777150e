"""What the drawings look like: where words, nodes and arrows stand, how large and strong they are, in which colour."""

from math import cos, pi, sin

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import ArrowStyle

from gqlib.domains.boyan_chain import triangles
from gqlib.domains.cart_pole import LENGTH
from gqlib.domains.machine import PLAN, RUN
from kit import backups, drawings, figures
from kit.figures import BLACK, BLUE, ORANGE, RED, SKY

matplotlib.use("Agg")

DRAWINGS = {
    "credit": lambda axes: backups.draw_credit(
        axes, ["new", "worn", "broken", "new"], [-3.0, 4.0, 2.0], 0.5
    ),
    "backups": lambda axes: backups.draw_backups(axes, 0.25, 0.5),
    "machine": drawings.draw_machine,
    "backup": lambda axes: drawings.draw_backup(
        axes, 0.3, [0.2, 0.8], 0, names=["pair", "state", "a", "b"]
    ),
    "star": drawings.draw_star,
    "chain": drawings.draw_chain,
    "cart": drawings.draw_cart_pole,
}
SHAPES = {"credit": "auto", "backups": "auto"}  # the others keep their proportions


@pytest.fixture
def axes():
    """Axes in a style in which ink and paper are not matplotlib's own colours."""
    with matplotlib.rc_context():
        figure, made = figures.new()
        matplotlib.pyplot.close(figure)
        with matplotlib.rc_context({"text.color": "#102030", "axes.facecolor": "#f0f1f2"}):
            yield made


INK, PAPER = "#102030", "#f0f1f2"


def words(axes):
    """What is written, and where."""
    return [(text.get_text(), text.get_position()) for text in axes.texts if text.get_text()]


def style(axes, text):
    """Alignment and size of the words that read so; all of them must agree."""
    (found,) = {
        (one.get_ha(), one.get_va(), one.get_fontsize())
        for one in axes.texts
        if one.get_text() == text
    }
    return found


def boxes(axes):
    """Words in a box: their outline, filling and order."""
    return {
        text.get_text(): (
            to_hex(text.get_bbox_patch().get_facecolor()),
            to_hex(text.get_bbox_patch().get_edgecolor()),
        )
        for text in axes.texts
        if text.get_bbox_patch() is not None
    }


def arrows(axes):
    """Begin and end of every arrow, its colour, width and what it leaves free at both ends."""
    found = []
    for one in axes.texts:
        patch = getattr(one, "arrow_patch", None)
        if patch is not None:
            assert isinstance(patch.get_arrowstyle(), ArrowStyle.get_styles()["-|>"])
            free = (patch.shrinkA, patch.shrinkB)
            found.append(
                (one.xyann, one.xy, to_hex(patch.get_edgecolor()), patch.get_linewidth(), free)
            )
    return found


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def lines(axes, **wanted):
    """Lines with these properties, as lists of x and y."""
    return [
        (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.lines
        if all(matplotlib.artist.getp(line, name) == value for name, value in wanted.items())
    ]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_all_within_and_has_no_axes_around_it(axes, name):
    DRAWINGS[name](axes)
    assert not axes.axison
    assert not any(line.get_visible() for line in axes.get_xgridlines() + axes.get_ygridlines())
    assert axes.get_aspect() == SHAPES.get(name, 1.0)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    inside = [
        *(place for _, place in words(axes)),
        *(end for arrow in arrows(axes) for end in arrow[:2]),
    ]
    inside += [place for line in axes.lines for place in zip(*line.get_data(), strict=True)]
    assert len(inside) > 5
    for x, y in inside:
        assert left < x < right or x in (
            0,
            1,
        )  # a line across begins at 0 and ends at 1, as fractions
        assert low < y < high


@pytest.mark.parametrize("name", DRAWINGS)
def test_nodes_and_boxes_lie_over_lines_and_arrows(axes, name):
    DRAWINGS[name](axes)
    above = [text.get_zorder() for text in axes.texts if text.get_bbox_patch() is not None]
    marks = [
        line.get_zorder()
        for line in axes.lines
        if line.get_marker() == "o" and line.get_markersize() > 4
    ]
    below = [line.get_zorder() for line in axes.lines if len(line.get_xdata()) > 1]
    if name != "cart":  # a wheel lies under its cart
        assert min(above + marks) >= 3
    assert max(below, default=2) <= 2


# ---------------------------------------------------------------- credit


def test_credit_has_its_pairs_in_a_row_and_the_errors_between_them(axes):
    DRAWINGS["credit"](axes)
    row = [place for place in words(axes) if place[1][1] == 0.0]
    assert row == [
        ("new", (0.0, 0.0)),
        ("worn", (2.0, 0.0)),
        ("broken", (4.0, 0.0)),
        ("new", (6.0, 0.0)),
    ]
    errors = {text: place for text, place in words(axes) if "delta" in text}
    assert errors == {
        r"$\delta_{0} = -3$": (1, -2.5),
        r"$\delta_{1} = +4$": (3, -2.5),
        r"$\delta_{2} = +2$": (5, -2.5),
    }
    assert {text.get_color() for text in axes.texts if "delta" in text.get_text()} == {RED}
    assert style(axes, "worn") == ("center", "center", 10)
    assert style(axes, r"$\delta_{1} = +4$") == ("center", "center", 12)
    assert style(axes, "×0.5") == ("center", "center", 9)
    assert boxes(axes)["worn"] == (PAPER, INK)
    frames = [
        text.get_bbox_patch()
        for text in axes.texts
        if text.get_position()[1] == 0.0 and text.get_text()
    ]
    assert [frame.get_linestyle() for frame in frames] == [
        "-",
        "-",
        "-",
        "--",
    ]  # the last is only reached
    assert {
        (frame.get_boxstyle().pad, type(frame.get_boxstyle()).__name__) for frame in frames
    } == {(0.35, "Round")}
    near([*axes.get_xlim(), *axes.get_ylim()], [-0.7, 6.7, -2.8, 0.6])


def test_credit_goes_from_an_error_to_the_pairs_as_wide_as_its_share(axes):
    DRAWINGS["credit"](axes)
    steps = [arrow for arrow in arrows(axes) if arrow[2] == INK]
    assert [(begin, end, free) for begin, end, _, _, free in steps] == [
        ((2.0 * k + 0.6, 0.0), (2.0 * k + 1.4, 0.0), (0, 0)) for k in range(3)
    ]
    back = [arrow for arrow in arrows(axes) if arrow[2] == RED.lower()]
    expected = [(k, j) for k in range(3) for j in range(k + 1)]
    assert len(back) == len(expected)
    labels = [(text, place) for text, place in words(axes) if text.startswith("×")]
    for (begin, end, _, width, free), (k, j), (text, place) in zip(
        back, expected, labels, strict=True
    ):
        near(begin, (2 * k + 1 - 0.2 * (k - j), -2.25))
        near(end, (2 * j + 0.22 * (k - j) - 0.11, -0.45))
        assert width == pytest.approx(0.6 + 2 * 0.5 ** (k - j))
        assert free == (0, 0)
        assert text == f"×{0.5 ** (k - j):g}"
        along = np.subtract(place, begin) / np.subtract(end, begin)  # the label lies on its arrow
        near(along, [{0: 0.62, 1: 0.35, 2: 0.8}[k - j]] * 2)
    assert boxes(axes)["×0.5"] == (PAPER, to_hex("none"))
    assert {
        text.get_bbox_patch().get_boxstyle().pad for text in axes.texts if text.get_text() == "×1"
    } == {0.1}


# ---------------------------------------------------------------- backups


def test_columns_of_a_lambda_return_stand_side_by_side(axes):
    DRAWINGS["backups"](axes)
    assert words(axes) == [
        (f"×{w}", (1.9 * k, pytest.approx(-5.55))) for k, w in enumerate(("0.5", "0.25", "0.25"))
    ]
    assert style(axes, "×0.5") == ("center", "center", 10)
    near([*axes.get_xlim(), *axes.get_ylim()], [-0.9, 4.7, -5.9, 0.5])
    down = lines(axes, color=BLUE, linestyle="-")
    for column in range(3):
        own = [y for x, y in down if x == [1.9 * column] * 2]
        near(
            own, [[-0.8 * k, -0.8 * (k + 1)] for k in range(2 * column + 2)]
        )  # pair to state to pair
    assert len(down) == 2 + 4 + 6


def test_nodes_of_a_backup_are_dots_for_actions_and_circles_for_states(axes):
    backups.draw_backups(axes, 0.25, 0.5, steps=1)
    dots = [(line.get_xdata()[0], line.get_ydata()[0], line.get_markersize(), line.get_color(), line.get_alpha())
            for line in axes.lines if line.get_marker() == "o"]  # fmt: skip
    assert dots == [
        (-0.55, -1.6, 5, RED, 0.75),
        (0.0, -1.6, 5, RED, 0.75),
        (0.55, -1.6, 5, RED, 0.75),
        (0.0, -1.6, 6, INK, 0.25),  # sampled, as strong as sigma
        (0.0, -0.8, 11, PAPER, None),
        (0.0, 0.0, 6, INK, None),
    ]
    (state,) = (
        line for line in axes.lines if line.get_markersize() == 11 and line.get_marker() == "o"
    )
    assert state.get_markeredgecolor() == INK


def test_branches_of_a_backup_lead_to_both_sides_and_at_the_end_also_down(axes):
    backups.draw_backups(axes, 0.25, 0.5, steps=2)
    branches = [
        line for line in axes.lines if line.get_color() == RED and len(line.get_xdata()) == 2
    ]
    ends = [(*line.get_xdata(), *line.get_ydata()) for line in branches]
    second = [(1.9, 1.9 + side, -0.8, -1.6) for side in (-0.55, 0.55)]
    second += [(1.9, 1.9 + side, -2.4, -3.2) for side in (-0.55, 0.0, 0.55)]
    near(ends, [(0.0, side, -0.8, -1.6) for side in (-0.55, 0.0, 0.55)] + second)
    assert {(line.get_linewidth(), line.get_alpha(), line.is_dashed()) for line in branches} == {
        (1.6, 0.75, True)
    }
    assert [line._unscaled_dash_pattern for line in branches] == [(0, (3, 1.5))] * len(branches)
    sampled = [
        line for line in axes.lines if line.get_color() == BLUE and line.get_alpha() is not None
    ]
    assert [(line.get_xdata()[0], line.get_ydata()[1], line.get_alpha()) for line in sampled] == [
        (0.0, -1.6, 0.25),
        (1.9, -1.6, 1.0),
        (1.9, -3.2, 0.25),
    ]


# ---------------------------------------------------------------- the machine


def test_arrows_of_the_machine_are_as_wide_as_their_chance_and_have_the_colour_of_their_action(
    axes,
):
    drawings.draw_machine(axes)
    drawn = arrows(axes)
    moves = drawings.machine_mdp().transitions
    patches = [
        text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None) is not None
    ]
    for (key, (begin, end, bend, place)), arrow, patch in zip(
        drawings._MACHINE.items(), drawn, patches, strict=True
    ):
        colour = BLUE if key[1] == RUN else RED
        assert arrow[:3] == (begin, end, colour.lower())
        assert arrow[3] == pytest.approx(0.8 + 1.2 * moves[key])
        assert arrow[4] == (0, 0)
        assert patch.get_connectionstyle().rad == bend
        assert patch.get_linestyle() == ("-" if key[1] == RUN else (0, (4, 2)))
        assert (f"{moves[key]:g}", place) in words(axes)
        (number,) = (
            text for text in axes.texts if text.get_position() == place and text.get_text()
        )
        assert (number.get_color(), number.get_ha(), number.get_va(), number.get_fontsize()) == (
            colour, "center", "center", 9,
        )  # fmt: skip
    assert [place for place in words(axes) if place[0].isalpha()] == [
        ("new", (0.0, 0.0)), ("worn", (3.0, 0.0)), ("broken", (6.0, 0.0)),
    ]  # fmt: skip
    assert style(axes, "worn") == ("center", "center", 11)
    assert boxes(axes) == dict.fromkeys(("new", "worn", "broken"), (PAPER, INK))
    frame = next(text.get_bbox_patch() for text in axes.texts if text.get_text() == "worn")
    assert (frame.get_linewidth(), frame.get_boxstyle().pad) == (1.3, 0.5)
    near([*axes.get_xlim(), *axes.get_ylim()], [-1.4, 6.8, -1.4, 1.15])
    assert_legend(axes, (0.5, 0.04), 10, ["run: pays 3, 2, 0", "repair: costs 1, 1.5, 2"])
    assert [line.get_color() for line in axes.get_legend().get_lines()] == [BLUE, RED]


def assert_legend(axes, anchor, size, texts):
    """The legend stands below the drawing, in one row."""
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == texts
    assert {text.get_fontsize() for text in legend.get_texts()} == {size}
    assert legend._ncols == 2
    assert legend._loc == 9  # upper centre
    near(axes.transAxes.inverted().transform(legend.get_bbox_to_anchor().p0), anchor)


# ---------------------------------------------------------------- one backup and its dial


def test_a_backup_has_its_nodes_and_names_in_place(axes):
    drawings.draw_backup(axes, 0.3, [0.2, 0.8], 0, names=["pair", "state", "a", "b"])
    assert {
        ("pair", (0.22, 0.0)), ("state", (0.3, -0.95)), ("a", (-0.65, -2.35)), ("b", (0.65, -2.35)),
        ("×0.44", (-0.65, -2.72)), ("×0.56", (0.65, -2.72)),
    } <= set(words(axes))  # fmt: skip
    assert [style(axes, text) for text in ("pair", "state", "a", "×0.44")] == [
        ("left", "center", 10), ("left", "center", 10), ("center", "center", 10), ("center", "center", 11),
    ]  # fmt: skip
    dots = [(line.get_xdata()[0], line.get_ydata()[0], line.get_markersize(), line.get_color(), line.get_alpha())
            for line in axes.lines if line.get_marker() == "o"]  # fmt: skip
    assert dots == [(-0.65, -2.0, 8, INK, 1.0), (0.65, -2.0, 8, INK, 1.0), (0.0, 0.0, 8, INK, None),
                    (0.0, -1.0, 16, PAPER, None)]  # fmt: skip
    state = axes.lines[-1]
    assert (state.get_markeredgecolor(), state.get_markeredgewidth()) == (INK, 1.5)
    near([*axes.get_xlim(), *axes.get_ylim()], [-1.5, 1.5, -2.95, 1.75])


def test_lines_of_a_backup_are_as_wide_as_what_they_stand_for(axes):
    drawings.draw_backup(axes, 0.3, [0.2, 0.8, 0.0], 0)
    long = {
        (line.get_color(), line.get_linewidth()): (
            list(line.get_xdata()),
            list(line.get_ydata()),
            line.get_linestyle(),
        )
        for line in axes.lines
        if len(line.get_xdata()) == 2 and line.get_ydata()[0] <= 0.0
    }
    expected = {
        (INK, 1.5): ([0.0, 0.0], [0.0, -1.0], "-"),
        (BLUE, 0.8 + 3 * 0.3): ([0.06, -1.24], [-1.0, -2.0], "-"),
        (RED, 0.8 + 3 * 0.7 * 0.2): ([0.0, -1.3], [-1.0, -2.0], "--"),
        (RED, 0.8 + 3 * 0.7 * 0.8): ([0.0, 0.0], [-1.0, -2.0], "--"),
        (INK, 0.8): ([0.0, 1.3], [-1.0, -2.0], ":"),
    }
    assert len(long) == len(expected)
    for (colour, width), (x, y, kind) in expected.items():
        ((got_x, got_y, got_kind),) = (
            found for key, found in long.items() if key[0] == colour and abs(key[1] - width) < 1e-12
        )
        near([got_x, got_y], [x, y])
        assert got_kind == kind
    nothing = next(line for line in axes.lines if line.get_linestyle() == ":")
    assert nothing.get_alpha() == 0.5
    faint = [
        line.get_alpha()
        for line in axes.lines
        if line.get_marker() == "o" and line.get_ydata()[0] == -2.0
    ]
    assert faint == [1.0, 1.0, 0.4]  # what has no weight is faint


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
def test_the_dial_is_a_half_circle_with_five_ticks_and_a_hand(axes, sigma):
    drawings.draw_backup(axes, sigma, [0.2, 0.8], 0)
    (rim,) = (line for line in axes.lines if len(line.get_xdata()) > 10)
    x, y = rim.get_data()
    near(np.hypot(x, y - 0.6), 0.65)
    assert (y >= 0.6 - 1e-12).all()
    near([x[0], x[-1]], [-0.65, 0.65])
    assert len(x) > 50  # round to the eye
    assert (rim.get_color(), rim.get_linestyle(), rim.get_linewidth()) == (INK, "-", 1.5)
    ticks = [
        line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_ydata()[0] > 0.5
    ]
    for line, at in zip(ticks, (0.0, 0.25, 0.5, 0.75, 1.0), strict=True):
        out = np.array([-cos(pi * at), sin(pi * at)])
        near(line.get_xydata(), [[0.0, 0.6] + 0.65 * share * out for share in (0.88, 1.0)])
        assert (line.get_color(), line.get_linestyle(), line.get_linewidth()) == (INK, "-", 1.0)
    ((begin, end, colour, width, free),) = arrows(axes)
    near(begin, (0.0, 0.6))
    near(end, (-0.52 * cos(pi * sigma), 0.6 + 0.52 * sin(pi * sigma)))
    assert (colour, width, free) == (BLUE.lower(), 2.5, (0, 0))
    places = dict(words(axes))
    near(
        [places[f"σ = {sigma:g}"], places["expect"], places["sample"]],
        [(0.0, 1.5), (-0.77, 0.6), (0.77, 0.6)],
    )
    assert [style(axes, text) for text in (f"σ = {sigma:g}", "expect", "sample")] == [
        ("center", "center", 12), ("right", "center", 9), ("left", "center", 9),
    ]  # fmt: skip


# ---------------------------------------------------------------- the paper's domains


def test_the_star_has_its_corners_around_the_centre_and_begins_at_the_top(axes):
    drawings.draw_star(axes, 5)
    places = dict(words(axes))
    near(
        [places[f"$s_{i}$"] for i in (1, 2, 3, 4, 5)],
        [(0, 1.3), (1.9, 0), (0, -1.3), (-1.9, 0), (0, 0)],
    )
    near(places[r"$2\epsilon_2 + \epsilon_{6}$"], (1.32 * 1.9, 0.0))
    near(places[r"$2\epsilon_1 + \epsilon_{6}$"], (0.0, 1.34 * 1.3))
    assert style(axes, r"$2\epsilon_1 + \epsilon_{6}$") == ("center", "center", 8)
    assert style(axes, "$s_1$") == ("center", "center", 9)
    assert boxes(axes) == {
        f"$s_{i}$": ("#ffffff" if i < 5 else SKY.lower(), BLACK) for i in range(1, 6)
    }
    frame = next(text.get_bbox_patch() for text in axes.texts if text.get_text() == "$s_1$")
    assert (frame.get_linewidth(), type(frame.get_boxstyle()).__name__) == (1.2, "Circle")
    corners = [places[f"$s_{i}$"] for i in (1, 2, 3, 4)]
    patches = [
        text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None) is not None
    ]
    for arrow, patch, corner in zip(arrows(axes)[:4], patches, corners, strict=False):
        near(arrow[:2], [corner, (0.0, 0.0)])
        assert arrow[2:] == (BLUE.lower(), 1.3, (13, 13))
        assert (patch.get_linestyle(), patch.get_connectionstyle().rad) == ("solid", 0.0)
    for arrow, patch, corner, other in zip(
        arrows(axes)[4:], patches[4:], corners, corners[1:] + corners[:1], strict=True
    ):
        near(arrow[:2], [corner, other])
        assert arrow[2] == RED.lower()
        assert (patch.get_linestyle(), patch.get_connectionstyle().rad) == ("--", 0.18)
    assert_legend(
        axes, (0.5, -0.02), 8, ["solid: μ = 1/5, π = 1", "dashed, to any corner: μ = 4/5, π = 0"]
    )
    assert [(line.get_color(), line.get_linestyle()) for line in axes.get_legend().get_lines()] == [
        (BLUE, "-"), (RED, "--"),
    ]  # fmt: skip
    near([*axes.get_xlim(), *axes.get_ylim()], [-2.9, 2.9, -1.9, 1.9])


def test_the_chain_goes_on_by_one_and_by_two_and_its_arcs_alternate(axes):
    drawings.draw_chain(axes, 5)
    assert words(axes) == [(f"${i}$", (i, 0.0)) for i in range(1, 6)]
    assert style(axes, "$3$") == ("center", "center", 8)
    assert boxes(axes) == {
        f"${i}$": ("#ffffff" if i < 5 else SKY.lower(), BLACK) for i in range(1, 6)
    }
    patches = [
        text.arrow_patch for text in axes.texts if getattr(text, "arrow_patch", None) is not None
    ]
    found = [(*arrow[:3], arrow[4], patch.get_connectionstyle().rad)
             for arrow, patch in zip(arrows(axes), patches, strict=True)]  # fmt: skip
    blue, free = BLUE.lower(), (9, 9)
    assert found == [
        ((1, 0.0), (2, 0.0), blue, free, 0.0), ((1, 0.0), (3, 0.0), blue, free, -0.45),
        ((2, 0.0), (3, 0.0), blue, free, 0.0), ((2, 0.0), (4, 0.0), blue, free, 0.45),
        ((3, 0.0), (4, 0.0), blue, free, 0.0), ((3, 0.0), (5, 0.0), blue, free, -0.45),
        ((4, 0.0), (5, 0.0), RED.lower(), free, 0.0),
    ]  # fmt: skip
    assert_legend(axes, (0.5, 0.02), 8, ["probability 1/2, reward -3", "probability 1, reward -2"])
    assert [(line.get_color(), line.get_linestyle()) for line in axes.get_legend().get_lines()] == [
        (BLUE, "-"), (RED, "-"),
    ]  # fmt: skip
    near([*axes.get_xlim(), *axes.get_ylim()], [0.3, 5.7, -1.1, 1.1])


@pytest.mark.parametrize(
    ("draw", "least", "usual"), [(drawings.draw_star, 3, 7), (drawings.draw_chain, 4, 14)]
)
def test_star_and_chain_have_a_least_and_a_usual_size(axes, draw, least, usual):
    for given, states in (((), usual), ((least,), least)):
        axes.clear()
        draw(axes, *given)
        assert sum(text.get_bbox_patch() is not None for text in axes.texts) == states


def test_triangles_stand_over_the_states_in_the_styles_of_the_cycle(axes):
    drawings.draw_triangles(axes)
    expected = triangles(14)
    for j, (line, (colour, kind)) in enumerate(zip(axes.lines, figures.CYCLE, strict=False)):
        near(line.get_xydata(), np.column_stack([np.arange(1, 15), expected[:, j]]))
        assert (line.get_color(), line.get_linestyle()) == (colour, kind)
        assert (line.get_marker(), line.get_markersize(), line.get_label()) == (
            "o",
            4,
            rf"$\phi_{j}$",
        )
    assert len(axes.lines) == 4
    assert axes.get_xticks().tolist() == list(range(1, 15))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("state", "feature")
    legend = axes.get_legend()
    assert (legend._ncols, legend._loc, len(legend.get_texts())) == (4, 9, 4)
    near(axes.transAxes.inverted().transform(legend.get_bbox_to_anchor().p0), (0.5, 1.2))


@pytest.mark.parametrize("angle", [None, 0.0, 0.4])
def test_the_pole_leans_by_its_angle(axes, angle):
    drawings.draw_cart_pole(axes, *([] if angle is None else [angle]))
    turn = 0.25 if angle is None else angle
    (pole,) = (line for line in axes.lines if line.get_color() == ORANGE)
    long = 0.9 * 2 * LENGTH  # from end to end, at nine tenths of its size
    top = (long * sin(turn), 0.18 + long * cos(turn))
    near(pole.get_xydata(), [(0.0, 0.18), top])
    assert (pole.get_linewidth(), pole.get_solid_capstyle()) == (4, "round")
    (arc,) = (line for line in axes.lines if len(line.get_xdata()) == 20)
    way = arc.get_xydata() - (0.0, 0.18)
    near(np.hypot(*way.T), 0.8)
    near(np.arctan2(way[:, 0], way[:, 1]), np.linspace(0.0, turn, 20))
    assert (arc.get_color(), arc.get_linewidth(), arc.get_linestyle()) == (BLACK, 1, "-")
    places = dict(words(axes))
    near(places["$s_1$"], (0.9 * sin(turn / 2), 0.18 + 0.9 * cos(turn / 2)))
    near(places["angular velocity $s_2$"], (top[0] + 0.1, top[1]))
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    near([line.get_xydata()[0] for line in marks], [(-0.2, -0.03), (0.2, -0.03), top])
    assert [(line.get_color(), line.get_markersize()) for line in marks] == [
        (BLACK, 7),
        (BLACK, 7),
        (BLACK, 10),
    ]


def test_the_cart_stands_on_the_ground_and_is_pushed_to_the_right(axes):
    drawings.draw_cart_pole(axes)
    (cart,) = axes.patches
    assert (cart.get_xy(), cart.get_width(), cart.get_height()) == ((-0.35, 0.0), 0.7, 0.18)
    assert (to_hex(cart.get_facecolor()), to_hex(cart.get_edgecolor())) == (SKY.lower(), BLACK)
    assert arrows(axes) == [((0.35, 0.09), (0.95, 0.09), RED.lower(), 1.3, (0, 0))]
    (upright,) = (line for line in axes.lines if line.get_linestyle() == ":")
    assert (upright.get_xydata().tolist(), upright.get_color(), upright.get_linewidth()) == (
        [[0.0, 0.18], [0.0, 1.25]], BLACK, 1,
    )  # fmt: skip
    (ground,) = (line for line in axes.lines if set(line.get_ydata()) == {-0.07})
    assert (ground.get_color(), ground.get_linewidth(), list(ground.get_xdata())) == (
        BLACK,
        1,
        [0, 1],
    )
    places = dict(words(axes))
    assert (places["action $a$"], places["$s_3$ (velocity $s_4$)"]) == ((1.0, 0.09), (0.0, -0.2))
    assert (
        style(axes, "action $a$") == style(axes, "angular velocity $s_2$") == ("left", "center", 9)
    )
    assert style(axes, "$s_1$") == ("center", "center", 10)
    assert style(axes, "$s_3$ (velocity $s_4$)") == ("center", "top", 9)
    near([*axes.get_xlim(), *axes.get_ylim()], [-1.2, 1.7, -0.4, 1.4])


# ---------------------------------------------------------------- curves with bands


RUNS = np.array([[1.0, 2.0, 30.0], [3.0, 2.0, 10.0], [5.0, 2.0, 20.0]])
# The quantile of Student's t with two degrees of freedom has a closed form, (2p − 1) / √(2p(1 − p)).
HALF = 0.95 / np.sqrt(2 * 0.975 * 0.025) * np.array([2.0, 0.0, 10.0]) / np.sqrt(3)


def edges(axes):
    """The lower and upper edge of the only band."""
    (band,) = axes.collections
    x, y = band.get_paths()[0].vertices.T
    return [
        sorted({value for at, value in zip(x, y, strict=True) if at == k}) for k in (0, 1, 2)
    ], band


def test_a_band_is_the_mean_with_its_interval_in_the_colour_of_the_curve(axes):
    mean, half = figures.band(axes, [0, 1, 2], RUNS, "runs", color=RED, linestyle="--")
    near(mean, [3.0, 2.0, 20.0])
    near(half, HALF)
    (line,) = axes.lines
    assert (line.get_label(), line.get_color(), line.get_linestyle()) == ("runs", RED, "--")
    near(line.get_xydata(), np.column_stack([[0, 1, 2], mean]))
    between, band = edges(axes)
    near(between[0], [3.0 - HALF[0], 3.0 + HALF[0]])
    near(between[2], [20.0 - HALF[2], 20.0 + HALF[2]])
    assert to_hex(band.get_facecolor()[0], keep_alpha=True) == RED.lower() + "40"
    assert band.get_linewidth().tolist() == [0]


def test_a_band_on_a_log_axis_is_cut_at_a_hundredth_of_the_mean(axes):
    drawings.log_band(axes, [0, 1, 2], RUNS, "runs", color=RED)
    between, band = edges(axes)
    near(between[0], [0.03, 3.0 + HALF[0]])  # the interval reaches below zero
    near(between[2], [0.2, 20.0 + HALF[2]])
    assert to_hex(band.get_facecolor()[0], keep_alpha=True) == RED.lower() + "40"
    assert band.get_linewidth().tolist() == [0]
    assert [line.get_label() for line in axes.lines] == ["runs"]  # no cross: no run diverged
    narrow = RUNS / 100 + 1
    axes.clear()
    drawings.log_band(axes, [0, 1, 2], narrow, "runs")
    near(edges(axes)[0][0], [1.03 - HALF[0] / 100, 1.03 + HALF[0] / 100])


def test_the_cross_of_a_divergence_stands_on_the_last_mean(axes):
    runs = RUNS.copy()
    runs[1, 2] = np.nan
    drawings.log_band(axes, [0, 1, 2], runs, "runs", color=RED)
    cross = axes.lines[-1]
    assert (cross.get_xydata().tolist(), cross.get_marker(), cross.get_markersize()) == (
        [[1.0, 2.0]],
        "x",
        9,
    )
    assert (cross.get_color(), cross.get_zorder()) == (BLACK, 5)


def test_the_plan_at_sigma_0_leaves_the_sampled_action_without_weight(axes):
    assert drawings.draw_backup(axes, 0.0, PLAN[2], RUN).tolist() == [0.0, 1.0]
    assert [line.get_linestyle() for line in axes.lines].count(":") == 1
