"""Which keys of a repository's configuration may make git run a program while it only reads.

The table names what is plain, so that a key that nobody has thought of is asked about. What git runs only when it
commits, edits or connects is plain here: those commands are not taken for reading.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .commands.git import PLAIN_SUBMODULES
from .commands.options import names


def key_of_a_program(pairs: Sequence[tuple[str, str]], *, folder: str, git: str) -> str:
    """The first key that may name a program; empty where there is none.

    `folder` is the one that the repository lies in, `git` its git folder.
    """
    # A partial clone fetches what it lacks when it is read.
    connects = any(_names(key)[0] == "extensions" and key.endswith(".partialclone") for key, _ in pairs) or any(
        key.startswith("remote.") and key.endswith((".promisor", ".partialclonefilter")) for key, _ in pairs
    )
    for key, value in pairs:
        section, below, name = _names(key)
        if section in ("include", "includeif") and name == "path":
            continue
        if key == "core.fsmonitor":
            plain = value.lower() in _BOOLEANS
        elif key == "core.worktree":
            plain = os.path.normpath(os.path.join(git, value)) == folder
        elif key == "diff.submodule":
            plain = value in PLAIN_SUBMODULES
        elif key in _LFS:
            plain = value == _LFS[key]
        elif section == "alias":
            # For a command that git is about to give up, it goes before.
            plain = "whatchanged" not in key
        elif section in _TABLES:
            plain = name in _TABLES[section]
        else:
            plain = section in _INERT
        if not plain and not connects:
            plain = section in _CONNECTING or key in _CONNECTING or (section == "remote" and bool(below))
        if not plain:
            return key
    return ""


def _names(key: str) -> tuple[str, str, str]:
    """Section, subsection and name of a key."""
    section, _, rest = key.partition(".")
    below, _, name = rest.rpartition(".")
    return section, below, name


_BOOLEANS = names("0 1 true false yes no on off") | {""}
"""With any other value it is a program."""

_LFS = {
    "filter.lfs.clean": "git-lfs clean -- %f",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.required": "true",
}
"""What `git lfs install --local` writes."""

_TABLES = {
    section: names(known)
    for section, known in {
        "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
        "eol safecrlf quotepath longpaths untrackedcache preloadindex splitindex sharedrepository commitgraph abbrev "
        "whitespace checkstat trustctime excludesfile attributesfile compression loosecompression bigfilethreshold "
        "sparsecheckout sparsecheckoutcone commentchar commentstring checkroundtripencoding deltabasecachelimit "
        "packedgitlimit packedgitwindowsize multipackindex warnambiguousrefs protecthfs protectntfs fscache "
        "hidedotfiles fsyncobjectfiles fsync fsyncmethod createobject hookspath notesref maxtreedepth usereplacerefs "
        "packedrefstimeout filesreflocktimeout unsetenvvars restrictinheritedhandles",
        "diff": "algorithm renames renamelimit mnemonicprefix noprefix srcprefix dstprefix colormoved colormovedws "
        "context interhunkcontext indentheuristic ignoresubmodules wserrorhighlight statgraphwidth "
        "statnamewidth autorefreshindex orderfile relative suppressblankempty wordregex dirstat tool guitool xfuncname "
        "funcname binary cachetextconv",
        "merge": "conflictstyle ff renames renamelimit directoryrenames stat log tool guitool verifysignatures "
        "autostash branchdesc name recursive suppressdest verbosity",
        "extensions": "worktreeconfig objectformat compatobjectformat partialclone refstorage noop preciousobjects "
        "relativeworktrees",
        "remote": "url pushurl fetch push tagopt prune prunetags mirror skipdefaultupdate skipfetchall promisor "
        "partialclonefilter followremotehead pushdefault gh-resolved",
        "lfs": "repositoryformatversion url pushurl access locksverify fetchinclude fetchexclude fetchrecentrefsdays "
        "fetchrecentcommitsdays concurrenttransfers batch lockignoredfiles setlockablereadonly",
    }.items()
}
"""Plain keys of sections that have others too, by their last name."""

_INERT = names(
    "user author committer color branch advice column push pull fetch init rebase rerere status log format gc pack "
    "index feature commit tag stash blame grep notes transfer receive submodule maintenance versionsort apply am "
    "clean checkout i18n help gui gitk github gitlab gitflow gitbutler hub jgit vscode codespaces bugtraq sourcetree "
    "sparse svn-remote svn pull-request ghq worktree safe showbranch revert mailmap"
)
"""Sections of which git runs nothing while it reads."""

_CONNECTING = names("core.sshcommand core.askpass core.gitproxy credential http https url ssh")
"""What git runs or obeys only when it connects."""
