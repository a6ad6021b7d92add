"""Compares docs/settings.md with what the program itself says: options, environment variables, keys of its files.

usage: check_settings.py SOURCE_DIR PROGRAM
An option belongs on the page if more than one command takes it; what one command takes alone stands in its help.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def output_of(program, *arguments):
    run = subprocess.run([program, *arguments], text=True, check=False, env={},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return run.stdout


def options_of(help_text):
    """The options that a help text describes: those at the start of a line."""
    return set(re.findall(r"^  (?:-\w,)?(--[a-z][a-z-]*)", help_text, re.M)) - {"--help", "--version"}


def allowed_keys(program, kind, folder):
    """The keys of a file, from the message about a wrong one."""
    wrong = folder / "dsakit" / "config.json"
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text('{"no_such_key": 1}', encoding="utf-8")
    command = [program, "resolve", "--catalog", "sglang", "--device", "cpu"]
    if kind == "policy":
        command += ["--policy", str(wrong)]
    environment = {"XDG_CONFIG_HOME": str(folder)} if kind == "configuration" else {}
    run = subprocess.run(command, text=True, check=False, env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    allowed = re.search(r"^error\[E06\d\d\]: .*, allowed (.*)$", run.stdout, re.M)
    return set(allowed.group(1).split(", ")) if allowed else {f"(no keys in: {run.stdout})"}


def main():
    root, program = pathlib.Path(sys.argv[1]), str(pathlib.Path(sys.argv[2]).resolve())
    page = (root / "docs" / "settings.md").read_text(encoding="utf-8")
    top = output_of(program, "--help")
    commands = re.findall(r"^  ([a-z]+) ", top[top.index("Subcommands:"):], re.M)
    takes = collections.Counter(option for command in commands
                                for option in options_of(output_of(program, command, "--help")))
    variables = set(re.findall(r"\bDSAKIT_[A-Z_]+", top))
    with tempfile.TemporaryDirectory() as folder:
        keys = allowed_keys(program, "policy", pathlib.Path(folder)) | allowed_keys(
            program, "configuration", pathlib.Path(folder))
    problems = []
    if len(commands) < 10 or len(takes) < 15 or len(variables) < 8:
        problems.append(f"the help texts were not understood: {commands} {sorted(takes)} {sorted(variables)}")

    def compare(what, real, shown):
        problems.extend(f"{what} {name} is not in docs/settings.md" for name in sorted(real - shown))
        problems.extend(f"{what} {name} of docs/settings.md does not exist" for name in sorted(shown - real))

    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    compare("option", {option for option, count in takes.items() if count > 1}, set(OPTION.findall(
        "\n".join(row.split("|")[1] for row in rows.splitlines()))))
    compare("variable", variables, set(re.findall(r"\bDSAKIT_[A-Z_]+", page.replace("`DSAKIT_`", ""))))
    compare("key", keys, set(re.findall(r'^[{ ]?"(\w+)": ', page, re.M)))
    mentioned = set(OPTION.findall(page)) - {"--help"} - set(takes)
    problems.extend(f"docs/settings.md mentions {option}, which no command takes" for option in sorted(mentioned))
    print("\n".join(problems) or "docs/settings.md agrees with the program")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
