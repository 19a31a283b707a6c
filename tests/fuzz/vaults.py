"""Ways to damage a vault: by a statement that Jostle never executes, or by its bytes."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from random import Random

from mutations import bytes_damaged, in_place

__all__ = ["SLIPS", "vault_damaged"]

SLIPS = (
    "UPDATE account SET promise = '2'",
    "UPDATE account SET promise = '1/1000'",
    "UPDATE account SET promise = 'x'",
    "UPDATE account SET promise = 2",
    "UPDATE account SET promise = x'31'",
    "UPDATE account SET promise = '1e999999999'",
    "UPDATE account SET spent = '0'",
    "UPDATE account SET spent = '-1'",
    "UPDATE account SET spent = '1/5'",
    "UPDATE account SET spent = '1/0'",
    "UPDATE account SET spent = 0",
    "UPDATE account SET spent = '9' || hex(zeroblob(9999))",
    "UPDATE account SET neighbours = 'both'",
    "UPDATE account SET neighbours = 'replace_one'",
    "UPDATE account SET version = 1",
    "UPDATE account SET version = 3",
    "UPDATE account SET version = 'two'",
    "UPDATE account SET columns = '{'",
    "UPDATE account SET columns = '[1]'",
    "UPDATE account SET columns = replace(hex(zeroblob(50000)), '0', '[')",
    "UPDATE account SET columns = hex(zeroblob(9000000))",
    "UPDATE account SET identity = 'a text'",
    "DELETE FROM account",
    "UPDATE promises SET epsilon = '5'",
    "UPDATE promises SET process = 'x', reason = x'ff'",
    "DELETE FROM promises",
    "INSERT INTO promises (moment, process, epsilon, reason) VALUES ('', 0, '9', 'more')",
    "DELETE FROM reservations WHERE number = 2",
    "UPDATE reservations SET epsilon = '-1/7' WHERE number = 1",
    "UPDATE reservations SET epsilon = '1/8'",
    "UPDATE reservations SET site = x'ff00'",
    "UPDATE reservations SET process = 1e9",
    "UPDATE reservations SET moment = hex(zeroblob(3000000))",
    "INSERT INTO reservations (moment, process, site, epsilon) VALUES ('', 0, '', '-2/7')",
    "CREATE TRIGGER t AFTER INSERT ON reservations BEGIN UPDATE account SET spent = '0'; END",
    "CREATE TRIGGER t AFTER UPDATE ON account BEGIN DELETE FROM reservations; END",
    "ALTER TABLE reservations RENAME TO r; CREATE VIEW reservations AS SELECT * FROM r WHERE number > 1",
    "ALTER TABLE account RENAME TO a; CREATE VIEW account AS SELECT *, '1' AS left FROM a",
    "ALTER TABLE reservations ADD COLUMN more TEXT DEFAULT 'x'",
    "DROP TABLE reservations",
    "DROP TABLE promises",
    "DROP TABLE account",
    "CREATE TABLE seen (mark TEXT)",
    "CREATE INDEX i ON reservations (epsilon)",
    "PRAGMA application_id = 7",
    "PRAGMA user_version = 7",
    "PRAGMA journal_mode = DELETE",
    "VACUUM",
    "DELETE FROM sqlite_sequence",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'spent TEXT NOT NULL', 'spent TEXT')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 3",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = sql || x'1b5b324a'",
)
"""No two of them together give budget back in a way that agrees."""


def vault_damaged(data: bytes, chance: Random) -> bytes:
    """Return a vault in which one statement was executed that Jostle never does, or with its bytes damaged."""
    if chance.random() < 0.5:
        return chance.choice((bytes_damaged, in_place(lambda _: 0)))(data, chance)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v"
        path.write_bytes(data)
        connection = sqlite3.connect(path)
        try:
            connection.executescript(chance.choice(SLIPS))
            connection.commit()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            return bytes_damaged(data, chance)
        finally:
            connection.close()
        return path.read_bytes()
