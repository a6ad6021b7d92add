"""Compares the dimensions of docs/manifest.md, their neutral values and known tokens with core/manifest/dimension.cpp.

usage: check_manifest.py SOURCE_DIR PROGRAM
"""
import pathlib
import re
import sys

LINE = re.compile(r'\{"(\w+)", DimType::\w+, "([^"]*)", [^"]*"([^"]*)"(?:,\s*"([^"]*)")?\}')
ROW = re.compile(r"^\| `(\w+)` \| ([^|]*)\| (.*) \|$", re.M)


def main():
    root = pathlib.Path(sys.argv[1])
    source = (root / "core" / "manifest" / "dimension.cpp").read_text(encoding="utf-8")
    page = (root / "docs" / "manifest.md").read_text(encoding="utf-8")
    real = {name: ("none" if neutral == "{}" else neutral, known)
            for name, neutral, _, known in LINE.findall(source[source.index("kBuiltins"):])}
    shown = {name: (neutral.strip(), text) for name, neutral, text in ROW.findall(page[page.index("## Dimensions"):])}
    problems = [] if len(real) > 20 else ["the table of dimensions was not understood"]
    problems += [f"{name} is on one side only" for name in sorted(real.keys() ^ shown.keys())]
    for name in sorted(real.keys() & shown.keys()):
        (neutral, known), (shown_neutral, text) = real[name], shown[name]
        if neutral != shown_neutral:
            problems.append(f"{name}: neutral is `{neutral}`, the page says `{shown_neutral}`")
        problems += [f"{name}: the page lacks `{token}`" for token in known.split(", ")
                     if token and not re.search(rf"\b{token}\b", text)]
    print("\n".join(problems) or "docs/manifest.md agrees with the table of dimensions")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
