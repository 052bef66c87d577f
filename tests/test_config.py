"""The configuration: where it is looked for, what it holds, and errors that name the key."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tacid.config import MAX_BYTES, Config, EndpointConfig, config_path, load, load_config, settings
from tacid.errors import InputError
from tacid.grammar import MAX_BYTES as GRAMMAR_BYTES
from tacid.grammar import MAX_SECONDS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in list(os.environ):
        if variable.upper().startswith(("TACID_", "XDG_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_without_a_file_the_defaults_hold(home: Path) -> None:
    if Path("/etc/tacid/config.toml").exists():
        assert config_path() == Path("/etc/tacid/config.toml")
        return
    assert config_path() is None
    config = load_config()
    assert config.server.port == 8017
    assert config.machine.services is None
    assert config.machine.state_dir == home / ".local/state/tacid"
    assert config.model.dir == home / ".local/share/tacid/models"


def test_a_file_is_found_by_variable_then_by_xdg_then_at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = write(home / ".config/tacid/config.toml", "[server]\nport = 1111")
    assert config_path() == at_home
    assert load_config().server.port == 1111
    by_xdg = write(home / "xdg/tacid/config.toml", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert config_path() == by_xdg
    monkeypatch.setenv("TACID_CONFIG", str(home / "named.toml"))
    assert config_path() == home / "named.toml"
    with pytest.raises(InputError, match=r"named\.toml can't be read: No such file.*TACID_CONFIG"):
        load_config()


def test_a_relative_xdg_variable_does_not_count(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert Config().machine.state_dir == home / ".local/state/tacid"


def test_every_section_is_read(home: Path) -> None:
    path = write(
        home / "c.toml",
        """
        [engine]
        url = "http://127.0.0.1:8080"
        threads = 2
        extra_args = ["--flash-attn", "off"]
        [model]
        name = "/models/a.gguf"
        [machine]
        services = "/etc/x.json"
        [server]
        port = 8018
        """,
    )
    config = load_config(path)
    assert config.engine.threads == 2
    assert config.engine.extra_args == ("--flash-attn", "off")
    assert config.machine.services == Path("/etc/x.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port 8017", "is not TOML"),
        (b"a = '\xff'", "is not UTF-8 text (byte 5)"),
        ("a = " + "[" * 5000 + "]" * 5000, "nests too deep"),
        ("x" * (MAX_BYTES + 1), "more than 262,144 bytes"),
        ("engine = 3", "engine: "),
        ("[engine]\nthreads = 'many'", "engine.threads: "),
        ("[engine]\nthreds = 2", "engine.threds: there is no such setting; did you mean engine.threads?"),
        ("[sevrer]\nport = 2", "sevrer: there is no such setting; did you mean server?"),
        ("port = 2", "port: there is no such setting; did you mean server.port?"),
        ("[model]\nslots = 2", "model.slots: there is no such setting; did you mean engine.slots?"),
        ("[server]\n'a\\u001b' = 2", '"server.a\\\\u001b": there is no such setting; did you mean server.'),
        (
            "[[endpoints]]\nname = 'a'\nknd = 'local'",
            "endpoints.0.knd: there is no such setting; did you mean endpoints.0.kind?",
        ),
        ("[[endpoints]]\nname = 'a'", "endpoints.0.kind: it is needed"),
        ("[[endpoints]]\nname = 'a'\nkind = 'remote'", 'endpoints.0: an endpoint of kind "remote" needs a url'),
        ("[[endpoints]]\nname = 'a'\nkind = 'local'\n" * 2, 'two endpoints are called "a"'),
        ("[[endpoints]]\nname = 'a'\nkind = 'local'\nfallback = true", "every endpoint is a fallback"),
        ("[engine]\nreply_timeout = inf", "engine.reply_timeout: Input should be a finite number"),
        ("[server]\ntrusted = ['192.168.1.7/24']", "server.trusted.0: name an address or a network"),
        ("[server]\norigins = ['https://a.example/path']", "server.origins.0: an origin is a scheme and a host"),
        ("[server]\nhost = 'http://box'", "server.host: name a host without scheme"),
        ("[server]\nkeys = '~nobody-here/keys'", "server.keys: there is no such home directory"),
        *(
            (f"[engine]\nurl = '{url}'", "engine.url: a URL begins with")
            for url in ("ftp://x", "box:8080", "http://[::1")
        ),
        *(
            (f"[engine]\nurl = '{url}'", "engine.url: a Unix socket is")
            for url in ("unix://", "unix://run/x.sock", "unix:///run/", "unix:///a b.sock", "unix:///a%20b.sock")
        ),
        (f"[engine]\nurl = 'unix:///{'x' * 100}'", "engine.url: the path of a Unix socket may have 100 bytes"),
        (
            "[[endpoints]]\nname = 'a'\nkind = 'remote'\nurl = 'unix:///x.sock'",
            'endpoints.0: an endpoint of kind "remote" is asked over http or https',
        ),
        ("[[endpoints]]\nname = 'a'\nkind = 'tools'\nurl = 'http://x:port'", "endpoints.0.url: a URL begins with"),
        ("[server]\nport = 0", "server.port: "),
        ("[server]\nport = 65536", "server.port: "),
        ("[engine]\nkey = 'secret-word'\nslots = 0", "engine.slots: "),
    ],
)
def test_a_bad_file_is_one_sentence_that_names_file_and_key(home: Path, text: str | bytes, words: str) -> None:
    path = write(home / "c.toml", text)
    with pytest.raises(InputError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"The configuration {path}")
    assert words in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))
    assert "secret-word" not in message


def test_a_directory_and_a_huge_file_are_refused(home: Path) -> None:
    with pytest.raises(InputError, match="can't be read: Is a directory"):
        load_config(home)
    huge = home / "huge.toml"
    with huge.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(InputError, match="more than"):
        load_config(huge)


def test_a_file_that_can_not_be_looked_at_is_not_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A loop of links fails for root, too, which permissions would not.
    (home / ".config").mkdir()
    (home / ".config/tacid").symlink_to("tacid")
    assert config_path() == home / ".config/tacid/config.toml"
    with pytest.raises(InputError, match="can't be read"):
        load_config()


def test_no_home_directory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(InputError, match="no home directory; set HOME or XDG_"):
        Config()


def test_nothing_is_changed_after_it_was_read() -> None:
    with pytest.raises(ValueError):
        Config().server.port = 1  # type: ignore[misc]


def test_a_pipe_is_refused_and_does_not_hang(home: Path) -> None:
    os.mkfifo(home / "pipe")
    for path in (home / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match=f"{path} can't be read: it is no regular file"):
            load_config(path)


def test_the_environment_goes_over_the_file_and_flags_over_both(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(home / "c.toml", "[server]\nport = 1111\nheartbeat = 2.0\nqueue = 9\n[engine]\nkey = 'k'")
    monkeypatch.setenv("TACID_SERVER__PORT", "2222")
    monkeypatch.setenv("TACID_SERVER__QUEUE", "8")
    monkeypatch.setenv("tacid_engine__slots", "3")
    monkeypatch.setenv("TACID_ENGINE__KEY", "null")
    monkeypatch.setenv("TACID_SERVER__TRUSTED", '["10.0.0.0/8"]')
    monkeypatch.setenv("TACID_MODEL__ALIASES", '{"gpt-4o": "smollm2"}')
    monkeypatch.setenv("TACID_ENDPOINTS", '[{"name": "here", "kind": "local"}]')
    monkeypatch.setenv("TACID_TEST_SOMETHING", "not ours")
    loaded = load(path, {"server": {"port": 3333}, "machine": {"services": Path("/s.json")}})
    config = loaded.config
    assert (config.server.port, config.server.queue, config.server.heartbeat) == (3333, 8, 2.0)
    assert (config.engine.slots, config.engine.key) == (3, None)
    assert config.server.trusted == ("10.0.0.0/8",)
    assert config.model.aliases == {"gpt-4o": "smollm2"}
    assert config.endpoints == (EndpointConfig(name="here", kind="local"),)
    assert config.machine.services == Path("/s.json")
    assert loaded.path == path
    assert {key: origin for key, origin in loaded.origins.items() if origin != "default"} == {
        "server.port": "flag",
        "server.heartbeat": "file",
        "server.queue": "environment",
        "server.trusted": "environment",
        "engine.slots": "environment",
        "engine.key": "environment",
        "model.aliases": "environment",
        "machine.services": "flag",
        "endpoints": "environment",
    }
    assert set(loaded.origins) == set(settings())


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TACID_SERVER__PRT", "1", "TACID_SERVER__PRT: there is no such setting; did you mean TACID_SERVER__PORT?"),
        ("TACID_SEVRER__PORT", "1", "TACID_SEVRER__PORT: there is no such section; did you mean TACID_SERVER__"),
        ("TACID_SERVER__PORT", "many", "TACID_SERVER__PORT: Input should be a valid integer"),
        ("TACID_SERVER__TRUSTED", "10.0.0.0/8", "TACID_SERVER__TRUSTED to what is no JSON"),
        ("TACID_SERVER__TRUSTED", '["x"]', "TACID_SERVER__TRUSTED: name an address or a network"),
        ("TACID_SERVER", "[1]", "TACID_SERVER: it must be a table of settings"),
        ("TACID_SERVER__PORT__X", "1", "TACID_SERVER__PORT: "),
        ("TACID_ENDPOINTS", '[{"name": "a", "knd": "b"}]', "TACID_ENDPOINTS, 0.knd: there is no such setting"),
        ("TACID_ENGINE__SLOTS", "secret-word", "TACID_ENGINE__SLOTS: "),
    ],
)
def test_a_bad_variable_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    path = write(home / "c.toml", "[server]\nport = 1111")
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError) as caught:
        load_config(path)
    assert str(caught.value).startswith("The environment sets TACID_")
    assert words in str(caught.value)
    assert "secret-word" not in str(caught.value)


def test_a_bad_file_is_blamed_though_the_environment_would_mend_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(home / "c.toml", "[server]\nport = 'x'")
    monkeypatch.setenv("TACID_SERVER__PORT", "2222")
    with pytest.raises(InputError, match=f"The configuration {path}: server.port"):
        load_config(path)


def test_a_bad_flag_is_blamed(home: Path) -> None:
    with pytest.raises(InputError, match=r"The flags: server\.port: "):
        load_config(write(home / "c.toml", ""), {"server": {"port": 0}})


def test_paths_at_home_and_networks_are_understood(home: Path) -> None:
    path = write(home / "c.toml", "[server]\nkeys = '~/keys'\ntrusted = ['10.0.0.7', 'fd00::/8']\nhost = '[::1]'")
    server = load_config(path).server
    assert server.keys == home / "keys"
    assert server.trusted == ("10.0.0.7/32", "fd00::/8")
    assert server.host == "::1"


def test_no_secret_is_in_what_a_configuration_prints() -> None:
    config = Config.model_validate(
        {
            "engine": {"key": "secret-word"},
            "endpoints": [{"name": "a", "kind": "remote", "url": "http://x", "key": "secret-word"}],
        }
    )
    assert "secret-word" not in repr(config)


def test_every_setting_says_what_it_means() -> None:
    fields = settings() | {f"endpoints.{name}": field for name, field in EndpointConfig.model_fields.items()}
    assert [name for name, field in fields.items() if not (field.description or "").endswith(".")] == []


EXAMPLE = Path(__file__).parents[1] / "config.example.toml"


def example(*marks: str) -> dict[str, Any]:
    """The example with the lines of these marks uncommented."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for mark in marks:
        text = re.sub(rf"^{mark}(?=[a-z_\[]+)", "", text, flags=re.MULTILINE)
    return tomllib.loads(text)


def test_the_example_changes_nothing(home: Path) -> None:
    assert load_config(EXAMPLE) == Config()


def test_the_defaults_in_the_example_are_the_defaults() -> None:
    assert Config.model_validate(example("#")) == Config()


def test_the_example_has_every_setting_and_its_examples_are_valid() -> None:
    everything = example("##", "#")
    Config.model_validate(everything)
    named = {f"{section}.{key}" for section, table in everything.items() if section != "endpoints" for key in table}
    assert named | {"endpoints"} == set(settings())
    assert {key for endpoint in everything["endpoints"] for key in endpoint} == set(EndpointConfig.model_fields)
    # What has a default is shown with it; only what has none is an example.
    defaults = {f"{section}.{key}" for section, table in example("#").items() for key in table}
    dumped = Config().model_dump()
    assert {name for name in named if dumped[name.partition(".")[0]][name.partition(".")[2]] is not None} == defaults


def test_the_bounds_of_a_grammar_are_the_compilers_where_nothing_is_said() -> None:
    assert (Config().grammar.max_seconds, Config().grammar.max_bytes) == (MAX_SECONDS, GRAMMAR_BYTES)
