from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from toolwire.settings.reading import MAX_BYTES, MAX_FAULTS, parse_settings, read_file

WRONG = [
    ('modle = "a"', 1, "`modle` is not known", "Did you mean `model`?"),
    ("\nzzzz = 1", 2, "`zzzz` is not known", "There are model, base_url"),
    ("[chta]\ntheme = 'dark'", 1, "`chta` is no table that is known", "Did you mean `chat`?"),
    ("[chat]\nthme = 'dark'", 2, "`chat.thme` is not known", "Did you mean `theme`?"),
    ("chat.thme = 'dark'", 1, "`chat.thme` is not known", "theme"),
    ("chat = { plain = 1 }", 1, "`chat.plain` is a whole number, and wants to be true or false", "true or false"),
    ("chat = 1", 1, "`chat` is no table", "[chat]"),
    ("theme = 'dark'", 1, "`theme` is not known", "chat.theme"),
    ("[chat]\nmodel = 'a:b'", 2, "`chat.model` is not known", "top of the file"),
    ("model = 3", 1, "`model` is a whole number, and wants to be a text", "quotes"),
    ("model = 'gpt 4'", 1, "`model` names no model", "provider:model"),
    ("model = '''a\nb'''", 1, "`model` is no plain text of one line", ""),
    ("base_url = 'localhost:80'", 1, "`base_url` is no address of HTTP", "https://"),
    ("database = 'mysql://a:passw0rd@b/c'", 1, "`database` is no address of a database", "postgresql://"),
    ("base_url = 'http://a:99999/'", 1, "`base_url` is no address", ""),
    ("base_url = 'file:///etc/passwd'", 1, "`base_url` is no address", ""),
    ("tools = 'buildin'", 1, '`tools` is none of "builtin", "demo" or "none"', 'Did you mean "builtin"?'),
    ("tools = ['demo']", 1, "`tools` is a list, and wants to be a text", '"none"'),
    ("mode = 'yolo'", 1, "`mode` is none of", '"full"'),
    ("roots = '~/a'", 1, "`roots` is a text, and wants to be a list of texts", '["~/notes"]'),
    ("roots = [\n'~/a',\n'b']", 1, "`roots` has a folder that begins nowhere", "absolute"),
    ("roots = [1]", 1, "`roots` is a list, and wants to be a list of texts", ""),
    ("sandbox = 'yes'", 1, "`sandbox` is a text, and wants to be true or false", ""),
    ("max_turns = 0", 1, "`max_turns` is less than 1", "1 or more"),
    ("max_turns = true", 1, "`max_turns` is true or false, and wants to be a whole number", ""),
    ("max_turns = 2.5", 1, "`max_turns` is a number, and wants to be a whole number", ""),
    ("retries = -1", 1, "`retries` is less than 0", ""),
    ("timeout = 0", 1, "`timeout` is not more than 0", "more than 0"),
    ("timeout = inf", 1, "`timeout` is more than anything can be", ""),
    ("max_seconds = nan", 1, "`max_seconds` is less than 0", ""),
    ("max_tokens = 99999999999999999999", 1, "`max_tokens` is more than anything", ""),
    ("timeout = 2026-01-01", 1, "`timeout` is a time, and wants to be a number", ""),
    ("mcp = false", 1, "`mcp` is for the tables of MCP servers", "use_mcp = false"),
    ("[providers]\nopenai = 'x'", 2, "`providers.openai` is no table", "[providers.work]"),
    ("providers = 1", 1, "`providers` is no table", ""),
    ("[providers.'a:b']\nmodel = 'x'", 1, '`providers."a:b"` is no name of a service', ""),
    ("[providers.work]", 1, "`providers.work` says nothing", "base_url"),
    ("[providers.work]\nbase_url = 'x'", 2, "`providers.work.base_url` is no address", ""),
    ("[providers.work]\n\napi_key = 'sk-secret'", 3, "`providers.work.api_key` would hold a key", "key_variable"),
    ("api_key = 'sk-secret'", 1, "`api_key` would hold a key", "OPENAI_API_KEY"),
    ("\nOPENAI_API_KEY = 'sk-secret'", 2, "`OPENAI_API_KEY` would hold a key", "toolwire providers"),
    ("[chat]\ntoken = 'sk-secret'", 2, "`chat.token` would hold a key", "environment"),
    ("[providers.work]\nApiKey = 'sk-secret'", 2, "would hold a key", "key_variable"),
    ("[providers.work]\ntoken = 'sk-secret'", 2, "would hold a key", "key_variable"),
    ("[providers.work]\nkey_variable = 'sk-secret'", 2, "is no name of an environment variable", "WORK_API_KEY"),
    ("[providers.work]\nkey_variable = 'gsk_secret0'", 2, "is no name of an environment variable", "WORK_API_KEY"),
    ("[providers.work]\nbase_ulr = 'x'", 2, "`providers.work.base_ulr` is not known", "`base_url`"),
    ("[prices.gpt]\ninput = 1", 1, "`prices.gpt` is no model", '[prices."openai:gpt-4.1"]'),
    ('[prices."a:b"]\ninput = -1', 2, '`prices."a:b".input` is less than 0', ""),
    ('[prices."a:b"]\ninput = "1"', 2, '`prices."a:b".input` is a text', ""),
    ('prices."a:b".cached = -1', 1, '`prices."a:b".cached` is less than 0', ""),
]


@pytest.mark.parametrize(("text", "line", "words", "hint"), WRONG, ids=[each[0][:30] for each in WRONG])
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, words: str, hint: str) -> None:
    (fault,) = parse_settings(text.encode(), "/home/me/config.toml").faults
    assert fault.where == f"/home/me/config.toml, line {line}"
    assert words in fault.sentence
    assert hint in fault.hint
    assert fault.hint
    assert "secret" not in fault.sentence + fault.hint


@pytest.mark.parametrize(
    ("data", "words", "hint"),
    [
        (b'model = "a', "it is not TOML: ", "quotes"),
        (b"model = gpt", "(at line 1, column 9)", "quotes"),
        (b'model = "a"\n\nmodel = "b"', "a key stands there twice (at line 3", "Delete one"),
        (b'chat.theme = "a"\n[chat]\nplain = true\n', "twice (at line 2", "Delete one"),
        (b"a = 1\n\xff", "line 2 is not UTF-8", "UTF-8"),
        (b"x = 1\n" + b"a." * 600 + b"a = 1", "line 2 has more than 500 dots", "move it away"),
        (b"#" * (MAX_BYTES + 1), "more than 1,048,576 bytes", "move it away"),
        (b"a = " + b"[" * 5000, "nested too deep", ""),
    ],
    ids=["open", "bare", "twice", "table", "utf-8", "dots", "size", "deep"],
)
def test_what_is_no_toml_is_one_fault(data: bytes, words: str, hint: str) -> None:
    content = parse_settings(data, "config.toml")
    (fault,) = content.faults
    assert words in fault.sentence
    assert hint in fault.hint
    assert content.values == {}


def test_all_faults_are_told_at_once_but_not_without_end() -> None:
    content = parse_settings(b'modle = 1\nretries = 2\nmode = "x"\n[chat]\nplain = "x"', "c")
    assert [each.where for each in content.faults] == ["c, line 1", "c, line 3", "c, line 5"]
    assert content.values == {("retries",): 2}
    many = parse_settings("".join(f"x{number} = 1\n" for number in range(500)).encode(), "c").faults
    assert len(many) == MAX_FAULTS + 1
    assert "480 more" in many[-1].words


def test_tables_of_mcp_servers_are_somebody_elses() -> None:
    text = b'[mcp.servers.time]\ncommand = "uvx"\nanything = 1\n[mcp_servers.x]\nurl = "y"'
    content = parse_settings(text, "c")
    assert (content.values, content.faults) == ({}, [])


def test_a_byte_order_mark_and_other_line_ends() -> None:
    content = parse_settings(b'\xef\xbb\xbfmodel = "a:b"\r\n\r\nretries = 1\r\n', "c")
    assert content.values == {("model",): "a:b", ("retries",): 1}
    assert content.line(("retries",)) == 3


def test_a_file_that_is_none(tmp_path: Path) -> None:
    assert read_file(tmp_path / "missing").faults == []
    (tmp_path / "file").write_text("")
    assert read_file(tmp_path / "file" / "config.toml").faults == []
    assert "is a folder" in read_file(tmp_path).faults[0].sentence
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a file" in read_file(pipe).faults[0].sentence


def test_a_system_without_flags_of_posix_reads_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("O_CLOEXEC", "O_NONBLOCK"):
        monkeypatch.delattr(os, name)
    monkeypatch.delattr(os, "geteuid")
    path = tmp_path / "config.toml"
    path.write_text("retries = 1")
    assert read_file(path).values == {("retries",): 1}


@pytest.mark.parametrize(("mode", "noted"), [(0o600, False), (0o644, False), (0o664, True), (0o602, True)])
def test_a_file_that_others_may_write_is_noted(tmp_path: Path, mode: int, noted: bool) -> None:
    path = tmp_path / "config.toml"
    path.write_text("retries = 1")
    path.chmod(mode)
    content = read_file(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert bool(content.notes) is noted
    assert content.values == {("retries",): 1}
