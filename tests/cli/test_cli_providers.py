"""`toolwire providers`: what is set up here, at every width, for people and for scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog_rows import KEY, set_up
from cli.command import toolwire_command
from toolwire.cli.app import run_command
from toolwire.cli.discover import credentials_words, find_models, key_words
from toolwire.providers.catalog import PROVIDERS


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    assert run_command(["providers"]) == 0
    out = capsys.readouterr().out
    assert KEY not in out
    return {line.split()[0]: line for line in out.split("\n") if line}


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = {name for row in PROVIDERS.values() for name in (*row.keys, *row.base_url_variables)}
    variables |= {name for row in PROVIDERS.values() for blank in row.blanks.values() for name in blank.variables}
    for name in variables | {"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"}:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path))
    monkeypatch.setenv("TOOLWIRE_DISCOVER", "0")


def test_every_provider_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert list(rows)[1:] == list(PROVIDERS)
    assert "needs AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY" in rows["azure"]
    assert "needs AWS_REGION, AWS_BEARER_TOKEN_BEDROCK or AWS credentials" in rows["bedrock"]
    assert "needs GOOGLE_CLOUD_PROJECT, GOOGLE_OAUTH_ACCESS_TOKEN or Google credentials" in rows["vertex"]
    assert "needs TOOLWIRE_BASE_URL" in rows["openai-compatible"]


@pytest.mark.parametrize("name", [row.name for row in PROVIDERS.values() if row.keys and not row.is_local])
def test_what_is_set_up_is_said(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = PROVIDERS[name]
    for variable, value in set_up(row).items():
        monkeypatch.setenv(variable, value)
    assert listed(capsys)[name].endswith(f"{row.keys[0]} is set")


def test_every_line_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run_command(["providers"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert max(len(line) for line in lines) <= 80
    assert len(lines) > len(PROVIDERS)
    assert "OpenRouter" not in "".join(lines)


def test_json_for_scripts() -> None:
    ran = toolwire_command("providers", "--json", env={"AZURE_OPENAI_AD_TOKEN": KEY, "GROQ_API_KEY": KEY})
    assert (ran.code, ran.err) == (0, "")
    assert KEY not in ran.out
    rows = {row["name"]: row for row in ran.lines}
    assert list(rows) == list(PROVIDERS)
    assert rows["azure"]["missing"] == [["AZURE_OPENAI_ENDPOINT"]]
    assert rows["gemini"]["missing"] == [["GOOGLE_API_KEY", "GEMINI_API_KEY"]]
    assert rows["groq"]["ready"] is True
    assert rows["xai"]["aliases"] == ["grok"]
    assert rows["perplexity"]["native_tools"] is False


@pytest.mark.parametrize(
    ("whose", "file"),
    [("aws", ".aws/credentials"), ("google", ".config/gcloud/application_default_credentials.json")],
)
def test_credentials_of_other_tools_are_seen(
    whose: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"HOME": str(tmp_path)}
    assert credentials_words(whose, env) == ""
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert credentials_words(whose, env) in ("AWS credentials", "Google credentials")
    variable = {"aws": "AWS_PROFILE", "google": "GOOGLE_APPLICATION_CREDENTIALS"}[whose]
    assert credentials_words(whose, {variable: "x"}) == credentials_words(whose, env)
    monkeypatch.setattr("toolwire.cli.discover.find_spec", lambda _: None)
    assert credentials_words(whose, env) == ""


async def test_only_what_is_wholly_set_up_is_offered() -> None:
    env = {"TOOLWIRE_DISCOVER": "0", "GOOGLE_OAUTH_ACCESS_TOKEN": KEY, "GEMINI_API_KEY": KEY}
    assert [each.model for each in await find_models(env)] == ["gemini:gemini-3.5-flash"]
    env["GOOGLE_CLOUD_PROJECT"] = "acme"
    assert [each.model for each in await find_models(env)] == ["gemini:gemini-3.5-flash", "vertex:gemini-3.5-flash"]
    assert key_words(PROVIDERS["gemini"], env) == "GEMINI_API_KEY is set"
