"""Ways to damage a vault: by a statement that Jostle never executes, or by its bytes."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from random import Random

from mutations import bytes_damaged, in_place

SLIPS = (
    "UPDATE accounts SET promise = '2'",
    "UPDATE accounts SET promise = '1/1000'",
    "UPDATE accounts SET promise = 'x'",
    "UPDATE accounts SET promise = 2",
    "UPDATE accounts SET promise = x'31'",
    "UPDATE accounts SET promise = '1e999999999'",
    "UPDATE accounts SET spent = '0'",
    "UPDATE accounts SET spent = '-1'",
    "UPDATE accounts SET spent = '1/5'",
    "UPDATE accounts SET spent = '1/0'",
    "UPDATE accounts SET spent = 0",
    "UPDATE accounts SET spent = '9' || hex(zeroblob(9999))",
    "UPDATE accounts SET neighbours = 'both'",
    "UPDATE accounts SET neighbours = 'replace_one'",
    "UPDATE accounts SET number = 2",
    "UPDATE accounts SET people = 7",
    "UPDATE accounts SET key = 'a text'",
    "INSERT INTO accounts SELECT 2, 'ward 7', neighbours, key, promise, '0' FROM accounts",
    "INSERT INTO accounts SELECT 2, 'ward 7', neighbours, x'00', '9', '0' FROM accounts",
    "DELETE FROM accounts",
    "UPDATE tables SET columns = '{'",
    "UPDATE tables SET columns = '[1]'",
    "UPDATE tables SET columns = replace(hex(zeroblob(50000)), '0', '[')",
    "UPDATE tables SET columns = hex(zeroblob(9000000))",
    "UPDATE tables SET account = 2",
    "UPDATE tables SET number = 9",
    "UPDATE tables SET person = 'patient'",
    "UPDATE tables SET rows_per_person = 16",
    "UPDATE tables SET person = 'patient', rows_per_person = -1",
    "DELETE FROM tables",
    "UPDATE promises SET account = 2",
    "UPDATE reservations SET of_table = 2",
    "UPDATE promises SET epsilon = '5'",
    "UPDATE promises SET process = 'x', reason = x'ff'",
    "DELETE FROM promises",
    "INSERT INTO promises (account, moment, process, epsilon, reason) VALUES (1, '', 0, '9', 'more')",
    "DELETE FROM reservations WHERE number = 2",
    "UPDATE reservations SET epsilon = '-1/7' WHERE number = 1",
    "UPDATE reservations SET epsilon = '1/8'",
    "UPDATE reservations SET site = x'ff00'",
    "UPDATE reservations SET process = 1e9",
    "UPDATE reservations SET moment = hex(zeroblob(3000000))",
    "INSERT INTO reservations (of_table, moment, process, site, epsilon) VALUES (1, '', 0, '', '-2/7')",
    "CREATE TRIGGER t AFTER INSERT ON reservations BEGIN UPDATE accounts SET spent = '0'; END",
    "CREATE TRIGGER t AFTER UPDATE ON accounts BEGIN DELETE FROM reservations; END",
    "ALTER TABLE reservations RENAME TO r; CREATE VIEW reservations AS SELECT * FROM r WHERE number > 1",
    "ALTER TABLE accounts RENAME TO a; CREATE VIEW accounts AS SELECT *, '1' AS left FROM a",
    "ALTER TABLE reservations ADD COLUMN more TEXT DEFAULT 'x'",
    "DROP TABLE reservations",
    "DROP TABLE promises",
    "DROP TABLE accounts",
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
