#!/usr/bin/env bash
# Formats all C and C++ sources with clang-format, or checks them.
#
# usage: scripts/format.sh [--check]     --check: change nothing, name what differs, fail if anything does
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh
allow --check "$@"

version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [[ $version != 14 ]]; then # other versions lay some lines out differently
  echo "format: clang-format 14 is not installed; skipped"
  exit 0
fi
mapfile -d '' -t files < <(find core plugins sdk tools tests bench cmake examples -type f \
  \( -name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' -o -name '*.hip' \) \
  -print0 2>/dev/null)
if [[ ${1:-} == --check ]]; then
  clang-format --dry-run --Werror "${files[@]}" && echo "format: ${#files[@]} files keep .clang-format"
else
  clang-format -i "${files[@]}"
fi
