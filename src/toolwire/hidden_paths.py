"""The files that no model and no confined program reads unasked: keys, tokens, and what remembers them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping

IN_HOME = (
    # Keys and logins of machines, clouds and forges.
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
    ".git-credentials",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".password-store",
    ".terraform.d",
    ".terraformrc",
    ".databrickscfg",
    ".kaggle",
    ".oci",
    ".bluemix",
    ".aliyun",
    ".snowflake",
    ".snowsql/config",
    ".dbt/profiles.yml",
    ".fly/config.yml",
    ".railway/config.json",
    ".netlify/config.json",
    ".vercel/auth.json",
    ".wrangler/config",
    ".sentryclirc",
    ".rclone.conf",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/git/credentials",
    ".config/doctl",
    ".config/hub",
    ".config/tea",
    ".config/hcloud",
    ".config/stripe",
    ".config/netlify",
    ".config/.wrangler",
    ".config/configstore/firebase-tools.json",
    ".config/heroku",
    ".config/snowflake",
    ".config/kaggle",
    ".config/rclone",
    ".config/op",
    ".config/sops",
    ".config/age",
    ".config/containers/auth.json",
    ".config/helm/repositories.yaml",
    ".config/helm/registry",
    ".local/share/com.vercel.cli",
    ".local/share/heroku",
    # Package managers.
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pip/pip.conf",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".conda/aau_token",
    ".continuum/anaconda-client/tokens",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/composer/auth.json",
    ".local/share/uv/credentials",
    # Models and agents.
    ".huggingface/token",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".qwen/oauth_creds.json",
    ".copilot/config.json",
    ".openai",
    ".aider.conf.yml",
    ".continue/config.json",
    ".continue/config.yaml",
    ".continue/.env",
    ".cursor/mcp.json",
    ".codeium/config.json",
    ".config/anthropic",
    ".config/openai",
    ".config/github-copilot",
    ".config/goose/secrets.yaml",
    ".config/io.datasette.llm/keys.json",
    ".config/Code/User/globalStorage",
    ".config/Cursor/User/globalStorage",
    ".local/share/opencode/auth.json",
    # Browsers, mail, keyrings, wallets.
    ".config/chromium",
    ".config/google-chrome",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/Bitwarden",
    ".config/1Password",
    ".config/keepassxc",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".mozilla",
    ".thunderbird",
    ".librewolf",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.Thunderbird",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.google.Chrome",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
    "snap/firefox",
    "snap/thunderbird",
    "snap/chromium",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".pki",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    # What was typed: people type keys into shells.
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".zsh_sessions",
    ".bash_sessions",
    ".histfile",
    ".history",
    ".sh_history",
    ".ksh_history",
    ".ash_history",
    ".tcsh_history",
    ".local/share/fish/fish_history",
    ".local/state/bash/history",
    ".local/state/zsh/history",
    ".local/share/powershell/PSReadLine/ConsoleHost_history.txt",
    ".python_history",
    ".ipython/profile_default/history.sqlite",
    ".node_repl_history",
    ".irb_history",
    ".psql_history",
    ".mysql_history",
    ".mariadb_history",
    ".sqlite_history",
    ".rediscli_history",
    ".mongosh",
    ".dbshell",
    ".lesshst",
    ".viminfo",
)
"""Below the home folder."""

if sys.platform == "darwin":
    IN_HOME += (
        "Library/Keychains",
        "Library/Cookies",
        "Library/Safari",
        "Library/Mail",
        "Library/Messages",
        "Library/Application Support/Google/Chrome",
        "Library/Application Support/BraveSoftware",
        "Library/Application Support/Microsoft Edge",
        "Library/Application Support/Firefox",
        "Library/Application Support/Claude",
        "Library/Application Support/Code/User/globalStorage",
        "Library/Application Support/Cursor/User/globalStorage",
        "Library/Application Support/io.datasette.llm/keys.json",
        "Library/Application Support/pip/pip.conf",
    )

_BASES = {
    "XDG_CONFIG_HOME": ".config/",
    "XDG_DATA_HOME": ".local/share/",
    "XDG_STATE_HOME": ".local/state/",
    "XDG_CACHE_HOME": ".cache/",
}
"""Variables that move a part of the list."""

_FILES = """
    KUBECONFIG AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE GOOGLE_APPLICATION_CREDENTIALS BOTO_CONFIG NETRC PGPASSFILE
    PIP_CONFIG_FILE NPM_CONFIG_USERCONFIG npm_config_userconfig TF_CLI_CONFIG_FILE DATABRICKS_CONFIG_FILE
    OCI_CLI_CONFIG_FILE RCLONE_CONFIG SOPS_AGE_KEY_FILE HF_TOKEN_PATH REGISTRY_AUTH_FILE GNUPGHOME PASSWORD_STORE_DIR
    CLOUDSDK_CONFIG AZURE_CONFIG_DIR GH_CONFIG_DIR GLAB_CONFIG_DIR KAGGLE_CONFIG_DIR UV_CREDENTIALS_DIR HISTFILE
    PYTHON_HISTORY NODE_REPL_HISTORY PSQL_HISTORY MYSQL_HISTFILE SQLITE_HISTORY REDISCLI_HISTFILE LESSHISTFILE
"""
"""Variables that name such a file or folder. `KUBECONFIG` may name several."""

_INSIDE = {
    "DOCKER_CONFIG": "config.json",
    "CARGO_HOME": "credentials.toml",
    "GRADLE_USER_HOME": "gradle.properties",
    "HF_HOME": "token",
    "CODEX_HOME": "auth.json",
    "CLAUDE_CONFIG_DIR": ".credentials.json",
    "DBT_PROFILES_DIR": "profiles.yml",
    "LLM_USER_PATH": "keys.json",
}
"""Variables that name a folder with one such file in it."""

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


def default_hidden(home: str, config: Iterable[str] = (), env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What is hidden by default: what lies in this home, on this machine, and the given paths of Toolwire's own.

    With an environment, also where its variables move such files to. From root, to whom their modes may not close
    them, also what there is of the kind in the homes of others.
    """
    homes = dict.fromkeys((home, os.path.realpath(home))) if os.path.isabs(home) else ()
    below = [os.path.join(each, name) for each in homes for name in IN_HOME]
    moved = () if env is None else _moved(home, env)
    return tuple(dict.fromkeys((*below, *moved, *_of_others(), *OF_THE_MACHINE, *_OF_ROOT, *_SSH_HOST_KEYS, *config)))


def _moved(home: str, env: Mapping[str, str]) -> Iterator[str]:
    for variable, base in _BASES.items():
        folder = env.get(variable, "")
        if os.path.isabs(folder):
            yield from (os.path.join(folder, name.removeprefix(base)) for name in IN_HOME if name.startswith(base))
    for variable, inside in (*((name, "") for name in _FILES.split()), *_INSIDE.items()):
        for given in env.get(variable, "").split(os.pathsep):
            path = os.path.normpath(os.path.join(given, inside))
            if os.path.isabs(given) and _is_own_place(path, home):
                yield path


def _is_own_place(path: str, home: str) -> bool:
    """Whether a variable may hide it: no device, nothing at the top of the file system, no home as a whole."""
    parts = path.strip("/").split("/")
    is_above = os.path.join(os.path.realpath(home), "").startswith(os.path.join(os.path.realpath(path), ""))
    return len(parts) > 1 and parts[0] not in ("dev", "proc", "sys") and not is_above


def _of_others() -> list[str]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not os.path.isdir(HOMES):
        return []
    homes = sorted(os.listdir(HOMES))[:MOST_HOMES]
    return [path for home in homes for name in IN_HOME if os.path.lexists(path := os.path.join(HOMES, home, name))]
