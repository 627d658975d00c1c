"""A made-up environment for any row of the catalog."""

from __future__ import annotations

from toolwire.providers.provider import Provider

KEY = "sk-canary-7f3Kq9Zx2Lm8Vb4N"
VALUES = {
    "endpoint": "https://acme.openai.azure.com",
    "host": "acme.cloud.databricks.com",
    "location": "us-central1",
    "project": "acme",
    "region": "us-east-1",
    "version": "2025-01-01-preview",
}


def set_up(row: Provider, key: str = KEY) -> dict[str, str]:
    """What must be set for a row, and the key in the first of its variables."""
    env = {blank.variables[0]: VALUES[name] for name, blank in row.blanks.items() if blank.form is None}
    env |= {blank.variables[0]: VALUES[name] for name, blank in row.blanks.items() if blank.variables[0] not in env}
    if not row.base_url and row.base_url_variables:
        env[row.base_url_variables[0]] = "http://acme.example/v1"
    if row.keys:
        env[row.keys[0]] = key
    return env
