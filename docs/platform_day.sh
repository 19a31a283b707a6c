#!/usr/bin/env bash
# A platform engineer's first day: private rows in rows.csv, their public facts in rows.toml, and programs of others.
# Run it in a folder that has these (and count.jst, twice.jst, typo.jst). After each # stands how the command ends.

jostle schema infer public.csv --label smokes --out guessed.toml  # -> 0
jostle check count.jst typo.jst                                   # -> 1
jostle check count.jst --schema rows.toml --json                  # -> 0
jostle fmt count.jst --check                                      # -> 0

# A promise for the rows, before anybody asks: it is kept in a file that is its owner's alone.
jostle vault create rows.csv.vault --epsilon 1 --schema rows.toml # -> 0
jostle vault show rows.csv.vault                                  # -> 0

# Jobs run within it, and leave a trace each.
jostle run count.jst --data rows.csv --schema rows.toml --epsilon 1/2 --trace first.jsonl --out first.json  # -> 0
jostle run count.jst --data rows.csv --schema rows.toml --epsilon 0.4 --trace second.jsonl --json          # -> 0
jostle run twice.jst --data rows.csv --schema rows.toml --epsilon 1                                        # -> 1
jostle run fixed.jst --data rows.csv --schema rows.toml --epsilon 1                                        # -> 3
jostle ledger show --vault rows.csv.vault --json                  # -> 0
jostle trace show first.jsonl                                     # -> 0
jostle trace json second.jsonl                                    # -> 0

# A file beside which a vault lies is private to every command.
jostle schema infer rows.csv                                      # -> 1

# More is promised with a reason, which stays in the vault; the vault is copied like the rows.
jostle vault raise rows.csv.vault --epsilon 3/2 --reason "approved in review 12"  # -> 0
jostle run fixed.jst --data rows.csv --schema rows.toml --epsilon 3/2             # -> 0
jostle vault backup rows.csv.vault copy.vault                     # -> 0
jostle ledger show --vault copy.vault                             # -> 0
