"""The ``dpm`` command from the outside: its exit codes, and how errors are worded.

Exit codes: 0, 1 for a failure, 2 for wrong use, 128 and the number of a signal that ended it: 130 for an interrupt.

Everything is imported inside, so that an interrupt meanwhile does not end in a traceback. What remains is the start of Python itself
and the loading of three small files, in which an interrupt is Python's: a traceback, and an end by the signal. Nothing has been read then.
"""

import os


def main() -> None:
    """Run the command. An error is one sentence: exit code 2 for wrong parameters, 1 for everything else."""
    try:
        from dpmondrian.cli.stopping import Command, prepare_streams, signals_end

        command = Command()
        with signals_end(command):
            prepare_streams()
            command.do(_run)
    except KeyboardInterrupt:
        from dpmondrian.cli.stopping import stop

        stop()


def _run() -> None:
    """Run the command, in a thread that no signal reaches."""
    from dpmondrian.cli.stopping import printed

    with printed():
        _word_errors()


def _word_errors() -> None:
    """Run the command, and print its errors; warnings of libraries are not shown."""
    import warnings

    from dpmondrian.cli.commands import app
    from dpmondrian.cli.wording import error_sentence, scarcity_sentence
    from dpmondrian.exceptions import DPMondrianError, ParameterError

    try:
        with warnings.catch_warnings():
            if not _for_developers():
                warnings.simplefilter("ignore")
            warnings.filterwarnings("always", message="The release is paid for")
            warnings.showwarning = _show_warning
            app(prog_name="dpm")
    except Exception as error:
        foreseen = isinstance(error, DPMondrianError | OSError) or scarcity_sentence(error)
        if not foreseen and _for_developers():
            raise
        _fail(f"Error: {error_sentence(error)}", 2 if isinstance(error, ParameterError) else 1)


def _for_developers() -> bool:
    return bool(os.environ.get("DPMONDRIAN_TRACEBACK"))


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    from dpmondrian.cli.show import say

    say(f"Warning: {message}", err=True)


def _fail(sentence: str, code: int = 1) -> None:
    from dpmondrian.cli.show import say

    say(sentence, err=True)
    raise SystemExit(code) from None
