"""Checks that every relative link of every Markdown page leads to a file or folder of the repository.

usage: check_links.py SOURCE_DIR
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
SKIPPED = {".git", "build", ".cache"}


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = [page for page in root.rglob("*.md") if not SKIPPED & set(page.relative_to(root).parts)]
    links = [(page, target) for page in pages for target in LINK.findall(page.read_text(encoding="utf-8"))
             if "://" not in target]
    broken = [f"{page.relative_to(root)}: {target} does not exist" for page, target in links
              if not (page.parent / target).exists()]
    print("\n".join(broken) or f"{len(links)} links of {len(pages)} pages lead somewhere")
    return 1 if broken or len(links) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
