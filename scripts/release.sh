#!/usr/bin/env bash
# Builds what is handed out: the tools and every plugin for all its GPUs, in build/package. Then looks at each plugin file:
# its size, and of its CUDA code that it keeps nothing in local memory and has the instructions that it was written for.
#
# usage: scripts/release.sh
# For the time of a build from nothing: CCACHE_DISABLE=1, and no build/package. The disassembly needs cuobjdump (in PATH or
# CUOBJDUMP) and is left out, with a line that says so, where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh
allow "" "$@"

max_bytes=$((40 * 1024 * 1024)) max_seconds=600
failures=0
fail() {
  echo "release: $*" >&2
  failures=$((failures + 1))
}

# Instructions that every kernel of a plugin whose name matches, for architectures that match, has in machine code, as
# "plugin kernel architectures instruction…".
intended='
flashinfer_sparse_mla attention_kernel . HMMA LDSM LDGSTS
flashinfer_sparse_mla native_kernel sm_89|sm_120 QMMA HMMA LDSM LDGSTS
flashinfer_sparse_mla native_kernel sm_90 HMMA LDSM LDGSTS
flashmla_sparse attention_kernel . HGMMA
flashmla_kv attention_kernel . HGMMA
'

# Prints "arch kernel instruction count" of a file, by its first word: HMMA for HMMA.16816.F32.BF16.
instructions() {
  { "$cuobjdump" -sass "$1" 2>/dev/null || true; } | awk '
    /^[[:space:]]*code for sm_/ { arch = $3 }
    /Function :/ { kernel = $3 }
    match($0, /^[[:space:]]*\/\*[0-9a-f]+\*\/[[:space:]]+(@!?U?P[0-9T]+ )?[A-Z][A-Z0-9_]*/) {
      n = split(substr($0, RSTART, RLENGTH), words, /[[:space:]]+/)
      count[arch " " kernel " " words[n]]++
    }
    END { for (key in count) print key, count[key] }' | sort
}

# Checks the CUDA code of a plugin.
check_code() {
  local id=$1 file=$2 found kernels arch archs kernel plugin name wanted instruction
  found=$(instructions "$file")
  [[ -n $found ]] || return 0
  while read -r arch kernel instruction _; do
    fail "$id: $kernel for $arch has $instruction: local memory"
  done < <(grep -E ' (LDL|STL) ' <<<"$found" || true)
  while read -r plugin name archs wanted; do
    [[ $plugin == "$id" ]] || continue
    kernels=$(grep -E "^[^ ]*($archs)[^ ]* .*$name" <<<"$found" | cut -d' ' -f1,2 | sort -u)
    [[ -n $kernels ]] || fail "$id: no kernel for $archs is named $name"
    while read -r arch kernel; do
      for instruction in $wanted; do
        grep -q "^$arch $kernel $instruction " <<<"$found" || fail "$id: $kernel for $arch has no $instruction"
      done
    done <<<"$kernels"
    echo "  $(wc -l <<<"$kernels") kernels $name for ${archs/#./all}, each with $wanted"
  done <<<"$intended"
}

start=$SECONDS
configure package
grep -E '^-- (Plugins for|CUDA plugins|HIP)' build/configure-package.log 2>/dev/null | awk '!seen[$0]++' || true
targets=(tools/all)
for folder in build/package/plugins/*/CMakeFiles; do
  folder=${folder#build/package/}
  targets+=("${folder%/CMakeFiles}/all")
done
build package "${targets[@]}"
seconds=$((SECONDS - start))
echo "built in $seconds s on $jobs processors"
((seconds <= max_seconds)) || fail "it took more than $max_seconds s"

cuobjdump=${CUOBJDUMP:-$(command -v cuobjdump || true)}
[[ -n $cuobjdump ]] || echo "cuobjdump: not found; the machine code is not looked at"
for file in build/package/lib/dsakit/plugins/libdsakit_*.so; do
  id=${file##*/libdsakit_} bytes=$(stat -c %s "$file")
  id=${id%.so}
  printf '%-22s %9d bytes, built for %s\n' "$id" "$bytes" \
    "$(build/package/bin/dsakit inspect "$file" | sed -n 's/^built for *//p')"
  ((bytes <= max_bytes)) || fail "$id has $bytes bytes, more than $max_bytes"
  if [[ -n $cuobjdump ]]; then check_code "$id" "$file"; fi
done
((failures == 0))
