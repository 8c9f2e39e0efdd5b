"""Formulas of a living workbook, second part: the law `corrected` (`icmodel.laws.corrected`) on the look-up tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from icmodel.laws.corrected_tables import BEST, LIMITED_LOSS
from icmodel.laws.flow import CLOSE, SHARED, is_one_way, traversals
from icmodel.laws.metrics import BUSY, ONE_PROCESS, UTILISATIONS, moves
from icmodel.sheets.formulas_question import NEVER, Step
from icmodel.sheets.lookup import REQUESTED, SCALE, UNLIMITED, Lookup

ENDS = ("value", "low", "high")
OPPOSITE = {"value": "value", "low": "high", "high": "low"}
GOODPUT, LOSS, FRAMES = "goodput_bps", "loss_rate", "frames_per_s"
NAMES = {BEST: "best", GOODPUT: "unlimited", LOSS: "overload loss", LIMITED_LOSS: "limited loss"}
"""Table of the law (model variant) `corrected` -> name of the table in the names of steps."""


def law_steps(found: Lookup) -> Iterator[Step]:
    """Yield the formulas from the look-ups to value, low and high of each metric, in SI units."""
    for index, name in enumerate(found.names):
        for load in found.loads_of(name):
            yield from _look_up(found, index, name, load)
    yield from _flow(found)
    yield from _loss()
    for index, name in enumerate(found.names):
        if name in found.metrics:
            yield from _at_load(found, index, name)
    yield from _ordered([name for name in found.metrics if name != FRAMES])
    yield from _rates_and_cores(found)


def adds_cores(found: Lookup, utilisation: str) -> bool:
    """Whether busy cores are computed from a utilisation, since the dataset has no table of busy cores."""
    measured = f"{utilisation}_cores" in found.metrics
    return utilisation in found.metrics and not measured and bool(found.tables.axes.cores)


# --- look-ups -------------------------------------------------------------------------------------


def _look_up(found: Lookup, index: int, name: str, load: str) -> Iterator[Step]:
    """Yield formulas that look up value, low, high and basis in a table, at one kind of load.

    ``load`` is the unlimited or the requested load.
    """
    place = f"[configuration]+{index * found.configuration_count}"
    named = f"{NAMES.get(name, name)} {load}"
    slots, group = found.tables.axes.slots, name.removeprefix("_")
    slot = str(slots - 1) if load == UNLIMITED else "[slot]"
    surface, row = f"INDEX(k_surface,{place})", f"[{named} row]"
    key = f"({surface}*{slots}+{slot})*{SCALE}+MIN([bytes],{SCALE - 1})"
    yield Step(group, f"{named} row", f"=IF({surface}=0,0,MATCH({key},t_key,1))")
    past = f"([bytes]-INDEX(t_from,{row}))"

    def at(column: str) -> str:
        return f"INDEX(t_{column},{row})"

    value = f"{at('value')}+{past}*{at('value_per_byte')}"
    of_load = f"{at('value_per_load')}+{past}*{at('value_per_both')}"
    if load == REQUESTED:
        value = f"{value}+[above]*({of_load})"
    known = f"IF({row}=0,FALSE,ISNUMBER({at('value')}))"
    yield Step(group, f"{named} value", f'=IF({known},{value},"")')
    for end, clip in (("low", "MAX"), ("high", "MIN")):
        number = f"{at(end)}+{past}*({at(f'{end}_per_byte')}+{past}*{at(f'{end}_bend')})"
        if load == REQUESTED:
            square = f"{at(f'{end}_per_both')}+{past}*{at(f'{end}_bend_of_load')}"
            number = f"{number}+[above]*({at(f'{end}_per_load')}+{past}*({square}))"
        limit = f"INDEX(k_{'least' if end == 'low' else 'most'},{place})"
        yield Step(group, f"{named} {end}", f'=IF([{named} value]="","",{clip}({number},{limit}))')
    on_level = f"IF([bytes]={at('from')},{at('basis_on_both')},{at('basis_on_load')})"
    code = on_level
    if load == REQUESTED:
        off = f"IF([bytes]={at('from')},{at('basis_on_payload')},{at('basis')})"
        code = f"IF([above]=0,{on_level},{off})"
    yield Step(group, f"{named} basis", f"=IF({row}=0,0,{code})")


# --- goodput --------------------------------------------------------------------------------------


def _flow(found: Lookup) -> Iterator[Step]:
    """Yield formulas for the goodput, as in `icmodel.laws.corrected.flow`: value, low and high."""
    shared = [name for name in found.names if name.startswith(SHARED)]
    for end in ENDS:
        other = OPPOSITE[end]
        unlimited_loss, limited = f"[overload loss {end}]", f"[limited loss {end}]"
        known = {
            f"best {end}": _least_of(f"[best unlimited {end}]", "[greatest]"),
            f"unlimited {end}": _least_of(f"[unlimited unlimited {end}]", "[greatest]"),
            f"overload loss {end}": f'=IF(OR(NOT([lossy]),[overload loss unlimited {other}]=""),0,MIN([overload loss unlimited {other}],1))',
            f"limited loss {end}": f'=IF(OR(NOT([lossy]),[limited loss requested {other}]=""),0,MAX(MIN([limited loss requested {other}],1),0))',
            f"saturated {end}": f'=IF([request]>={NEVER},TRUE,IF([best {end}]="",FALSE,[request]>[best {end}]*(1+{CLOSE!r})))',
            f"overloaded {end}": f'=IF([request]>={NEVER},[best {end}]<>"",IF([best {end}]="",FALSE,[request]+[others]>[best {end}]*(1+{CLOSE!r})))',
            f"capacity {end}": f"=IF([saturated {end}],[unlimited {end}],[best {end}])",
            f"receiver {end}": f"=IF([overloaded {end}],[unlimited {end}],[best {end}])",
            f"able {end}": f'=IF([unlimited {end}]="","",[unlimited {end}]/MAX(1-{unlimited_loss},{CLOSE!r}))',
        }
        sharing = _share(end, shared)
        flow = {
            f"sent alone {end}": f'=IF(AND([lossy],[saturated {end}]),IF([able {end}]="","",MIN([request],[able {end}]{"" if end == "value" else ",[greatest]"})),[request])',
            f"offered {end}": f"=IF([lossy],IF([saturated {end}],[sent alone {end}],[request]*(1-{limited})),[request])",
            f"not achieved {end}": f'=IF([saturated {end}],TRUE,IF([share {end}]="",FALSE,[share {end}]*(1+{CLOSE!r})<[request]))',
            f"kept {end}": f'=IF([saturated {end}],1,IF(OR([share {end}]="",[offered {end}]=""),{_delivered(end)},IF([share {end}]<[offered {end}],1,{_delivered(end)})))',
            f"goodput {end}": f'=IF(OR([share {end}]="",[offered {end}]=""),"",MIN(MIN([offered {end}],[share {end}])*[kept {end}],IF([saturated {end}],{NEVER},[offered {end}]*{_delivered(end)}),[greatest]))',
            f"sent {end}": f'=IF([lossy],IF([sent alone {end}]="","",[sent alone {end}]*[kept {end}]),[goodput {end}])',
        }
        for name, formula in (known | sharing | flow).items():
            yield Step("goodput", name, formula)
    outside = 'AND(INDEX(k_surface,[configuration])>0,[goodput value]="")'
    yield Step("goodput", "outside", f"={outside}")
    yield Step("goodput", "answered", '=AND([refused]="",NOT([outside]))')
    less = "AND([endpoint count]>1,[others]>0,[overloaded value],[overload loss value]>0)"
    yield Step("goodput", "loss lowers goodput", f"={less}")


def _delivered(end: str) -> str:
    return "1" if end == "value" else f"INDEX(p_achieved_{end},[p])"


def _least_of(cell: str, other: str) -> str:
    return f'=IF({cell}="","",MIN({cell},{other}))'


def _share(end: str, shared: list[str]) -> dict[str, str]:
    """Return formulas for the stream's share of the receiver, as in `icmodel.laws.flow.fair_share`."""
    crowd, able, loss = (
        f"[crowded {end}]",
        f"[able {end}]",
        f"MIN([overload loss {end}],1-{CLOSE!r})",
    )
    receiver, less = f"[receiver {end}]", f"[lowered receiver {end}]"
    part = f'IF({crowd},{less}*([own {end}]/MAX([total {end}],{CLOSE!r})),IF({receiver}="","",{receiver}/[endpoint count]))'
    found = {
        f"crowded {end}": f'=AND([endpoint count]>1,[overloaded {end}],[others]>0,[overload loss {end}]>0,{able}<>"",{receiver}<>"")',
        f"own {end}": f"=IF({crowd},MIN([request],{able}),0)",
        f"total {end}": f"=IF({crowd},[own {end}]+MIN([others],([endpoint count]-1)*{able}),0)",
        f"offers {end}": f"=IF({crowd},IF({able}>0,[total {end}]/{able},0),0)",
        f"lowered receiver {end}": f"=IF([offers {end}]>1,{receiver}/(1+{loss}/(1-{loss})*MIN([offers {end}]-1,1)),{receiver})",
    }
    for name in shared:
        count, measured = name.removeprefix(SHARED), f"[{name} {UNLIMITED} {end}]"
        least = f'IF({less}="",{measured},MIN({measured},{less}))'
        part = f'IF(AND([endpoint count]={count},{measured}<>""),{least},{part})'
    found[f"part {end}"] = f"={part}"
    left = f'IF({less}="",[part {end}],IF([part {end}]="",{less}-[others],MAX({less}-[others],[part {end}])))'
    found[f"share {end}"] = f"=IF([endpoint count]=1,{receiver},{left})"
    return found


# --- loss -----------------------------------------------------------------------------------------


def _loss() -> Iterator[Step]:
    """Yield formulas for the loss rate, as in `icmodel.laws.corrected.loss`."""
    for end in ENDS:
        sent, goodput = f"[sent {end}]", f"[goodput {end}]"
        arriving = f"IF({sent}=0,1-[overload loss {end}],{goodput}/{sent})"
        achieved = f"[share {end}]>=[request]*(1-[limited loss {end}])"
        lost = f"IF([saturated {end}],MAX(MIN(1-{arriving},1),0),IF({achieved},[limited loss {end}],MAX(MIN(1-{arriving},1),0)))"
        unknown = f'OR({goodput}="",{sent}="",[share {end}]="")'
        yield Step(LOSS, f"lost {end}", f'=IF(NOT([lossy]),0,IF({unknown},"",{lost}))')
    never = "AND([overload loss unlimited row]=0,[limited loss requested row]=0)"
    overload = 'AND([saturated value],[overload loss unlimited value]="")'
    unknown = f'OR([goodput value]="",AND([lossy],OR({never},{overload})))'
    for end in ENDS:
        yield Step(LOSS, f"{LOSS} {end}", f'=IF({unknown},"",[lost {OPPOSITE[end]}])')


# --- times and processors -------------------------------------------------------------------------


def _at_load(found: Lookup, index: int, name: str) -> Iterator[Step]:
    """Yield formulas for a metric at the achieved load, with the delay of the path added.

    If the request is not achieved, the metric is taken at the unlimited load.
    """
    place = f"[configuration]+{index * found.configuration_count}"
    processor = name.startswith(BUSY)
    flag = "saturated" if processor else "not achieved"
    requested = {end: f"[{name} {REQUESTED} {end}]" for end in ENDS}
    if processor:
        yield from _processing_time(name)
        requested = {end: f"[{name} limited {end}]" for end in ENDS}
    unlimited = {end: f"[{name} {UNLIMITED} {end}]" for end in ENDS}
    own = f"[{flag} value]"
    for end in ENDS:
        here, there = unlimited[end], requested[end]
        chosen = f"IF({own},{here},{there})"
        if (
            end != "value"
        ):  # covers both regimes if the interval of the capacity contains the request
            pick = "MIN" if end == "low" else "MAX"
            both = f'IF({here}="",{there},IF({there}="",{here},{pick}({here},{there})))'
            chosen = f"IF([{flag} {OPPOSITE[end]}]={own},{chosen},{both})"
        yield Step(name, f"{name} {end} at load", f"={chosen}")
    for end in ENDS:
        at_load = f"[{name} {end} at load]"
        number = f"MAX({at_load},[least time])" if is_one_way(name) else at_load
        if times := traversals(name):
            number = f"{number}+{times}*({_switch_time(found, place)}+[cable time])"
        if name.endswith(ONE_PROCESS):
            number = f"IF([core count]>0,MIN({number},[core count]),{number})"
        if name in UTILISATIONS:
            number = f"{number}*INDEX(k_core_ratio,{place})"
        unknown = f'{at_load}=""'
        if traversals(name) and found.tables.link.switch_latency_s is None:
            unknown = f"OR({unknown},[switch count]>INDEX(k_switches_of_rows,{place}))"
        yield Step(name, f"{name} {end} raw", f'=IF({unknown},"",{number})')


def _switch_time(found: Lookup, place: str) -> str:
    beyond = f"MAX([switch count]-INDEX(k_switches_of_rows,{place}),0)"
    return f"{beyond}*{found.tables.link.switch_latency_s or 0.0!r}"


def _processing_time(name: str) -> Iterator[Step]:
    """Yield formulas for the processing time at the requested load, as in `icmodel.laws.appendix_h.cpu_time`."""
    top, highest = (
        f"INDEX(t_top_load,[{name} {REQUESTED} row])",
        f"[{name} {UNLIMITED} high]",
    )
    for end in ENDS:
        number = f"[{name} {REQUESTED} {end}]"
        if end == "high":
            held = f'AND([request]>{top},{top}>0,{highest}<>"")'
            found = f"IF({held},MAX({number},{highest}),{number})"
        else:
            share = f'IF([capacity value]="","",{number}*MIN([request]/[capacity value],1))'
            found = f"IF({top}=0,{share},{number})"
        yield Step(name, f"{name} limited {end}", f'=IF({number}="","",{found})')


def _ordered(metrics: list[str]) -> Iterator[Step]:
    """Yield formulas that put the statistics of each time in ascending order, and limit utilisations to 1.

    See `icmodel.laws.metrics.moves`.
    """
    moved = {name: (others, farther) for name, others, farther in moves(metrics)}
    for name in [*moved, *(name for name in metrics if name not in moved)]:
        others, farther = moved.get(name, ((), np.fmax))
        for end in ENDS:
            number = f"[{name} {end} raw]"
            if others:
                pick = "MAX" if farther is np.fmax else "MIN"
                every = ",".join(f"[{other} {end}]" for other in others)
                number = f"{pick}({number},{every})"
            if name in UTILISATIONS:
                number = f"MIN({number},1)"
            yield Step(name, f"{name} {end}", f'=IF([{name} {end} raw]="","",{number})')


def _rates_and_cores(found: Lookup) -> Iterator[Step]:
    """Yield formulas for frames per second, and for busy cores computed from a utilisation."""
    for end in ENDS:
        otherwise = '""'
        if FRAMES in found.metrics:
            measured = f"[{FRAMES} {end} raw]"
            otherwise = f'IF({measured}="","",MIN({measured},[request]/([bytes]*8)))'
        number = f'IF([goodput {end}]="",{otherwise},[goodput {end}]/([bytes]*8))'
        yield Step(FRAMES, f"{FRAMES} {end}", f"={number}")
    for name in UTILISATIONS:
        if adds_cores(found, name):
            for end in ENDS:
                busy = f'=IF([{name} {end}]="","",[{name} {end}]*[core count])'
                yield Step(name, f"{name}_cores {end}", busy)
