"""The language server: editors start it with `python -m jostle.lang.server` and talk to it over input and output."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Serve one editor over input and output until it hangs up."""
    try:
        from jostle.lang.server_features import server  # noqa: PLC0415 - it needs an extra
    except ModuleNotFoundError as missing:
        raise SystemExit(f'the language server needs {missing.name}: pip install "jostle[lsp]"') from None
    server.start_io()


if __name__ == "__main__":
    main()
