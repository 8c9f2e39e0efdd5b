"""Keywords of functions: errors about unknown keywords suggest a similar one, and signatures list all keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

ALIKE = 0.6
"""Least similarity (0 to 1, by `difflib`) at which an error suggests a known name for an unknown name."""


def nearest(name: str, known: Iterable[str], alike: float = ALIKE) -> str:
    """Return the known name that is most similar to a misspelt name; empty if no name is similar.

    Examples
    --------
    >>> nearest("protokol", ("protocol", "payload")), nearest("colour", ("protocol", "payload"))
    ('protocol', '')
    """
    from difflib import get_close_matches  # rarely needed

    return next(iter(get_close_matches(name, sorted(known), 1, alike)), "")


def advice(name: str, known: Iterable[str]) -> str:
    """Return the advice at the end of an error on a misspelt name: the most similar known name, or all names.

    Examples
    --------
    >>> advice("variamt", ("data", "variant"))
    'did you mean variant?'
    >>> advice("colour", ("data", "variant"))
    'use one of data, variant'
    """
    names = sorted(known)
    found = nearest(name, names)
    return f"did you mean {found}?" if found else f"use one of {', '.join(names)}"


def checks_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function, so that an unknown keyword raises TypeError and offers the most similar parameter.

    Examples
    --------
    >>> import icmodel
    >>> icmodel.evaluate("imaging", "ethernet-10g-2012", varaint="hybrid")
    Traceback (most recent call last):
    TypeError: evaluate has no parameter 'varaint': did you mean variant?
    """
    code = function.__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self"}

    @wraps(function)
    def checked(*arguments: P.args, **keywords: P.kwargs) -> R:
        for name in keywords.keys() - known:
            shown = function.__qualname__.removesuffix(".__init__")
            raise TypeError(f"{shown} has no parameter {name!r}: {advice(name, known)}")
        return function(*arguments, **keywords)

    return checked


def lists_keywords(keywords: type) -> Callable[[F], F]:
    """Decorate a function that takes the keys of a TypedDict as keywords, so that its signature lists these keywords.

    Then ``help`` shows the keywords, and Tab completes them in a shell or a notebook.

    Examples
    --------
    >>> import inspect
    >>> import icmodel
    >>> "payload_bytes" in inspect.signature(icmodel.Model.predict).parameters
    True
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        *own, others = signature.parameters.values()
        listed = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=getattr(kind, "__forward_arg__", kind),
            )
            for name, kind in inspect.get_annotations(keywords).items()
        ]
        function.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *listed, others]
        )
        return function

    return decorate
