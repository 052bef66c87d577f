"""The entry point: runs the command line, and turns what it raises into one sentence and an exit code.

Nothing but the standard library is imported before it stands ready: what the commands need takes a second to load,
on a busy machine several, in which Ctrl-C may come as well.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def main() -> None:
    """Entry point of the script."""
    try:
        _run()
    except KeyboardInterrupt:
        _interrupted()
        sys.exit(EXIT_INTERRUPTED)
    except SystemExit as end:
        # typer turns Ctrl-C into this code without a word.
        if end.code == EXIT_INTERRUPTED:
            _interrupted()
        raise


def _run() -> None:
    from tacid.cli.app import app
    from tacid.cli.console import any_text, notice
    from tacid.errors import TacidError

    any_text()
    try:
        app()
    except TacidError as error:
        notice(f"tacid: {error}", style="red")
        sys.exit(EXIT_FAILED)
    except BrokenPipeError:
        # Whoever read us has gone; leave without Python's own complaint at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except OSError as error:
        notice(f"tacid: the system refused: {error}; look at the file or the disk that it names.", style="red")
        sys.exit(EXIT_FAILED)


def _interrupted() -> None:
    with suppress(OSError, AttributeError):  # standard error may be closed
        sys.stderr.write("tacid: interrupted.\n")
        sys.stderr.flush()
    # CPython (3.11 to 3.13) notes that Ctrl-C ended a text of code, as dataclasses run while they are loaded, and would
    # end by the signal instead of with our code; running another text takes the note away.
    exec("")  # noqa: S102


if __name__ == "__main__":
    main()
