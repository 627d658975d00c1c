"""The engine: it starts, it says clearly why not, and its child never outlives the parent."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from programs import needs_engine
from toolwire.errors import LocalModelError
from toolwire.local import engine
from toolwire.local.engine import LocalModel
from toolwire.local.library import import_failed, load_error
from toolwire.local.shaping import shape_request
from toolwire.local.weights import SMOLLM2, install_weights, installed_weights
from waiting import until

FAKE_ENGINE = """
class Any:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

class CommonParams(Any):
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = Any(), Any(), Any()

class Server:
    def __init__(self, params):
        {load}
        self.listening_address = "http://127.0.0.1:1"
"""

PARENT = """
import asyncio, os, sys, threading, time
from toolwire.local.engine import LocalModel

async def main():
    model = LocalModel(sys.argv[1])
    await model.start()
    return model

{body}
"""


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "some-model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


def fake_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: str = "pass") -> None:
    """Put a stand-in for llama.cpp before the real one, for children."""
    folder = tmp_path / "fake"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text(FAKE_ENGINE.format(load=load))
    inherited = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{inherited}" if inherited else str(folder))


def is_running(pid: int) -> bool:
    """A process that ended but was not collected does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc/self").exists()


def wait_until_gone(pid: int, seconds: float = 3.0) -> None:
    deadline = time.monotonic() + seconds
    while is_running(pid):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            pytest.fail(f"the child was still there after {seconds} seconds")
        time.sleep(0.02)


def parent_process(gguf: Path, body: str) -> subprocess.Popen[str]:
    script = PARENT.format(body=textwrap.dedent(body))
    return subprocess.Popen(
        [sys.executable, "-c", script, str(gguf)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )


def first_number(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


# What can be wrong before and while starting.


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "cannot be read"), (b"", "not a GGUF"), (b"PK\3\4 a zip", "not a GGUF"), (b"GGU", "not a GGUF")],
    ids=["missing", "empty", "zip", "cut"],
)
async def test_a_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(LocalModelError, match=message) as caught:
        await LocalModel(path).start()
    assert caught.value.hint
    assert caught.value.path == str(path)


async def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match="cannot be read"):
        await LocalModel(tmp_path).start()


async def test_without_weights_the_error_says_how_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path))
    with pytest.raises(LocalModelError, match="not installed") as caught:
        await LocalModel().start()
    assert caught.value.__notes__ == [caught.value.hint] == ["Install them once: toolwire local install"]


async def test_without_the_extra_and_weights_the_error_names_the_extra_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path))
    monkeypatch.setattr("toolwire.extras._is_importable", lambda module: False)
    with pytest.raises(LocalModelError, match="needs xllamacpp, which is not installed") as caught:
        await LocalModel().start()
    assert caught.value.__notes__ == ["Install it: pip install 'toolwire[local]'"]


async def test_weights_that_are_installed_after_the_model_was_made_are_found(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLWIRE_CACHE", str(tmp_path))
    fake_engine(tmp_path, monkeypatch)
    model = LocalModel()
    with (tmp_path / SMOLLM2.file).open("wb") as file:
        file.write(b"GGUF")
        file.truncate(SMOLLM2.size)
    async with model:
        assert model.model == SMOLLM2.name
        assert model.needs_shaping
    assert LocalModel(tmp_path / "." / SMOLLM2.file).needs_shaping


async def test_without_llama_cpp_the_error_says_how_to_install(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    (tmp_path / "fake" / "xllamacpp.py").write_text("raise ModuleNotFoundError(\"No module named 'xllamacpp'\")")
    with pytest.raises(LocalModelError, match="xllamacpp") as caught:
        await LocalModel(gguf).start()
    assert "pip install 'toolwire[local]'" in caught.value.hint


async def test_a_child_that_said_what_is_wrong_is_left_to_end_by_itself(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killing one that has just ended can reap it before asyncio does, which prints a warning."""
    killed: list[int] = []
    monkeypatch.setattr(asyncio.subprocess.Process, "kill", lambda process: killed.append(process.pid))
    fake_engine(tmp_path, monkeypatch)
    (tmp_path / "fake" / "xllamacpp.py").write_text(f"raise ImportError({GOMP!r})")
    model = LocalModel(gguf)
    with pytest.raises(LocalModelError, match="libgomp"):
        await model.start()
    assert (killed, model.pid) == ([], None)


@needs_engine
async def test_a_damaged_model_shows_what_llama_cpp_said(gguf: Path) -> None:
    model = LocalModel(gguf)
    with pytest.raises(LocalModelError, match="could not be started") as caught:
        await model.start()
    assert "gguf" in caught.value.hint
    assert model.pid is None


async def test_a_crash_while_loading_shows_the_last_lines(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = "import os, sys; [print(f'line {n}', file=sys.stderr, flush=True) for n in range(2000)]; os._exit(7)"
    fake_engine(tmp_path, monkeypatch, load)
    with pytest.raises(LocalModelError, match="status 7") as caught:
        await LocalModel(gguf).start()
    assert caught.value.hint.endswith("line 1998\nline 1999")
    assert "line 1000\n" not in caught.value.hint


async def test_a_child_that_is_never_ready_is_ended(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch, "import time; time.sleep(60)")
    seen = seen_processes(monkeypatch)
    with pytest.raises(LocalModelError, match="not ready after 1 seconds"):
        await LocalModel(gguf).start(seconds=1)
    assert not is_running(seen[0].pid)


async def test_a_start_that_is_cancelled_leaves_no_process(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch, "import time; time.sleep(60)")
    seen = seen_processes(monkeypatch)
    task = asyncio.create_task(LocalModel(gguf).start())
    assert await asyncio.to_thread(until, lambda: seen)
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(seen[0].pid)


def seen_processes(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    seen: list[asyncio.subprocess.Process] = []
    real = asyncio.create_subprocess_exec

    async def starting(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
        seen.append(await real(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", starting)
    return seen


async def test_noise_on_standard_output_does_not_hide_the_address(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch, "import os; os.write(1, b'loading ...' * 10000)")
    async with LocalModel(gguf) as model:
        assert model.base_url == "http://127.0.0.1:1/v1"
        assert model.model == "some-model"
        assert not model.needs_shaping
    assert model.base_url == ""


def what_others_see(pid: int) -> bytes:
    """A process's arguments and variables; nothing where the system does not say."""
    folder = Path(f"/proc/{pid}")
    return b"".join((folder / name).read_bytes() for name in ("cmdline", "environ")) if folder.is_dir() else b""


async def test_only_who_started_it_knows_the_key(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "noted"
    fake_engine(tmp_path, monkeypatch, f"open({str(noted)!r}, 'w').write(' '.join(params.api_keys))")
    seen = seen_processes(monkeypatch)
    keys: list[str] = []
    model = LocalModel(gguf)
    for _ in range(2):
        async with model:
            keys.append(model.key.reveal())
            assert noted.read_text() == keys[-1]
            assert keys[-1].encode() not in what_others_see(seen[-1].pid)
        assert not model.key
    assert min(map(len, keys)) >= 43
    assert keys[0] != keys[1]


async def test_start_and_stop_can_be_repeated(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_engine(tmp_path, monkeypatch)
    model = LocalModel(gguf)
    await model.stop()
    pids: list[int | None] = []
    for step in (model.start, model.start, model.stop, model.stop, model.start, model.stop):
        await step()
        pids.append(model.pid)
    first, second, third = pids[0], pids[4], pids[5]
    assert pids[:4] == [first, first, None, None]
    assert first is not None
    assert second not in {None, first}
    assert third is None
    assert not is_running(first)


async def test_the_child_goes_by_itself_when_its_input_closes(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    model = await LocalModel(gguf).start()
    started = time.monotonic()
    await model.stop()
    assert time.monotonic() - started < engine.STOP_SECONDS / 2, "it had to be terminated"


async def test_a_child_that_died_meanwhile_is_started_anew(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    async with LocalModel(gguf) as model:
        first = model.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert await asyncio.to_thread(until, lambda: model.pid is None)
        await model.start()
        assert model.pid not in {None, first}


async def test_a_child_that_does_not_listen_is_killed(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "STOP_SECONDS", 0.1)
    load = "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os._exit = lambda status: None"
    fake_engine(tmp_path, monkeypatch, load)
    model = await LocalModel(gguf).start()
    pid = model.pid
    assert pid is not None
    await model.stop()
    assert not is_running(pid)


async def test_control_c_in_the_terminal_does_not_reach_the_child(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    async with LocalModel(gguf) as model:
        assert model.pid is not None
        assert os.getpgid(model.pid) != os.getpgid(0)
        os.kill(model.pid, signal.SIGINT)
        await asyncio.sleep(0.1)
        assert is_running(model.pid)


# The child ends with its parent, however that ends, and not before.


@pytest.mark.parametrize(
    "ending", ["os.kill(os.getpid(), 9)", "os._exit(0)", "sys.exit(0)", "raise RuntimeError"],
    ids=["killed", "exit without cleaning up", "exit", "error"],
)  # fmt: skip
def test_the_child_ends_when_the_parent_does(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    fake_engine(tmp_path, monkeypatch)
    body = f"""
    async def run():
        model = await main()
        print(model.pid, flush=True)
        {ending}
    sys.stderr = open(os.devnull, "w")
    asyncio.run(run())
    """
    process = parent_process(gguf, body)
    wait_until_gone(first_number(process))
    end(process)


def test_the_child_ends_even_if_a_fork_of_the_parent_lives_on(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    body = """
    async def run():
        model = await main()
        if os.fork() == 0:
            sys.stdin.read()
            os._exit(0)
        print(model.pid, flush=True)
        time.sleep(60)
    asyncio.run(run())
    """
    process = parent_process(gguf, body)
    child = first_number(process)
    process.kill()
    wait_until_gone(child)
    process.communicate()


def test_the_child_ends_even_while_it_loads(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Loading holds the interpreter's lock: on Linux the kernel ends the child, elsewhere it ends when it has loaded.
    fake_engine(tmp_path, monkeypatch, "import ctypes; ctypes.PyDLL(None).sleep(4)")
    body = """
    async def run():
        model = LocalModel(sys.argv[1])
        task = asyncio.create_task(model.start())
        while model.pid is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        print(model.pid, flush=True)
        time.sleep(60)
    asyncio.run(run())
    """
    process = parent_process(gguf, body)
    child = first_number(process)
    process.kill()
    wait_until_gone(child, 1.5 if sys.platform == "linux" else 6)
    process.communicate()


def test_the_child_lives_on_when_only_the_thread_that_started_it_ends(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    body = """
    models = []
    def start():
        loop = asyncio.new_event_loop()
        models.append(loop.run_until_complete(main()))
        models.append(loop)
    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    print(models[0].pid, flush=True)
    sys.stdin.read()
    os._exit(0)
    """
    process = parent_process(gguf, body)
    child = first_number(process)
    time.sleep(0.2)
    assert is_running(child)
    process.communicate()
    wait_until_gone(child)


# The real model.


def ask(model: LocalModel, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The chunks of a streamed answer."""
    request = urllib.request.Request(
        f"{model.base_url}/chat/completions",
        json.dumps(body | {"stream": True}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {model.key.reveal()}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        lines = [line.decode().strip() for line in answer]
    assert "data: [DONE]" in lines
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_weights_are_what_the_constants_say() -> None:
    path = install_weights()
    assert path.stat().st_size == SMOLLM2.size
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SMOLLM2.sha256
    assert installed_weights(verify=True) == path


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_server_names_its_model(local_model: LocalModel) -> None:
    assert local_model.needs_shaping
    assert local_model.base_url.startswith("http://127.0.0.1:")
    request = urllib.request.Request(
        f"{local_model.base_url}/models", headers={"Authorization": f"Bearer {local_model.key.reveal()}"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        names = [each["id"] for each in json.load(answer)["data"]]
        assert not answer.headers["Access-Control-Allow-Origin"], "no web page may read the answer"
    assert names == [local_model.model] == ["smollm2-135m"]


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
@pytest.mark.parametrize("key", ["", "Bearer ", "Bearer x", "Basic x"])
def test_nobody_is_answered_without_the_key(local_model: LocalModel, key: str) -> None:
    server = local_model.base_url.removesuffix("/v1")
    body = json.dumps({"prompt": "x", "content": "x", "messages": [{"role": "user", "content": "x"}]}).encode()
    for path in ("/v1/chat/completions", "/v1/completions", "/completion", "/tokenize", "/apply-template", "/infill"):
        request = urllib.request.Request(server + path, body, {"Content-Type": "text/plain", "Authorization": key})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=10)
        assert refused.value.code == 401, path
        refused.value.close()


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_a_call_streams_id_and_name_first_then_pieces_of_arguments(local_model: LocalModel) -> None:
    tool = {
        "name": "get_weather",
        "description": "Weather for a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    body = {
        "model": local_model.model,
        "messages": [{"role": "user", "content": "What is the weather in Lisbon?"}],
        "tools": [{"type": "function", "function": tool}],
    }
    choices = [chunk["choices"][0] for chunk in ask(local_model, shape_request(body))]
    deltas = [call for choice in choices for call in choice["delta"].get("tool_calls", [])]
    assert len(deltas) > 2
    assert deltas[0]["id"]
    assert deltas[0]["function"]["name"] == "get_weather"
    assert all("id" not in delta and "name" not in delta["function"] for delta in deltas[1:])
    assert json.loads("".join(delta["function"]["arguments"] for delta in deltas)) == {"city": "Lisbon"}
    assert choices[-1]["finish_reason"] == "tool_calls"
    assert not any(choice["delta"].get("content") for choice in choices)


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_a_call_cut_by_its_limit_says_so(local_model: LocalModel) -> None:
    body = shape_request(
        {
            "model": local_model.model,
            "messages": [{"role": "user", "content": "Search for the history of the Roman empire"}],
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "search",
                        "description": "Search the web.",
                        "parameters": {
                            "type": "object",
                            "properties": {"query": {"type": "string"}},
                            "required": ["query"],
                        },
                    },
                }
            ],
            "max_tokens": 16,
        }
    )
    assert ask(local_model, body)[-1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
def test_the_real_child_ends_with_a_killed_parent() -> None:
    path = install_weights()
    body = """
    async def run():
        model = await main()
        print(model.pid, flush=True)
        time.sleep(60)
    asyncio.run(run())
    """
    process = parent_process(path, body)
    child = first_number(process)
    assert is_running(child)
    process.kill()
    wait_until_gone(child)
    process.communicate()


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
async def test_the_real_child_is_gone_after_stop() -> None:
    install_weights()
    async with LocalModel() as model:
        pid = model.pid
        assert pid is not None
        started = time.monotonic()
    assert not is_running(pid)
    assert time.monotonic() - started < engine.STOP_SECONDS


def environment_of(pid: int | None) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.thorough
@pytest.mark.xdist_group("local-model")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_the_child_sees_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    install_weights()
    async with LocalModel() as model:
        seen = environment_of(model.pid)
    assert b"OMP_NUM_THREADS=1" in seen
    assert b"canary" not in seen


GOMP = "libgomp.so.1: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("loader", "message", "hint"),
    [
        (GOMP, "needs the system library libgomp.so.1", "apt-get install libgomp1 (Debian, Ubuntu)"),
        ("/lib64/libc.so.6: version `GLIBC_2.38' not found", "cannot be loaded: .*GLIBC_2.38", "--force-reinstall"),
    ],
    ids=["libgomp", "glibc"],
)
async def test_what_the_loader_misses_is_named_with_the_package_to_install(
    gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loader: str, message: str, hint: str
) -> None:
    fake_engine(tmp_path, monkeypatch)
    (tmp_path / "fake" / "xllamacpp.py").write_text(f"raise ImportError({loader!r})")
    with pytest.raises(LocalModelError, match=message) as caught:
        await LocalModel(gguf).start()
    assert hint in caught.value.hint
    problem = load_error()
    assert problem is not None
    assert (problem.message, problem.hint) == (caught.value.message, caught.value.hint)


def test_an_engine_that_loads_has_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_engine(tmp_path, monkeypatch)
    assert load_error() is None


def test_an_engine_that_crashes_while_it_is_loaded_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_engine(tmp_path, monkeypatch)
    (tmp_path / "fake" / "xllamacpp.py").write_text("import os; os.kill(os.getpid(), 11)")
    problem = load_error()
    assert problem is not None
    assert "status -11" in problem.message


def test_on_musl_the_hint_says_that_there_are_no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolwire.local.library.is_musl", lambda: True)
    assert "no wheels for musl" in import_failed(GOMP).hint
    assert "no wheels for musl" in import_failed("Error relocating").hint
