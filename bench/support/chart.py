# SPDX-License-Identifier: Apache-2.0
"""Pictures of results: SVG text, for bench/pictures and for pages.

    chart.bars(path, title, subtitle, [(words, value, label, own)])     one bar a row, from 0
    chart.lines(path, title, subtitle, x_words, y_words, [(words, [(x, y)], own)], log_x, log_y)
    chart.percentiles(path, title, subtitle, [(words, [(percentile, us)], own)])

Own figures are green, others grey or in paler colours. Text stands beside what it names.
"""
import math
import pathlib
from xml.sax.saxutils import escape

OWN, OTHERS = "#1a6b54", ("#9aa7b4", "#c08a3e", "#6b7fb3", "#a35d6a", "#7a9a4a", "#8a6fa8")
FONT = 'font-family="system-ui, sans-serif" font-size="13" role="img"'


def text(x, y, words, **attributes):
    said = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.0f}" y="{y:.0f}"{said}>{escape(words)}</text>'


def frame(width, height, title, subtitle):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {FONT}>',
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            text(12, 22, title, font_size=15, font_weight=600), text(12, 41, subtitle, fill="#555")]


def write(path, out):
    pathlib.Path(path).write_text("\n".join([*out, "</svg>"]) + "\n", encoding="utf-8")


def bars(path, title, subtitle, rows):
    out = frame(860, 26 * len(rows) + 64, title, subtitle)
    top = max((value for _, value, _, _ in rows), default=1) or 1
    for i, (words, value, label, own) in enumerate(rows):
        y, width = 54 + 26 * i, max(2, 400 * value / top)
        out += [text(290, y + 15, words, text_anchor="end"),
                f'<rect x="298" y="{y + 2}" width="{width:.0f}" height="18" rx="2" '
                f'fill="{OWN if own else OTHERS[0]}"/>',
                text(304 + width, y + 15, label, fill="#333")]
    write(path, out)


def ticks(low, high, log):
    if log:
        return [10.0 ** e for e in range(math.floor(math.log10(low)),
                                         math.ceil(math.log10(high)) + 1)]
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    step = next(step * m for m in (0.2, 0.5, 1, 2) if (high - low) / (step * m) <= 6)
    return [step * i for i in range(math.floor(low / step), math.ceil(high / step) + 1)]


def lines(path, title, subtitle, x_words, y_words, curves, log_x=False, log_y=False,
          x_label="{:g}".format):
    left, top, width, height = 70, 60, 600, 300
    xs = [x for _, points, _ in curves for x, _ in points]
    ys = [y for _, points, _ in curves for _, y in points]
    x_ticks = ticks(min(xs), max(xs), log_x)
    y_ticks = ticks(min(ys) if log_y else 0, max(ys), log_y)

    def place(value, marks, log):
        low, high = marks[0], marks[-1]
        if log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, marks[0]))
        return (value - low) / ((high - low) or 1)

    def at(x, y):
        return (left + width * place(x, x_ticks, log_x),
                top + height * (1 - place(y, y_ticks, log_y)))
    out = frame(900, 420, title, subtitle)
    for mark in x_ticks:
        x, _ = at(mark, y_ticks[0])
        out += [f'<line x1="{x:.0f}" y1="{top}" x2="{x:.0f}" y2="{top + height}" stroke="#eee"/>',
                text(x, top + height + 18, x_label(mark), text_anchor="middle", fill="#555")]
    for mark in y_ticks:
        _, y = at(x_ticks[0], mark)
        out += [f'<line x1="{left}" y1="{y:.0f}" x2="{left + width}" y2="{y:.0f}" stroke="#eee"/>',
                text(left - 8, y + 4, f"{mark:g}", text_anchor="end", fill="#555")]
    out += [text(left + width / 2, top + height + 40, x_words, text_anchor="middle"),
            text(left, top - 6, y_words)]
    for i, (words, points, own) in enumerate(curves):
        colour = OWN if own else OTHERS[i % len(OTHERS)]
        path_of = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p) for p in points))
        out.append(f'<polyline points="{path_of}" fill="none" stroke="{colour}" '
                   f'stroke-width="{2.4 if own else 1.6}"/>')
        out += [f'<line x1="{left + width + 20}" y1="{top + 20 * i + 6}" '
                f'x2="{left + width + 44}" y2="{top + 20 * i + 6}" stroke="{colour}" '
                'stroke-width="3"/>', text(left + width + 50, top + 20 * i + 10, words)]
    write(path, out)


def percentiles(path, title, subtitle, curves):
    """Each step to the right is ten times rarer; the greatest value of all is left out."""
    lines(path, title, subtitle, "percentile", "microseconds",
          [(words, [(100 / (100 - p), us) for p, us in points if p < 100 and us > 0], own)
           for words, points, own in curves], True, True,
          lambda mark: f"{100 - 100 / mark:.6g} %")
