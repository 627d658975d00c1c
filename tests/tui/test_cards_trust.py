"""Cards that a person trusts: what a call would do is on them, whole, and nothing in it passes for something else."""

from __future__ import annotations

import pytest

from tui.card_events import gave, started, take_all, told, whole
from tui.screens import lines, text
from tui.test_cards import EDIT, PLAIN, WRITE, card, shown


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("tool", "path", "width"),
    [
        ("write_file", "/etc/cron.d/x/notes.md", 40),
        ("write_file", "/etc/cron.d/" + "x" * 40, 80),
        ("mcp__a_server_with_a_long_name__delete_the_whole_repository", "/home/me", 60),
        ("write_file", "src/app.py", 80),
    ],
)
async def test_what_a_call_is_about_is_always_whole_on_the_card(tool: str, path: str, width: int, opened: bool) -> None:
    about = card(tool, WRITE if tool == "write_file" else PLAIN, *whole("1", {"path": path, "content": "one\ntwo\n"}))
    async with shown(about, size=(width, 24)) as screen:
        if opened:
            about.focus()
            await screen.press("enter")
        take_all(about, started("1", tool, {"path": path, "content": "one\ntwo\n"}))
        seen = await screen.draw()
        assert path in seen.replace("\n▌ " + " " * len("path: "), "")
        assert seen.count(path[:8]) == 1, "and not twice"


async def test_a_card_is_as_high_as_it_should_be_after_the_screen_got_narrower() -> None:
    wide = {"city": "Paris", "words": "word " * 12}
    about = card("weather", PLAIN, *whole("1", wide))
    async with shown(about, size=(80, 24)) as screen:
        before = about.size.height
        await screen.pilot.resize_terminal(50, 24)
        await screen.draw()
        assert about.size.height > before
        take_all(about, started("1", "weather", {"city": "Paris", "words": "word"}))
        await screen.draw()
        assert about.size.height == before + 1, "edited, which is said"
        take_all(about, told("1", "one"), gave("1", "sunny"))
        seen = await screen.draw()
        assert "→ sunny" in seen


async def test_what_is_left_out_of_a_path_in_the_head_is_said() -> None:
    arguments = {"path": "safe.md\n../../etc/passwd", "content": "x"}
    async with shown(card("write_file", WRITE, *whole("1", arguments))) as screen:
        seen = text(screen.app)
        assert "safe.md…" in seen
        assert "../../etc/passwd" in seen


async def test_names_of_arguments_do_not_pass_for_anything_else() -> None:
    arguments = {"path": "a", "target: safe.txt ": "evil", "a.b": "1", "a": {"b": "2"}, "": "none", "k" * 90: "hidden"}
    async with shown(card("x", PLAIN, *whole("1", arguments)), size=(60, 24)) as screen:
        seen = text(screen.app)
        assert 'target: safe.txt "]: evil' in seen
        assert '["a.b"]: 1' in seen
        assert "a.b: 2" in seen
        assert '[""]: none' in seen
        assert "│ hidden" in seen, "a long name does not push its value out of sight"
        assert '"…]' in seen


async def test_every_one_of_many_changes_is_shown() -> None:
    edits = [{"old_text": f"old{number}", "new_text": f"new{number}"} for number in range(60)]
    many = card("edit", PLAIN, *whole("1", {"path": "a", "edits": edits}))
    async with shown(many, size=(80, 200)) as screen:
        many.focus()
        seen = await screen.press("enter")
        assert "+60 −60" in seen
        assert "new59" in seen


async def test_a_patch_of_another_file_is_seen_as_that() -> None:
    patch = "--- a/etc/passwd\n+++ b/etc/passwd\n@@ in the table\n-root\n+toor\nrm this\n"
    async with shown(card("edit_file", EDIT, *whole("1", {"path": "safe.txt", "patch": patch}))) as screen:
        seen = text(screen.app)
        assert "+++ b/etc/passwd" in seen
        assert "⋯ in the table" in seen
        assert "rm this" in seen
    async with shown(card("edit_file", EDIT, *whole("1", {"path": "etc/passwd", "patch": patch}))) as screen:
        assert "+++" not in text(screen.app)


@pytest.mark.parametrize("outcome", ["denied", "cancelled"])
async def test_an_outcome_that_is_the_state_is_said_once(outcome: str) -> None:
    result = gave("1", "Error: so it was", outcome=outcome, error=True, seconds=0)
    async with shown(card("weather", PLAIN, *whole("1", {"city": "Paris"}), result)) as screen:
        assert lines(screen.app)[0].count(outcome) == 1
