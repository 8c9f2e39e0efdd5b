"""Formulas of a living workbook, third part: bases, bottleneck, answers and the reasons of missing answers."""

from __future__ import annotations

from collections.abc import Iterator

from icmodel.laws.corrected_tables import BEST
from icmodel.laws.flow import CLOSE, SHARED, is_one_way, traversals
from icmodel.laws.metrics import ASSUMED, BUSY, DERIVED, STATED, THEORY, UTILISATIONS
from icmodel.model.answering import LOST, NEAR_CPU, NEAR_WIRE
from icmodel.model.domain import BEYOND
from icmodel.sheets.formulas import NEVER, Step, first_of, parse_steps, text
from icmodel.sheets.formulas_law import FRAMES, GOODPUT, LOSS, adds_cores, law_steps
from icmodel.sheets.formulas_question import question_steps
from icmodel.sheets.lookup import PAYLOAD, REQUESTED, SWITCHES, UNLIMITED, Lookup
from icmodel.sheets.sheet import unit_of_metric

BASES_OF_FLOW = """
goodput reads = MAX(IF([saturated value],[unlimited unlimited basis],[best unlimited basis]),
  IF([loss lowers goodput],[overload loss unlimited basis],0){shared})
above theory = IF([capacity value]="",FALSE,
  IF([saturated value],[unlimited unlimited value],[best unlimited value])>[greatest])
goodput_bps basis = MAX([goodput reads],
  IF(AND([endpoint count]>1,[capacity value]<>""),{DERIVED},0),IF([above theory],{THEORY},0),
  IF([loss lowers goodput],{ASSUMED},0))
loss_rate basis = IF([lossy],MAX([goodput_bps basis],
  IF([saturated value],[overload loss unlimited basis],[limited loss requested basis]),
  IF(AND(NOT([saturated value]),[limited loss requested value]=""),{ASSUMED},0)),{STATED})
"""
"""Codes of the weakest bases, as in `icmodel.laws.corrected.bases`."""
LIMITS = """
demand = {demand}
busy = IF([demand]="",0,[demand])
shared = AND([endpoint count]>1,NOT(
  IF(OR([share value]="",[capacity value]=""),FALSE,[share value]*(1+{CLOSE})>=[capacity value])))
bottleneck = IF([goodput value]="","unknown",
  IF(AND([not achieved value],[greatest]>={NEVER},[demand]=""),"unknown",
  IF([not achieved value],
  IF([shared],IF(AND([lossy],[overloaded value]),"receiver","share"),
  IF(AND([saturated value],[lossy],[overload loss value]>{LOST}),"receiver",
  IF([capacity value]>={NEAR_WIRE}*[greatest],"wire",
  IF([busy]>={NEAR_CPU},"cpu","packet-rate")))),
  IF([busy]>1,"cpu","request"))))
"""
"""Bottleneck, as in `icmodel.model.answering.bottleneck`."""
ANSWER = """
{metric} answer = IF({known},{own}/{si!r},"")
{metric} answer low = IF({known},MAX(MIN({own},[{number} low]),0)/{si!r},"")
{metric} answer high = IF({known},MAX({own},[{number} high])/{si!r},"")
{metric} answer basis = IF({known},INDEX(l_bases,[{metric} basis]+1),"")
{metric} answer why = IF(AND([answered],{own}=""),{absent},"")
"""
"""Answer of a metric in the unit of the question sheet, or the reason why it has no value."""


def steps(found: Lookup) -> Iterator[Step]:
    """Yield the steps (columns with formulas) from a question to its answers, in order of calculation."""
    yield from question_steps(found)
    yield from law_steps(found)
    yield from basis_steps(found)

    sender = UTILISATIONS[0]
    yield from parse_steps(
        "limits",
        LIMITS,
        demand=f"[{sender} value raw]" if sender in found.metrics else '""',
        NEVER=NEVER,
        CLOSE=CLOSE,
        LOST=LOST,
        NEAR_WIRE=NEAR_WIRE,
        NEAR_CPU=NEAR_CPU,
    )

    yield Step("answers", "why", f"={first_of(reasons(found))}")
    yield Step("answers", "limited by", '=IF([answered],[bottleneck],"")')
    for metric in answers(found):
        number = "goodput" if metric == GOODPUT else metric
        yield from parse_steps(
            "answers",
            ANSWER,
            metric=metric,
            number=number,
            own=f"[{number} value]",
            known=f'IF([answered],[{number} value]<>"",FALSE)',
            si=unit_of_metric(metric).si,
            absent=absent(found, metric),
        )


def answers(found: Lookup) -> tuple[str, ...]:
    """Return the metrics that the workbook answers, in the order of the question sheet."""
    derived = (f"{name}_cores" for name in UTILISATIONS if adds_cores(found, name))
    times = (name for name in found.metrics if not name.startswith(BUSY) and name != FRAMES)
    processors = sorted([*derived, *(name for name in found.metrics if name.startswith(BUSY))])
    return (GOODPUT, LOSS, FRAMES, *times, *processors)


def basis_steps(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the code of each metric's weakest basis."""
    counts = [name.removeprefix(SHARED) for name in found.names if name.startswith(SHARED)]
    shared = "".join(
        f",IF([endpoint count]={count},[{SHARED}{count} {UNLIMITED} basis],0)" for count in counts
    )
    codes = {"DERIVED": DERIVED, "THEORY": THEORY, "ASSUMED": ASSUMED, "STATED": STATED}
    yield from parse_steps("basis", BASES_OF_FLOW, shared=shared, **codes)

    frames = "0"
    for index, name in enumerate(found.names):
        if name not in found.metrics:
            continue
        place = found.place(index)
        flag = "[saturated value]" if name.startswith(BUSY) else "[not achieved value]"
        read = f"IF({flag},[{name} {UNLIMITED} basis],[{name} {REQUESTED} basis])"
        if name == FRAMES:
            frames = f'IF([goodput value]="",{read},0)'
            continue
        terms = [read]
        if traversals(name):
            beyond = f"[switch count]>INDEX(k_switches_of_rows,{place})"
            terms += [f"IF({beyond},{STATED},0)", f"IF([extra cable]<>0,{THEORY},0)"]
        if is_one_way(name):
            chosen = f"[{name} value at load]"
            terms.append(f'IF({chosen}="",0,IF({chosen}<[least time],{THEORY},0))')
        if name in UTILISATIONS:
            rows = f"INDEX(k_cores_of_rows,{place})"
            terms.append(f"IF(AND({rows}>0,{rows}<>[core count]),{DERIVED},0)")
        yield Step("basis", f"{name} basis", f"=MAX({','.join(terms)})")
        if name in UTILISATIONS and adds_cores(found, name):
            yield Step("basis", f"{name}_cores basis", f"=[{name} basis]")
    yield Step("basis", f"{FRAMES} basis", f"=MAX([{GOODPUT} basis],{frames})")


def reasons(found: Lookup) -> Iterator[tuple[str, str]]:
    """Yield condition and sentence, as formulas, of each reason why a question has no answer or no goodput."""
    name = found.data.id
    first, last = "INDEX(k_first_payload,[configuration])", "INDEX(k_last_payload,[configuration])"
    yield '[refused]<>""', "[refused]"
    measured = text(f"{name} measured ")
    limited = text(" at limited rates only, which state no capacity: request ")
    advice = text("at most the goodput that those runs reached, or measure at unlimited rate")
    within = f"AND([outside],[bytes]>={first},[bytes]<={last})"
    yield within, f"{measured}&[protocol]&{limited}&{advice}"
    outside = f"{text('payload ')}&[bytes]&{text(f' B is outside {name}: ')}&[protocol]"
    span = f"{text(' was measured from ')}&{first}&{text(' to ')}&{last}"
    yield "[outside]", f"{outside}&{span}&{text(f' B; use a payload in this range, {BEYOND}')}"
    yield '[goodput value]=""', absent(found, GOODPUT)


def absent(found: Lookup, metric: str) -> str:
    """Return a formula for the reason why a metric has no value, as in `icmodel.model.explanation`."""
    table = {GOODPUT: BEST, FRAMES: FRAMES if FRAMES in found.names else BEST}.get(metric, metric)
    if table not in found.names:
        utilisation = metric.removesuffix("_cores")
        return f'SUBSTITUTE({absent(found, utilisation)},"{utilisation}","{metric}")'
    place = found.place(found.names.index(table))
    here = f"AND([bytes]>=INDEX(k_first_payload,{place}),[bytes]<=INDEX(k_last_payload,{place}))"
    outside = f'SUBSTITUTE(INDEX(k_outside,{place}),"{PAYLOAD}",[bytes])'
    behind = f'SUBSTITUTE(INDEX(k_absent_behind_switches,{place}),"{SWITCHES}",[switch count])'
    no_rows = f"IF([switch count]>0,{behind},INDEX(k_absent,{place}))"
    return f"IF(OR(INDEX(k_surface,{place})=0,{here}),{no_rows},{outside})"
