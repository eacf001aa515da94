#!/usr/bin/env python3
"""Counts the tokens of the samples with the open tokenizer `o200k_base`, and writes the table that the tests read.

Run it after a change of a sample:

    python3 -m venv target/tokens && target/tokens/bin/pip install -r checks/tokens/requirements.txt
    target/tokens/bin/python checks/tokens/count.py            # writes counts.tsv
    target/tokens/bin/python checks/tokens/count.py --print F  # prints the tokens of other files

tiktoken downloads the vocabulary at its first use. Without that network, give a stored copy with `--vocabulary`, in the
format of the published `o200k_base.tiktoken`: a token in base64 and its rank on each line.
"""

import argparse
import base64
from pathlib import Path

import tiktoken

SAMPLES = Path(__file__).resolve().parents[2] / "crates/tokens/samples"
# The pattern that splits a text into pieces, as published with the vocabulary.
PATTERN = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])


def load(vocabulary: Path | None) -> tiktoken.Encoding:
    if vocabulary is None:
        return tiktoken.get_encoding("o200k_base")
    lines = (line.split() for line in vocabulary.read_text().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return tiktoken.Encoding("o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", type=Path, help="a stored copy of o200k_base.tiktoken")
    parser.add_argument("--print", type=Path, nargs="+", dest="files", metavar="FILE", help="count these files instead")
    args = parser.parse_args()
    encoding = load(args.vocabulary)

    def count(path: Path) -> int:
        return len(encoding.encode_ordinary(path.read_text(encoding="utf-8")))

    if args.files:
        for path in args.files:
            print(f"{path}\t{count(path)}")
        return
    rows = [f"{path.stem}\t{count(path)}\n" for path in sorted(SAMPLES.glob("*.txt"))]
    (SAMPLES / "counts.tsv").write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
