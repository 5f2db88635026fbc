"""Holds the chunks that `repair chunk` shows against the files: tiling.py REPAIR DIR BUDGET..

Checked for every file below DIR that was cut: the byte ranges are adjacent and cover it, the shown texts are its bytes, sizes are
right and at most the budget, and first lines are right.
"""

import json
import resource
import subprocess
import sys

SPACE = b" \t\n\r\x0b\x0c"


def size(text: bytes) -> int:
    # Continuation bytes of UTF-8 do not count.
    return len(text.translate(None, SPACE + bytes(range(0x80, 0xC0))))


def check(repair: str, root: str, budget: int) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [repair, "chunk", root, "--max-size", str(budget), "--format", "json"]
    shown = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    files: dict[str, list[dict]] = {}
    for chunk in json.loads(shown):
        files.setdefault(chunk["path"], []).append(chunk)
    n_bytes = n_chunks = torn = not_tiled = over = wrong_line = 0
    for path, chunks in files.items():
        with open(path, "rb") as file:
            source = file.read()
        end, line = 0, 1
        for chunk in chunks:
            start, stop = chunk["bytes"]
            text = source[start:stop]
            not_tiled += start != end or stop <= start or text.decode("utf-8", "replace") != chunk["text"]
            over += size(text) > budget or size(text) != chunk["size"]
            wrong_line += chunk["lines"][0] != line
            end, line = stop, line + text.count(b"\n")
            torn += chunk["torn"]
        not_tiled += end != len(source)
        n_bytes += len(source)
        n_chunks += len(chunks)
    print(
        f"budget {budget}: {len(files)} files, {n_bytes} bytes, {n_chunks} chunks, {torn} torn, {not_tiled} not tiled, "
        f"{over} over the budget, {wrong_line} wrong lines, {cpu:.1f} CPU s",
        flush=True,
    )


for budget in sys.argv[3:]:
    check(sys.argv[1], sys.argv[2], int(budget))
