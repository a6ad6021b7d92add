#!/usr/bin/env bash
# Runs clang-tidy over our C++ sources with the checks of .clang-tidy. Slow: minutes on two cores.
#
# usage: scripts/lint.sh [files]     default: core, tools, sdk, plugins and the build tool
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh

command -v clang-tidy >/dev/null || {
  echo "lint: clang-tidy is not installed" >&2
  exit 1
}
configure release
files=("$@")
if ((${#files[@]} == 0)); then
  mapfile -t files < <(find core tools sdk plugins cmake -name '*.cpp' | sort)
fi
printf '%s\n' "${files[@]}" | xargs -P "$jobs" -n 4 clang-tidy --quiet -p build/release
