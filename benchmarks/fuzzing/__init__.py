"""Fuzzing: damaged files and requests, made from right ones under the guidance of coverage, for every reader of icmodel."""
