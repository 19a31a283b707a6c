"""Values as TOML writes them. What reads TOML is apart, in `toml_text`, and loaded by who reads."""

from __future__ import annotations

__all__ = ["written"]


def written(value: object) -> str:
    """A text, a number or a list of them, as TOML."""
    if isinstance(value, str):
        return '"' + "".join(_character(character) for character in value) + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    return repr(value)


def _character(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08x}"
