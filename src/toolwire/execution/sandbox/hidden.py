"""The files that a confined program may not read, whoever runs it: keys, tokens, and what remembers them."""

from __future__ import annotations

import os
from collections.abc import Iterable

IN_HOME = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".password-store",
    ".terraform.d",
    ".terraformrc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/git/credentials",
    ".config/doctl",
    ".config/hub",
    ".config/rclone",
    ".config/op",
    ".config/sops",
    ".config/containers/auth.json",
    ".config/chromium",
    ".config/google-chrome",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Bitwarden",
    ".config/1Password",
    ".config/keepassxc",
    ".config/pypoetry/auth.toml",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".local/share/fish/fish_history",
)
"""Below the home folder. Shell histories are here because people type keys into shells."""

OF_THE_MACHINE = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/kubernetes",
    "/etc/docker/key.json",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/run/credentials",
    "/var/run/secrets",
    "/var/spool/cron",
)
"""Closed by their modes to most users, but not to root, as whom many containers run."""

_OF_ROOT = tuple(os.path.join("/root", name) for name in (".ssh", ".aws"))
_SSH_HOST_KEYS = tuple(f"/etc/ssh/ssh_host_{kind}_key" for kind in ("rsa", "dsa", "ecdsa", "ed25519"))


HOMES = "/home"
MOST_HOMES = 100
"""Looking costs a tenth of a millisecond for each."""


def default_hidden(home: str, config: Iterable[str] = ()) -> tuple[str, ...]:
    """What is hidden by default: what lies in this home, on this machine, and the given paths of Toolwire's own.

    From root, to whom their modes may not close them, also what there is of the kind in the homes of others.
    """
    below = [os.path.join(home, name) for name in IN_HOME] if os.path.isabs(home) else []
    return tuple(dict.fromkeys((*below, *_of_others(), *OF_THE_MACHINE, *_OF_ROOT, *_SSH_HOST_KEYS, *config)))


def _of_others() -> list[str]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not os.path.isdir(HOMES):
        return []
    homes = sorted(os.listdir(HOMES))[:MOST_HOMES]
    return [path for home in homes for name in IN_HOME if os.path.lexists(path := os.path.join(HOMES, home, name))]
