"""Living workbook: a question in cells, the formulas of its answer, charts, and sheets of rows and notes.

The workbook needs neither macros nor icmodel.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from icmodel import __version__
from icmodel.dataset import Dataset
from icmodel.dataset.dataset import PROMISED
from icmodel.dataset.rows import AXES, REST
from icmodel.documents import write
from icmodel.errors import IcmodelError
from icmodel.estimate import metric_name
from icmodel.laws.corrected_tables import BEST
from icmodel.laws.flow import INTERFACE_OVERLOADED, traversals
from icmodel.laws.metrics import UTILISATIONS
from icmodel.model import Model
from icmodel.requirement import MET, NOT_MET, ROUNDING, UNDECIDED
from icmodel.scenario import Options
from icmodel.sheets.calculation import Calculation, write_row
from icmodel.sheets.formulas import ENDS, FRAMES, GOODPUT, INFINITE, INPUTS, answers, text
from icmodel.sheets.lookup import VARIANT, Lookup, lookup_of
from icmodel.sheets.sheet import Cell, library, new_workbook, unit_of_metric

QUESTION, CURVE = "question", "curve"
"""Names of the sheets with the question and with the curves of the charts."""
FIRST_INPUT = 5
"""Row of the first input on the question sheet, counted from 1."""
POINTS = 41
"""Number of payloads in the charts of a workbook."""
TYPICAL_BYTES = 1448
"""Payload of the initial question of a workbook [B], if the dataset covers it."""
AT_LEAST = (GOODPUT, FRAMES)
"""Metrics with a minimum as limit. The limit of every other metric is a maximum."""
SUFFIXES = ("", " low", " high")
"""Suffixes of step names for the value, the low end and the high end of an answer."""
NO_VALUE = "#N/A"
KEYWORDS: Mapping[str, tuple[str, Callable[[Any], object]]] = {
    "protocol": ("protocol", str),
    "payload": ("payload_bytes", int),
    "rate": ("rate_fps", float),
    "requested": ("requested_goodput_bps", lambda cell: cell * 1e9),
    "cores": ("cores", int),
    "switches": ("switches", int),
    "endpoints": ("endpoints", int),
    "other": ("other_goodput_bps", lambda cell: cell * 1e9),
    "distance": ("distance_m", float),
}
"""Input column -> keyword argument of the model, and conversion of the cell to SI units."""


def write_living_workbook(
    path: str | Path,
    data: Dataset,
    options: Mapping[str, str] | None = None,
    *,
    question: Mapping[str, Cell] | None = None,
    limits: Mapping[str, float] | None = None,
) -> tuple[str, ...]:
    """Write a workbook that computes the variant ``corrected`` of a dataset by formulas.

    The inputs are protocol, payload, rate or requested goodput, cores, switches, endpoints, goodput of other endpoints,
    and cable length. The sheet shows every metric with interval and basis, the bottleneck, and verdicts on typed limits.

    Parameters
    ----------
    path : str or path
        Path of the XLSX file.
    data : Dataset
        Dataset with the rows for the look-up tables.
    options : mapping of str to str, optional
        Values on the dataset's option axes. Default: the dataset's default values.
    question : mapping of str to str or float, optional
        Initial contents of the input cells: ``protocol``, ``payload`` [B], ``rate`` [1/s], ``requested`` [Gb/s],
        ``cores``, ``switches``, ``endpoints``, ``other`` [Gb/s], ``distance`` [m].
    limits : mapping of str to float, optional
        Initial limits by metric, in the unit that the sheet shows.

    Returns
    -------
    tuple of str
        One sentence for each protocol without rows at these options.

    Raises
    ------
    OutOfDomain
        If no protocol of the dataset has rows at these options.
    ReportError
        If xlsxwriter is not installed, or the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from icmodel import load
    >>> with TemporaryDirectory() as folder:
    ...     write_living_workbook(f"{folder}/model.xlsx", load("tcp-connectx7"))
    ()
    """
    library("xlsxwriter")
    chosen = Options(options or {})
    found = lookup_of(data, chosen)
    body = io.BytesIO()
    with new_workbook(body, in_memory=True) as book:
        book.set_calc_mode("auto")
        _Workbook(book, found, chosen, question or {}, limits or {}).write()
    write(Path(path), body.getvalue())
    return tuple(found.refused.values())


def keywords_of(inputs: Mapping[str, Cell]) -> dict[str, Any]:
    """Convert the input cells of a question to keyword arguments of `icmodel.Model.predict`."""
    words: dict[str, Any] = {}
    for column, (name, convert) in KEYWORDS.items():
        cell = inputs.get(column)
        if cell is not None and cell != "":
            words[name] = convert(cell)
    return words


class _Workbook:
    """Writer of the sheets of a living workbook, an XLSX file that answers a question by formulas."""

    def __init__(
        self,
        book: Any,
        found: Lookup,
        options: Options,
        question: Mapping[str, Cell],
        limits: Mapping[str, float],
    ) -> None:
        self.book, self.found, self.options, self.limits = book, found, options, limits
        self.data, self.metrics = found.data, answers(found)
        self.model = Model(found.data, VARIANT)
        self.bold = book.add_format({"bold": True})
        self.title = book.add_format({"bold": True, "font_size": 16})
        self.head = book.add_format(
            {"bold": True, "bg_color": "#1f3a5f", "font_color": "#ffffff", "border": 1}
        )
        self.typed = book.add_format(
            {"bg_color": "#fff3bf", "border": 1, "locked": False, "align": "right"}
        )
        self.unit = book.add_format({"indent": 1})
        self.grey = book.add_format({"font_color": "#666666"})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.question = book.add_worksheet(QUESTION)
        self.curve = book.add_worksheet(CURVE)
        self.calculation = Calculation(book, found)
        self.cell = self.calculation.cell
        self.first_answer = FIRST_INPUT + len(INPUTS) + 5

        # Initial question: a protocol with rows, a measured payload, and the least number of switches.
        protocol = found.data.default_protocol
        protocol = protocol if protocol in found.answered else found.answered[0]
        self.inputs: dict[str, Cell] = {"protocol": protocol, **question}
        protocol = str(self.inputs["protocol"])
        points = found.data.select(protocol, options)
        payloads = {one.payload_bytes for one in points if one.payload_bytes is not None}
        payload = TYPICAL_BYTES
        if payloads and not min(payloads) <= TYPICAL_BYTES <= max(payloads):
            payload = min(payloads, key=lambda one: abs(one - TYPICAL_BYTES))
        self.inputs.setdefault("payload", payload)
        for row in found.protocols:
            if row["protocol"] == protocol and row["least switches"]:
                self.inputs.setdefault("switches", row["least switches"])

    def write(self) -> None:
        """Write all sheets of the workbook."""
        results = self.results(self.inputs)
        self.write_inputs()
        self.write_answers(results)
        page = self.calculation.write_head()
        cells = [f"{QUESTION}!$B${FIRST_INPUT + k}" for k in range(len(INPUTS))]
        inputs = [f'=IF({cell}="","",{cell})' for cell in cells]
        self.calculation.write_question(page, 0, inputs, {**self.inputs, **results})
        self.write_curve(page)
        self.calculation.write_lookups()
        write_rows(self.book, self.found, self.options)
        write_notes(self.book, self.found, self.options)
        self.question.activate()

    def results(self, inputs: Mapping[str, Cell]) -> dict[str, Cell]:
        """Return the answer to a question as stored cell values, for programs that compute no formulas."""
        try:
            found = self.model.predict(**keywords_of(inputs), options=dict(self.options))
        except IcmodelError as error:
            return {"why": str(error)}
        goodput = found.goodput_bps
        why = goodput.why if goodput.absent else ""
        results: dict[str, Cell] = {"why": why, "limited by": found.bottleneck}
        for metric in self.metrics:
            estimate = found.metrics.get(metric)
            if estimate is None or estimate.absent:
                results[f"{metric} answer why"] = estimate.why if estimate else ""
                continue
            si = unit_of_metric(metric).si
            for ending, number in zip(SUFFIXES, estimate.ends, strict=True):
                results[f"{metric} answer{ending}"] = number / si
            results[f"{metric} answer basis"] = estimate.basis
        return results

    # --- question sheet -----------------------------------------------------------------------

    def write_inputs(self) -> None:
        """Write title and inputs of the question sheet, each with its unit and a hint."""
        page, data, link = self.question, self.data, self.found.tables.link
        page.set_landscape()
        page.set_paper(9)
        page.fit_to_pages(1, 1)
        page.hide_gridlines(2)
        for first, last, width in ((0, 0, 40), (1, 3, 14), (4, 4, 10), (5, 7, 15), (8, 8, 60)):
            page.set_column(first, last, width)
        page.write_string(0, 0, data.title, self.title)
        named = ", ".join(f"{axis} = {value}" for axis, value in self.options.items())
        about = f"dataset {data.id}, variant {VARIANT}" + (f", {named}" if named else "")
        page.write_string(
            1,
            0,
            f"{about}; icmodel {__version__}. Type into the yellow cells. A limit is a minimum for goodput and frames, "
            "and a maximum for every other metric.",
            self.grey,
        )
        for place, name in enumerate(("question", "", "unit", "")):
            page.write_string(FIRST_INPUT - 2, place, name, self.head)

        # Hints from the rows of the dataset.
        protocols = ", ".join(str(row["protocol"]) for row in self.found.protocols)
        spans = dict.fromkeys(
            f"{row['protocol']} {row['first payload']:.0f} to {row['last payload']:.0f} B"
            for row in self.found.configurations
            if row["table"] == BEST and row["surface"]
        )
        payloads = (
            f"measured: {'; '.join(spans)}" if spans else "no goodput by payload was measured"
        )
        counts = sorted({row["cores"] for row in self.found.configurations if row["cores"]})
        cores = (
            f"measured: {', '.join(map(str, counts))}; empty: the greatest"
            if counts
            else "leave empty"
        )
        cable = f"empty: {link.cable_length_m:g} m" if link.cable_length_m else "empty: as measured"
        inputs = {
            "protocol": ("protocol", "", protocols),
            "payload": ("payload", "B", payloads),
            "rate": ("rate", "frames/s", "empty: unlimited"),
            "requested": (
                "or requested goodput",
                "Gb/s",
                "rate or requested goodput, not both",
            ),
            "cores": ("cores", "", cores),
            "switches": ("switches", "", "empty: 0"),
            "endpoints": (
                "endpoints",
                "",
                "senders to the same interface, this one included; empty: 1",
            ),
            "other": (
                "others' goodput",
                "Gb/s",
                "sum of the goodputs that the other senders request; empty: 0",
            ),
            "distance": ("cable", "m", cable),
        }
        for line, column in enumerate(INPUTS, FIRST_INPUT - 1):
            label, unit, hint = inputs[column]
            page.write_string(line, 0, label, self.bold)
            cell = self.inputs.get(column)
            if isinstance(cell, str):
                page.write_string(line, 1, cell, self.typed)
            elif cell is not None:
                page.write_number(line, 1, float(cell), self.typed)
            else:
                page.write_blank(line, 1, None, self.typed)
            page.write_string(line, 2, unit, self.unit)
            page.write_string(line, 3, hint, self.grey)
        page.data_validation(
            FIRST_INPUT - 1, 1, FIRST_INPUT - 1, 1, {"validate": "list", "source": "=p_protocol"}
        )

    def write_answers(self, results: Mapping[str, Cell]) -> None:
        """Write the answer of the question sheet: verdict, metrics with limits, notes and charts."""
        page, top = self.question, self.first_answer
        last = top + len(self.metrics) - 1
        why, limited = self.cell("why"), self.cell("limited by")
        page.write_string(top - 5, 0, "answer", self.bold)
        state = str(results["why"] or "answered")
        page.write_formula(top - 5, 1, f'=IF({why}="","answered",{why})', None, state)
        page.write_string(top - 4, 0, "limited by", self.bold)
        page.write_formula(top - 4, 1, f"={limited}", None, results.get("limited by", ""))
        head = ("metric", *ENDS, "unit", "basis", "limit", "verdict", "why no value")
        for place, name in enumerate(head):
            page.write_string(top - 2, place, name, self.head)

        # The verdict on all typed limits.
        limits, verdicts = f"$G${top}:$G${last}", f"$H${top}:$H${last}"
        met = f"IF(COUNTIF({verdicts},{text(MET)})=COUNTA({limits}),{text(MET)},{text(UNDECIDED)})"
        failed = f"IF(COUNTIF({verdicts},{text(NOT_MET)})>0,{text(NOT_MET)},{met})"
        asked = "type a limit beside a metric"
        page.write_string(top - 3, 0, "verdict", self.bold)
        formula = f"=IF(COUNTA({limits})=0,{text(asked)},{failed})"
        page.write_formula(top - 3, 1, formula, None, "" if self.limits else asked)

        for row, metric in enumerate(self.metrics, top):
            self.write_answer(row, metric, results)
        colours = {MET: "#c6efce", NOT_MET: "#ffc7ce", UNDECIDED: "#ffeb9c"}
        for verdict, colour in colours.items():
            style = self.book.add_format({"bg_color": colour})
            rule = {"type": "cell", "criteria": "==", "value": text(verdict), "format": style}
            page.conditional_format(f"H{top - 2}:H{last}", rule)

        # Notes and charts below the metrics.
        heading = self.book.add_format({"bold": True, "valign": "top"})
        page.write_string(last + 1, 0, "notes", heading)
        notes = "&".join(self.notes())
        page.merge_range(last + 1, 1, last + 1, 7, "", self.wrapped)
        page.write_formula(last + 1, 1, f"={notes}", self.wrapped, "")
        page.set_row(last + 1, 48)
        self.write_charts(last + 3)

    def write_answer(self, row: int, metric: str, results: Mapping[str, Cell]) -> None:
        """Write a metric to row ``row`` (counted from 1) of the question sheet.

        Its cells are name, value, low, high, unit, basis, limit, verdict, and the reason for a missing value.
        """
        page, line, unit = self.question, row - 1, unit_of_metric(metric)
        number = self.book.add_format({"num_format": unit.format})
        page.write_string(line, 0, metric_name(metric), self.bold)
        for place, ending in enumerate(SUFFIXES, 1):
            step = f"{metric} answer{ending}"
            page.write_formula(line, place, f"={self.cell(step)}", number, results.get(step, ""))
        page.write_string(line, 4, unit.symbol, self.unit)
        for place, ending in ((5, " basis"), (8, " why")):
            step = f"{metric} answer{ending}"
            page.write_formula(line, place, f"={self.cell(step)}", None, results.get(step, ""))

        at_least, typed = metric in AT_LEAST, self.limits.get(metric)
        sign = "≥" if at_least else "≤"
        style = {"bg_color": "#fff3bf", "border": 1, "num_format": f'"{sign} "General'}
        yellow = self.book.add_format(style)
        if typed is None:
            page.write_blank(line, 6, None, yellow)
        else:
            page.write_number(line, 6, typed, yellow)

        # The whole interval decides, as in `icmodel.requirement.judge`.
        value, low, high, limit = (f"${column}{row}" for column in "BCDG")
        met, failed = f"{high}<={limit}", f"{low}>{limit}"
        if at_least:
            met, failed = f"{low}>={limit}", f"{high}<{limit}"
        known = f"ISNUMBER({value})"
        found = f"IF({met},{text(MET)},IF({failed},{text(NOT_MET)},{text(UNDECIDED)}))"
        found = f"IF({known},{found},{text(UNDECIDED)})"
        if traversals(metric) or metric.endswith("_std_s"):
            # If the goodput may be below the request, the latency has no upper end. If the goodput is certainly below
            # the request, the latency grows without limit (`icmodel.requirement.while_all_passes`).
            steps = ("request", f"{GOODPUT} answer low", f"{GOODPUT} answer high")
            request, least, most = map(self.cell, steps)
            produced = f"{request}/1E9*(1-{ROUNDING!r})"
            may_wait = f"IF(AND({known},{failed}),{text(NOT_MET)},{text(UNDECIDED)})"
            waits = f"IF({most}<{produced},{text(NOT_MET)},{may_wait})"
            passes = f"OR({request}>={INFINITE},{least}>={produced})"
            found = f'IF({least}="",{found},IF({passes},{found},{waits}))'
        verdict = f'=IF({limit}="","",IF(ISNUMBER({limit}),{found},{text(UNDECIDED)}))'
        page.write_formula(line, 7, verdict, None, "")

    def notes(self) -> Iterator[str]:
        """Yield a formula, without ``=``, for each note that icmodel adds to answers.

        The formula gives the note if it applies to the answer in the sheet, and an empty text if not.
        """
        cell = self.cell
        answered, endpoints = cell("answered"), cell("endpoint count")
        idle = "idle: if they send, give others' goodput, the sum of their requests"
        other = f'IF({endpoints}=2,"the other endpoint is","the other endpoints are")'
        yield f'IF(AND({answered},{endpoints}>1,{cell("others")}=0),{other}&{text(" taken as " + idle + ". ")},"")'
        crowded = text(
            "all senders together offer more than the receiver accepts: the receiver's goodput is assumed, and each "
            "sender's share is assumed to be proportional to the offered load (erratum E2). "
        )
        unequal = text(
            "the stream's share is exact if the other endpoints send equal rates, and a lower bound if not (erratum E2). "
        )
        yield (
            f'IF({answered},IF({cell("loss lowers goodput")},{crowded},IF({endpoints}>2,{unequal},"")),"")'
        )
        unknown = text(f"{INTERFACE_OVERLOADED}: the latency is unknown. ")
        yield f'IF(AND({answered},{cell("latency unknown")}),{unknown},"")'
        above = text(
            "the benchmarked goodput is above theory's bound, so the prediction is clamped to the bound. "
        )
        yield f'IF(AND({answered},{cell("above theory")}),{above},"")'
        missed = text("the request is not achieved: latency is that of the unlimited benchmark. ")
        finite = f"AND({answered},{cell('not achieved value')},{cell('request')}<{INFINITE})"
        yield f'IF(AND({finite},NOT({cell("latency unknown")})),{missed},"")'
        for name in UTILISATIONS:
            if name in self.metrics:
                demand, cores = cell(f"{name} value raw"), cell("core count")
                needs = (
                    f"{text(f'{metric_name(name)}: the stream needs ')}&ROUND({demand}*{cores},2)&"
                )
                limited = f'{needs}" busy cores but has "&{cores}&{text("; the prediction is limited to these. ")}'
                yield f'IF(ISNUMBER({demand}),IF(AND({answered},{demand}>1),{limited},""),"")'
        if self.found.tables.link.switch_latency_s is not None:
            delay = text(
                "each switch adds the dataset's switch latency; switches are assumed not to change the goodput. "
            )
            yield f'IF(AND({answered},{cell("switch count")}>0),{delay},"")'

    # --- curve and charts ---------------------------------------------------------------------

    def charted(self) -> Iterator[tuple[str, str]]:
        """Yield the metrics of the charts, each with its name in words: the goodput and one latency.

        The latency is the workbook's first mean latency, or its first latency if none is a mean.
        """
        if any(row["table"] == BEST and row["surface"] for row in self.found.configurations):
            yield GOODPUT, metric_name(GOODPUT)
        times = [m for m in self.metrics if traversals(m)]
        means = [metric for metric in times if metric.endswith("_mean_s")] or times
        if means:
            yield means[0], metric_name(means[0])

    def write_curve(self, page: Any) -> None:
        """Write the curve sheet: the payloads of the charts, and the predicted metrics at each payload.

        Each payload is also a question on the calculation sheet (question 1, 2, ...).
        """
        curve, charted = self.curve, list(self.charted())
        head = ["payload [B]"]
        for metric, name in charted:
            symbol = unit_of_metric(metric).symbol
            head += [f"{name}{ending} [{symbol}]" for ending in SUFFIXES]
        for place, name in enumerate(head):
            curve.write_string(0, place, name, self.bold)
        curve.set_column(0, len(head) - 1, 20)
        curve.freeze_panes(1, 1)

        # Geometrically spaced payloads [B], between the least and the greatest with a goodput.
        row = self.goodput_configuration()
        first, last = (
            f"INDEX(k_{edge}_payload,{self.cell('configuration')})" for edge in ("first", "last")
        )
        for k in range(POINTS):
            share = k / (POINTS - 1)
            size = f"=IFERROR(ROUND(EXP(LN({first})+(LN({last})-LN({first}))*{share!r}),0),1)"
            payload = 1
            if row is not None:
                low, high = (
                    math.log(float(row[f"{edge} payload"] or 1)) for edge in ("first", "last")
                )
                payload = round(math.exp(low + (high - low) * share))
            curve.write_formula(k + 1, 0, size, None, payload)
            asked = {**self.inputs, "payload": payload}
            results = self.results(asked)
            inputs = [f"={self.cell(name)}" for name in INPUTS]
            inputs[INPUTS.index("payload")] = f"={CURVE}!$A${k + 2}"
            self.calculation.write_question(page, k + 1, inputs, {**asked, **results})
            steps = [f"{metric} answer{ending}" for metric, _ in charted for ending in SUFFIXES]
            for place, step in enumerate(steps, 1):
                cell, value = self.cell(step, k + 1), results.get(step)
                formula = f"=IF(ISNUMBER({cell}),{cell},NA())"
                stored = NO_VALUE if value is None else value
                curve.write_formula(k + 1, place, formula, None, stored)

    def goodput_configuration(self) -> Mapping[str, Cell] | None:
        """Find the row for goodput in the configurations sheet, at the inputs' protocol, cores and switches.

        Returns None if the dataset has no goodput for these inputs.
        """
        protocol, cores = self.inputs["protocol"], self.inputs.get("cores")
        if cores is None:
            defaults = {row["protocol"]: row["default cores"] for row in self.found.protocols}
            cores = defaults.get(protocol)
        last = self.found.tables.axes.switch_counts - 1
        switches = min(int(self.inputs.get("switches") or 0), last)
        for row in self.found.configurations:
            same = row["table"] == BEST and row["protocol"] == protocol
            same = same and row["switches"] == switches and row["cores"] in (cores, None)
            if same and row["surface"]:
                return row
        return None

    def write_charts(self, line: int) -> None:
        """Draw each charted metric over the payload. A point marks the question of the question sheet."""
        for k, (metric, name) in enumerate(self.charted()):
            chart = self.book.add_chart({"type": "scatter", "subtype": "straight"})
            first, row = 1 + 3 * k, self.first_answer + self.metrics.index(metric)
            for place, ending in enumerate(SUFFIXES):
                dashed = {"color": "#8aa4c8", "width": 1, "dash_type": "dash"}
                chart.add_series(
                    {
                        "name": f"{name}{ending}",
                        "categories": [CURVE, 1, 0, POINTS, 0],
                        "values": [CURVE, 1, first + place, POINTS, first + place],
                        "line": dashed if ending else {"color": "#1f5fa8", "width": 2.25},
                        "marker": {"type": "none"},
                    }
                )
            point = {"color": "#c92a2a"}
            chart.add_series(
                {
                    "name": "your question",
                    "categories": [QUESTION, FIRST_INPUT, 1, FIRST_INPUT, 1],
                    "values": [QUESTION, row - 1, 1, row - 1, 1],
                    "line": {"none": True},
                    "marker": {"type": "circle", "size": 9, "fill": point, "border": point},
                }
            )
            chart.set_title({"name": f"{name} over payload", "name_font": {"size": 12}})
            chart.set_x_axis({"name": "payload [B]", "log_base": 10, "crossing": "min"})
            chart.set_y_axis({"name": f"{name} [{unit_of_metric(metric).symbol}]", "min": 0})
            chart.set_legend({"position": "bottom"})
            chart.show_na_as_empty_cell()
            chart.set_size({"width": 620, "height": 360})
            self.question.insert_chart(line, 0 if k == 0 else 6, chart)


ROWS, NOTES = "rows", "notes"
"""Names of the sheets with the dataset rows and with the notes."""


HOW_TO_READ = (
    (
        "how to read",
        "Value is the expected result. Low and high are the ends of the 90 % interval for one new run on the hosts of the dataset.",
    ),
    (
        "",
        "Basis is the weakest kind of evidence behind a number: measured, tabulated, stated, theory, derived, interpolated, assumed or extrapolated.",
    ),
    (
        "",
        "Limited by is the bottleneck: the request, the cpu, the packet-rate of the interface, the wire, the share of a shared interface, or the receiver.",
    ),
    (
        "",
        "A verdict is met if the whole interval is on the right side of the limit. It is not met if the whole interval is on the wrong side. In all other cases it is undecided.",
    ),
    (
        "",
        "If the goodput is below the request, frames wait without limit, and no latency limit is met.",
    ),
    (
        "how it works",
        "The calculation sheet holds one question in each row. Row 3 is the question of the question sheet; the other rows are the payloads of the charts. Each step is one column.",
    ),
    (
        "",
        "The tables sheet holds a polynomial for each range of payload and load. The configurations sheet states which polynomials hold for each protocol, number of cores and number of switches.",
    ),
    (
        "",
        "To answer many questions, copy row 3 of the calculation sheet down, and type over the first nine columns of the copies.",
    ),
    (
        "left out",
        "This workbook has no packet rates, no processor time by mode, and no work of an application. Extrapolation, other hosts and message times need icmodel.",
    ),
)
"""Heading and text of the notes in every workbook."""


def write_rows(book: Any, found: Lookup, options: Options) -> None:
    """Add the sheet of the dataset rows behind the look-up tables, with their sources."""
    data, page, bold = found.data, book.add_worksheet(ROWS), book.add_format({"bold": True})
    head = (*AXES, *data.option_axes, *REST)
    for place, name in enumerate(head):
        page.write_string(0, place, name, bold)
    points = [p for name in found.answered for p in data.select(name, options)]
    for line, point in enumerate(points, 1):
        cells = [
            *(getattr(point, name) for name in AXES),
            *point.options,
            *(getattr(point, name) for name in REST),
        ]
        write_row(page, line, ["unlimited" if cell == math.inf else cell for cell in cells])
    page.freeze_panes(1, 0)
    page.set_column(0, len(head) - 2, 14)
    page.set_column(len(head) - 1, len(head) - 1, 80)
    page.autofilter(0, 0, max(len(points), 1), len(head) - 1)


def write_notes(book: Any, found: Lookup, options: Options) -> None:
    """Add the sheet of notes: how to read the workbook, and the sources of its numbers."""
    page, bold = book.add_worksheet(NOTES), book.add_format({"bold": True})
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    page.set_column(0, 0, 24)
    page.set_column(1, 1, 120)
    for line, (what, words) in enumerate((*HOW_TO_READ, *source_notes(found, options))):
        page.write_string(line, 0, what, bold)
        page.write_string(line, 1, words, wrapped)


def source_notes(found: Lookup, options: Options) -> Iterator[tuple[str, str]]:
    """Yield the heading and the text of each note about the sources of a workbook."""
    data = found.data
    yield "dataset", f"{data.id}: {data.title}"
    edition = data.document.get("edition")
    if edition is not None:
        yield "edition", str(edition)
    yield "sha256 of its rows", data.sha256
    yield "variant", f"{VARIANT} of icmodel {__version__}"
    named = ", ".join(f"{axis} = {value}" for axis, value in data.option_defaults.items() if value)
    changed = ", ".join(f"{axis} = {value}" for axis, value in options.items())
    if named or changed:
        yield "options", changed or f"defaults: {named}"
    for protocol, reason in found.refused.items():
        yield f"without {protocol}", reason
    yield "citation", data.citation
    yield "licence", data.licence
    for limit in data.known_limits:
        yield "known limit", limit
    yield "measuring program", data.whose
    shares = [
        f"{name} {100 * held.share:.0f} % of {held.rows}"
        for name, held in data.held.get(VARIANT, {}).items()
        if held.share < PROMISED[0]
    ]
    if shares:
        yield (
            "coverage",
            f"in tests on left-out rows, intervals of {VARIANT} cover less than 90 %: {', '.join(shares)}",
        )
