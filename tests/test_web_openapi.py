"""The OpenAPI document: schemathesis asks what it allows and forbids, and checks every answer against it."""

from __future__ import annotations
