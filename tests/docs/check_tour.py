"""Runs every `$ build/release/bin/dsakit …` of the pages and compares what it prints with what the page says.

usage: check_tour.py SOURCE_DIR PROGRAM
It works as a reader would, in a folder that looks like the checkout: a block of JSON that the text says to save
("save this as `name`:") is saved there. With DSAKIT_BLESS=1 in the environment it writes what is printed into the page.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SHOWN = "build/release/bin/dsakit"
COMMAND = re.compile(r"^```\n(\$ " + re.escape(SHOWN) + r"(?:[^\n]*\\\n)*[^\n]*)\n((?:[^\n]*\n)*?)```$", re.M)
SAVED = re.compile(r"[Ss]ave this as `([^`]+)`[^\n]*:\n\n```json[a-z]*\n((?:[^\n]*\n)*?)```$", re.M)
# page → how many commands and saved files it has at least
PAGES = {"README.md": (5, 2), "docs/settings.md": (1, 1)}


def output_of(command, program, folder):
    words = shlex.split(command.removeprefix("$ ").replace("\\\n", " "))
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("DSAKIT_", "XDG_"))} | {"HOME": str(folder)}
    run = subprocess.run([program] + words[1:], cwd=folder, env=environment, text=True, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return (run.stdout.rstrip("\n") + "\n").lstrip("\n")


def check_page(page, program, folder, least):
    """Problems of one page; the page is rewritten if they are to be accepted."""
    text = page.read_text(encoding="utf-8")
    saved, commands = SAVED.findall(text), COMMAND.findall(text)
    if len(commands) < least[0] or len(saved) < least[1]:
        return [f"{page.name} shows {len(commands)} commands and {len(saved)} files; it had {least}"]
    for name, content in saved:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    problems = []
    for command, shown in commands:
        real = output_of(command, program, folder)
        if real != shown:
            problems.append(f"{page.name} is not what this prints:\n{command}\n{real}")
            text = text.replace(f"{command}\n{shown}", f"{command}\n{real}")
    if problems and "DSAKIT_BLESS" in os.environ:
        page.write_text(text, encoding="utf-8")
        return []
    return problems


def main():
    root, program = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
    problems = []
    for name, least in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            for entry in root.iterdir():
                (pathlib.Path(folder) / entry.name).symlink_to(entry)
            problems += check_page(root / name, program, pathlib.Path(folder), least)
    print("\n".join(problems) or "the pages show what is printed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
