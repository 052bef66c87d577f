"""How right the compiler is on other people's schemas: ``python -m tests.bench.schemabench`` (docs/json-schema.md)."""
