from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toolwire.errors import ConfigError, ToolDefinitionError
from toolwire.tools import demo
from toolwire.tools.definition import Risk
from toolwire.tools.demo import current_time, demo_tools, find_zone, list_folder, read_text, time_in


def test_the_tools_are_short_and_only_read(tmp_path: Path) -> None:
    tools = demo_tools(tmp_path)
    assert [each.name for each in tools] == ["current_time", "calculate", "convert_units", "list_files", "read_file"]
    for each in tools:
        assert each.risk is Risk.READ
        assert each.problem({"nonsense": 1}) is not None
        assert len(json.dumps(each.as_json())) < 420


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("calculate", {"expression": "12 * 7"}, "12 * 7 = 84"),
        ("convert_units", {"value": 10, "from_unit": "km", "to_unit": "miles"}, "10 km = 6.21371 miles"),
        ("list_files", {}, "notes.txt"),
        ("list_files", {"folder": "."}, "notes.txt"),
        ("read_file", {"path": "notes.txt"}, "hello"),
    ],
)
def test_each_runs_from_json(tmp_path: Path, name: str, arguments: dict[str, object], expected: str) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    definition = next(each for each in demo_tools(tmp_path) if each.name == name)
    assert definition.problem(arguments) is None
    assert definition.call is not None
    assert definition.call(arguments) == expected


# ---- time


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("tokyo", "Asia/Tokyo"),
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("asia/tokyo", "Asia/Tokyo"),
        ("New York", "America/New_York"),
        ("  new   york ", "America/New_York"),
        ("America/New_York", "America/New_York"),
        ("New York, USA", "America/New_York"),
        ("Paris", "Europe/Paris"),
        ("Paris, France", "Europe/Paris"),
        ("Port-au-Prince", "America/Port-au-Prince"),
        ("Beijing", "Asia/Shanghai"),
        ("San Francisco", "America/Los_Angeles"),
        ("UTC", "UTC"),
        ("utc", "UTC"),
        ("Etc/GMT+2", "Etc/GMT+2"),
    ],
)
def test_zones(place: str, zone: str) -> None:
    assert find_zone(place) == zone


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("Tokio", "Asia/Tokyo"),
        ("Europe/Pariss", "Europe/Paris"),
        ("New Yorkk", "America/New_York"),
        ("Atlantis", "try one like"),
        ("", "Asia/Tokyo"),
        ("../../etc/passwd", "Europe/Paris"),
        ("/etc/localtime", "try one like"),
        ("localtime", "try one like"),
        ("GMT+2", "try one like"),
        ("\x00", "Asia/Tokyo"),
        ("\ud800", "Asia/Tokyo"),
        ("x" * 1_000_000, "Asia/Tokyo"),
        ("tok yo " * 100_000, "Asia/Tokyo"),
    ],
    ids=range(13),
)
def test_unknown_zones_get_suggestions(place: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="no known time zone") as caught:
        find_zone(place)
    assert hint in caught.value.message
    assert len(caught.value.message) < 300


def test_every_city_with_a_zone_of_another_name_is_found() -> None:
    for city in demo._OTHER_CITIES:
        assert find_zone(city.replace("_", " ")) == demo._OTHER_CITIES[city]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("Asia/Tokyo", "Asia/Tokyo: Friday 2025-07-04 04:30 (UTC+09:00)"),
        ("America/New_York", "America/New_York: Thursday 2025-07-03 15:30 (UTC-04:00)"),
        ("Asia/Kathmandu", "Asia/Kathmandu: Friday 2025-07-04 01:15 (UTC+05:45)"),
        ("UTC", "UTC: Thursday 2025-07-03 19:30 (UTC+00:00)"),
    ],
)
def test_a_moment_on_the_clocks_of_a_zone(zone: str, expected: str) -> None:
    assert time_in(zone, datetime(2025, 7, 3, 19, 30, 59, 123456, tzinfo=UTC)) == expected


def test_current_time_is_now() -> None:
    before = datetime.now(UTC).replace(second=0, microsecond=0)
    said = datetime.strptime(current_time("UTC"), "UTC: %A %Y-%m-%d %H:%M (UTC%z)")
    assert before <= said <= datetime.now(UTC)


def test_a_machine_without_a_time_zone_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    demo._zones.cache_clear()
    try:
        with pytest.raises(ConfigError, match="tzdata"):
            current_time("Tokyo")
    finally:
        demo._zones.cache_clear()


# ---- files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with everything in it that can be hostile, and a secret beside it."""
    (tmp_path / "secret.txt").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "notes.txt").write_text("hello\n")
    (inside / "sub" / "more.md").write_text("grüße")
    (inside / "sub" / "deep" / "a b.txt").write_text("deep")
    (inside / ".env").write_text("secret")
    (inside / ".git").mkdir()
    (inside / ".git" / "config").write_text("secret")
    (inside / "link.txt").symlink_to(inside / "notes.txt")
    (inside / "out.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "relative.txt").symlink_to("../secret.txt")
    (inside / "up").symlink_to(tmp_path)
    (inside / "same").symlink_to(inside / "sub")
    (inside / "loop").symlink_to("loop")
    (inside / "dangling").symlink_to("nowhere")
    os.mkfifo(inside / "pipe")
    (inside / "binary.bin").write_bytes(bytes(range(256)))
    (inside / "latin.txt").write_bytes("grüße".encode("latin-1"))
    (inside / "empty.txt").touch()
    (inside / "bom.txt").write_bytes(b"\xef\xbb\xbfhello")
    return inside


def test_a_listing(root: Path) -> None:
    assert list_folder(root, ".").splitlines() == [
        "binary.bin",
        "bom.txt",
        "dangling (link)",
        "empty.txt",
        "latin.txt",
        "link.txt (link)",
        "loop (link)",
        "notes.txt",
        "out.txt (link)",
        "pipe (not a file)",
        "relative.txt (link)",
        "same (link)",
        "sub/",
        "up (link)",
    ]


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("sub", "deep/\nmore.md"),
        ("sub/", "deep/\nmore.md"),
        ("./sub", "deep/\nmore.md"),
        ("sub//deep", "a b.txt"),
        ("sub/./deep", "a b.txt"),
    ],
)
def test_listing_below(root: Path, folder: str, expected: str) -> None:
    assert list_folder(root, folder) == expected
    assert list_folder(root, str(root / folder)) == expected


def test_the_root_by_every_name(root: Path) -> None:
    assert len({list_folder(root, name) for name in (".", "", " ", "./", str(root), f"{root}/")}) == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("notes.txt", "hello\n"),
        ("./notes.txt", "hello\n"),
        (" notes.txt ", "hello\n"),
        ("sub/more.md", "grüße"),
        ("sub/deep/a b.txt", "deep"),
        ("empty.txt", "The file is empty."),
        ("bom.txt", "hello"),
        ("binary.bin", "This is a binary file of 256 bytes; it is not shown."),
        ("latin.txt", "This is a binary file of 5 bytes; it is not shown."),
    ],
)
def test_reading(root: Path, path: str, expected: str) -> None:
    assert read_text(root, path) == expected
    assert read_text(root, str(root / path.strip())) == expected


HOSTILE = [
    ("..", "leads upwards"),
    ("../secret.txt", "leads upwards"),
    ("sub/../../secret.txt", "leads upwards"),
    ("sub/../notes.txt", "leads upwards"),
    ("/etc/passwd", "outside of the folder"),
    ("//etc/passwd", "outside of the folder"),
    ("/", "outside of the folder"),
    ("{root}/../secret.txt", "leads upwards"),
    ("{root}x/secret.txt", "outside of the folder"),
    ("link.txt", "links are not followed"),
    ("out.txt", "links are not followed"),
    ("relative.txt", "links are not followed"),
    ("up/secret.txt", "links are not followed"),
    ("up/inside/notes.txt", "links are not followed"),
    ("same/more.md", "links are not followed"),
    ("loop", "links are not followed"),
    ("dangling", "links are not followed"),
    ("up", "links are not followed"),
    ("pipe", "device, pipe or socket"),
    (".env", "hidden"),
    (".git/config", "hidden"),
    (".git", "hidden"),
    ("missing.txt", "there is no 'missing.txt'; see what there is with list_files"),
    ("missing/notes.txt", "there is no"),
    ("notes.txt/x", "as if it were a folder"),
    ("~/notes.txt", "there is no"),
    ("file:///etc/passwd", "there is no"),
    ("notes.txt\0.png", "no file name"),
    ("\ud800", "no file name"),
    ("x" * 300, "cannot be opened"),
    ("x/" * 500_000, "too long"),
]


@pytest.mark.parametrize("use", [read_text, list_folder])
@pytest.mark.parametrize(("path", "reason"), HOSTILE, ids=range(len(HOSTILE)))
def test_paths_that_are_refused(root: Path, use: Callable[[Path, str], str], path: str, reason: str) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(ConfigError) as caught:
        use(root, path.replace("{root}", str(root)))
    assert reason in caught.value.message
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 250
    assert len(os.listdir("/dev/fd")) == before, "a descriptor stayed open"


def test_a_file_is_no_folder_and_a_folder_no_file(root: Path) -> None:
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        list_folder(root, "notes.txt")
    with pytest.raises(ConfigError, match="is a folder; look into it with list_files"):
        read_text(root, "sub")


def test_devices_and_sockets(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="device, pipe or socket"):
        read_text(Path("/dev"), "null")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(ConfigError, match="device, pipe or socket"):
            read_text(tmp_path, "s")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("out.txt", "cannot be opened"), ("up/secret.txt", "cannot be opened"), ("pipe", "device, pipe")],
)
def test_what_is_swapped_after_the_look_is_still_refused(
    root: Path, path: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look before opening says "a plain file" each time, as if a link was put there right after it."""
    plain = os.lstat(root / "notes.txt")
    monkeypatch.setattr(os, "stat", lambda *args, **options: plain)
    with pytest.raises(ConfigError, match=reason):
        read_text(root, path)


def test_a_root_behind_a_link_works(root: Path, tmp_path: Path) -> None:
    (tmp_path / "door").symlink_to(root)
    read_file = demo_tools(tmp_path / "door")[-1]
    assert read_file.call is not None
    assert read_file.call({"path": "notes.txt"}) == "hello\n"


def test_a_root_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no"):
        list_folder(tmp_path / "gone", ".")


def test_long_listings_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_folder(tmp_path, ".") == "The folder is empty."
    for number in range(200):
        (tmp_path / f"{number:03}").touch()
    assert len(list_folder(tmp_path, ".").splitlines()) == 200
    (tmp_path / "200").touch()
    (tmp_path / ".hidden").touch()
    lines = list_folder(tmp_path, ".").splitlines()
    assert lines[0] == "000"
    assert lines[-2:] == ["199", "[cut: 200 of 201 names are shown]"]
    monkeypatch.setattr(demo, "MAX_ENTRIES", 5)
    monkeypatch.setattr(demo, "_MAX_SCAN", 50)
    assert "of more than" in list_folder(tmp_path, ".").splitlines()[-1]


def test_names_cannot_forge_lines_or_colours(tmp_path: Path) -> None:
    (tmp_path / "a\nb\x1b[31m").touch()
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    assert list_folder(tmp_path, ".").splitlines() == ["a\\nb\\x1b[31m", "bad\\udcff"]


@pytest.mark.parametrize(
    ("text", "shown", "is_cut"),
    [
        ("x" * 20_000, 20_000, False),
        ("x" * 20_001, 20_000, True),
        ("\U0001f600" * 20_000, 20_000, False),
        ("\U0001f600" * 20_001, 20_000, True),
        ("é" * 300_000, 20_000, True),
        ("a" + "\U0001f600" * 300_000, 20_000, True),
    ],
    ids=range(6),
)
def test_long_files_are_cut_between_characters(tmp_path: Path, text: str, shown: int, is_cut: bool) -> None:
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    found = read_text(tmp_path, "long.txt")
    assert found.startswith(text[:shown])
    size = len(text.encode())
    note = f"\n[cut: the first 20,000 characters of {size:,} bytes are shown]"
    assert found[shown:] == (note if is_cut else "")


def test_a_file_without_permission(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "supports_dir_fd", {refuse})
    with pytest.raises(ConfigError, match="cannot be opened: Permission denied"):
        read_text(root, "notes.txt")


def test_a_system_without_safe_opening(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    with pytest.raises(ConfigError, match="does not work here"):
        read_text(root, "notes.txt")


def test_errors_are_for_the_model_not_for_the_developer(root: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_text(root, "missing.txt")
    assert not isinstance(caught.value, ToolDefinitionError)
    assert str(root) not in caught.value.message
