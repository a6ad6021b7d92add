"""Runs every `$ build/release/bin/dsakit …` of README.md and compares what it prints with what the page says.

usage: check_tour.py SOURCE_DIR PROGRAM
With DSAKIT_BLESS=1 in the environment it writes what they print into the page.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys

SHOWN = "build/release/bin/dsakit"
BLOCK = re.compile(r"^```\n(\$ " + re.escape(SHOWN) + r"(?:[^\n]*\\\n)*[^\n]*)\n((?:[^\n]*\n)*?)```$", re.M)


def output_of(command, program, root):
    words = shlex.split(command.removeprefix("$ ").replace("\\\n", " "))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DSAKIT_")}
    run = subprocess.run([program] + words[1:], cwd=root, env=environment, text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout.rstrip("\n") + "\n"


def main():
    root, program = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    page = root / "README.md"
    text = page.read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    if len(blocks) < 3:
        print(f"README.md shows {len(blocks)} commands; the tour has at least 3")
        return 1
    stale = 0
    for command, shown in blocks:
        real = output_of(command, program, root)
        if real == shown:
            continue
        stale += 1
        print(f"README.md is not what this prints:\n{command}\n{real}")
        text = text.replace(f"{command}\n{shown}", f"{command}\n{real}")
    if stale and "DSAKIT_BLESS" in os.environ:
        page.write_text(text, encoding="utf-8")
        return 0
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
