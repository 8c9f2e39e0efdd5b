"""Formulas of a living workbook, third part: bases, bottleneck, answers and the reasons of missing answers."""

from __future__ import annotations

from collections.abc import Iterator

from icmodel.laws.bases import ASSUMED, DERIVED, STATED, THEORY
from icmodel.laws.corrected_tables import BEST
from icmodel.laws.flow import CLOSE, SHARED, is_one_way, traversals
from icmodel.laws.metrics import BUSY, UTILISATIONS
from icmodel.model.answering import LOST, NEAR_CPU, NEAR_WIRE
from icmodel.model.domain import BEYOND
from icmodel.sheets.formulas_law import FRAMES, GOODPUT, LOSS, adds_cores, law_steps
from icmodel.sheets.formulas_question import NEVER, Step, first_of, question_steps, text
from icmodel.sheets.lookup import PAYLOAD, REQUESTED, SWITCHES, UNLIMITED, Lookup
from icmodel.sheets.sheet import unit_of_metric


def steps(found: Lookup) -> Iterator[Step]:
    """Yield the steps (columns with formulas) from a question to its answers, in order of calculation."""
    yield from question_steps(found)
    yield from law_steps(found)
    yield from _bases(found)
    yield from _limits(found)
    yield from _answers(found)


def answers(found: Lookup) -> tuple[str, ...]:
    """Return the metrics that the workbook answers, in the order of the question sheet."""
    derived = (f"{name}_cores" for name in UTILISATIONS if adds_cores(found, name))
    times = (name for name in found.metrics if not name.startswith(BUSY) and name != FRAMES)
    processors = sorted([*derived, *(name for name in found.metrics if name.startswith(BUSY))])
    return (GOODPUT, LOSS, FRAMES, *times, *processors)


# --- basis and bottleneck ------------------------------------------------------------------------


def _bases(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the code of each metric's weakest basis, as in `icmodel.laws.corrected.bases`."""
    reads = [
        "IF([saturated value],[unlimited unlimited basis],[best unlimited basis])",
        "IF([loss lowers goodput],[overload loss unlimited basis],0)",
    ]
    for name in found.names:
        if name.startswith(SHARED):
            count = name.removeprefix(SHARED)
            reads.append(f"IF([endpoint count]={count},[{name} {UNLIMITED} basis],0)")
    yield Step("basis", "goodput reads", f"=MAX({','.join(reads)})")
    benchmarked = "IF([saturated value],[unlimited unlimited value],[best unlimited value])"
    above = f'IF([capacity value]="",FALSE,{benchmarked}>[greatest])'
    yield Step("basis", "above theory", f"={above}")
    of_goodput = f'IF(AND([endpoint count]>1,[capacity value]<>""),{DERIVED},0),IF([above theory],{THEORY},0)'
    lowered = f"IF([loss lowers goodput],{ASSUMED},0)"
    yield Step("basis", f"{GOODPUT} basis", f"=MAX([goodput reads],{of_goodput},{lowered})")
    read = "IF([saturated value],[overload loss unlimited basis],[limited loss requested basis])"
    unknown = f'IF(AND(NOT([saturated value]),[limited loss requested value]=""),{ASSUMED},0)'
    lossy = f"MAX([{GOODPUT} basis],{read},{unknown})"
    yield Step("basis", f"{LOSS} basis", f"=IF([lossy],{lossy},{STATED})")
    counted = "0"
    for index, name in enumerate(found.names):
        if name not in found.metrics:
            continue
        place = f"[configuration]+{index * found.configuration_count}"
        flag = "[saturated value]" if name.startswith(BUSY) else "[not achieved value]"
        codes = [f"IF({flag},[{name} {UNLIMITED} basis],[{name} {REQUESTED} basis])"]
        if name == FRAMES:
            counted = f'IF([goodput value]="",{codes[0]},0)'
            continue
        if traversals(name):
            beyond = f"[switch count]>INDEX(k_switches_of_rows,{place})"
            codes += [f"IF({beyond},{STATED},0)", f"IF([extra cable]<>0,{THEORY},0)"]
        if is_one_way(name):
            chosen = f"[{name} value at load]"
            codes.append(f'IF({chosen}="",0,IF({chosen}<[least time],{THEORY},0))')
        if name in UTILISATIONS:
            rows = f"INDEX(k_cores_of_rows,{place})"
            codes.append(f"IF(AND({rows}>0,{rows}<>[core count]),{DERIVED},0)")
        yield Step("basis", f"{name} basis", f"=MAX({','.join(codes)})")
        if name in UTILISATIONS and adds_cores(found, name):
            yield Step("basis", f"{name}_cores basis", f"=[{name} basis]")
    yield Step("basis", f"{FRAMES} basis", f"=MAX([{GOODPUT} basis],{counted})")


def _limits(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the bottleneck, as in `icmodel.model.answering.bottleneck`."""
    sender = UTILISATIONS[0]
    demand = f"[{sender} value raw]" if sender in found.metrics else '""'
    yield Step("limits", "demand", f"={demand}")
    yield Step("limits", "busy", '=IF([demand]="",0,[demand])')
    achieved = f"[share value]*(1+{CLOSE!r})>=[capacity value]"
    alone = f'IF(OR([share value]="",[capacity value]=""),FALSE,{achieved})'
    yield Step("limits", "shared", f"=AND([endpoint count]>1,NOT({alone}))")
    overload = f"AND([saturated value],[lossy],[overload loss value]>{LOST!r})"
    shared = 'IF(AND([lossy],[overloaded value]),"receiver","share")'
    of_host = f'IF([busy]>={NEAR_CPU!r},"cpu","packet-rate")'
    at_wire = f'IF([capacity value]>={NEAR_WIRE!r}*[greatest],"wire",{of_host})'
    short = f'IF([shared],{shared},IF({overload},"receiver",{at_wire}))'
    met = 'IF([busy]>1,"cpu","request")'
    no_rule = f'AND([not achieved value],[greatest]>={NEVER},[demand]="")'
    known = f'IF({no_rule},"unknown",IF([not achieved value],{short},{met}))'
    yield Step("limits", "bottleneck", f'=IF([goodput value]="","unknown",{known})')


def _answers(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the answers in the units of the question sheet, and for missing answers' reasons."""
    yield Step("answers", "why", f"={first_of(_reasons(found))}")
    yield Step("answers", "limited by", '=IF([answered],[bottleneck],"")')
    for metric in answers(found):
        si = unit_of_metric(metric).si
        number = "goodput" if metric == GOODPUT else metric
        own = f"[{number} value]"
        known = f'IF([answered],{own}<>"",FALSE)'
        yield Step("answers", f"{metric} answer", f'=IF({known},{own}/{si!r},"")')
        for end, farther in (
            ("low", f"MAX(MIN({own},[{number} low]),0)"),
            ("high", f"MAX({own},[{number} high])"),
        ):
            yield Step("answers", f"{metric} answer {end}", f'=IF({known},{farther}/{si!r},"")')
        basis = f"INDEX(l_bases,[{metric} basis]+1)"
        yield Step("answers", f"{metric} answer basis", f'=IF({known},{basis},"")')
        missing = f'AND([answered],{own}="")'
        absent = f'=IF({missing},{_absent(found, metric)},"")'
        yield Step("answers", f"{metric} answer why", absent)


def _reasons(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield condition and sentence, as formulas, of each reason why a question has no answer or no goodput."""
    data = found.data
    first, last = "INDEX(k_first_payload,[configuration])", "INDEX(k_last_payload,[configuration])"
    within = f"AND([outside],[bytes]>={first},[bytes]<={last})"
    limited = (
        text(f"{data.id} measured "),
        text(" at limited rates only, which state no capacity: request "),
        text("at most the goodput that those runs reached, or measure at unlimited rate"),
    )
    yield '[refused]<>""', "[refused]"
    yield within, f"{limited[0]}&[protocol]&{limited[1]}&{limited[2]}"
    outside = (
        f"{text('payload ')}&[bytes]&{text(f' B is outside {data.id}: ')}&[protocol]&{text(' was measured from ')}"
        f"&{first}&{text(' to ')}&{last}&{text(f' B; use a payload in this range, {BEYOND}')}"
    )
    yield "[outside]", outside
    yield '[goodput value]=""', _absent(found, GOODPUT)


def _absent(found: Lookup, metric: str) -> str:
    """Return a formula for the reason why a metric has no value, as in `icmodel.model.explanation`."""
    table = {GOODPUT: BEST, FRAMES: FRAMES if FRAMES in found.names else BEST}.get(metric, metric)
    if table not in found.names:
        utilisation = metric.removesuffix("_cores")
        return f'SUBSTITUTE({_absent(found, utilisation)},"{utilisation}","{metric}")'
    place = f"[configuration]+{found.names.index(table) * found.configuration_count}"
    here = f"AND([bytes]>=INDEX(k_first_payload,{place}),[bytes]<=INDEX(k_last_payload,{place}))"
    outside = f'SUBSTITUTE(INDEX(k_outside,{place}),"{PAYLOAD}",[bytes])'
    behind = f'SUBSTITUTE(INDEX(k_absent_behind_switches,{place}),"{SWITCHES}",[switch count])'
    absent = f"IF([switch count]>0,{behind},INDEX(k_absent,{place}))"
    return f"IF(OR(INDEX(k_surface,{place})=0,{here}),{absent},{outside})"
