"""Coverage-guided fuzzing of every reader of icmodel, with mutated files and requests."""
