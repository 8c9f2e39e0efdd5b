"""Use cases: from a TOML document of what is sent and what must hold to a verdict.

``document`` (the tables, in pydantic) -> ``derivation`` (what follows from them alone) ->
``evaluation`` (each candidate asked; ``hosts``, ``answering``) -> ``judging`` (each requirement; ``bound``) ->
``result``.
"""

from icmodel.usecase.derivation import Derivation, Derivations, derive
from icmodel.usecase.document import UseCase
from icmodel.usecase.evaluation import evaluate, judge_candidates
from icmodel.usecase.files import (
    find_usecase,
    load_derived,
    load_usecase,
    new_usecase_text,
    read_usecase,
    usecase_names,
    usecase_schema,
)
from icmodel.usecase.result import Answer, CandidateResult, Evaluation, Finding, Wish

__all__ = [
    "Answer",
    "CandidateResult",
    "Derivation",
    "Derivations",
    "Evaluation",
    "Finding",
    "UseCase",
    "Wish",
    "derive",
    "evaluate",
    "find_usecase",
    "judge_candidates",
    "load_derived",
    "load_usecase",
    "new_usecase_text",
    "read_usecase",
    "usecase_names",
    "usecase_schema",
]
