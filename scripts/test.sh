#!/usr/bin/env bash
# Builds dsakit and passes every test: release, planted mistakes, AddressSanitizer and UBSan, fuzzing, ThreadSanitizer.
# What is up to date is not built again. The closing line sums up all test runs: "N passed, N failed".
#
# usage: scripts/test.sh [format] [release] [mutants] [asan] [tsan] [fuzz]      default: all of them
# FUZZ_SECONDS (60) of processor time are shared by the fuzz targets.
set -uo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh
stages=(format release mutants asan tsan fuzz)
allow "${stages[*]}" "$@"

passed=0 failed=0
stage_times=()

# Runs one stage, whatever the others did, and notes its time. A stage that breaks counts as one failure.
stage() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  if ! "$@"; then
    failed=$((failed + 1))
    echo "== $name FAILED"
  fi
  stage_times+=("$name $((SECONDS - start)) s")
  echo "== $name: $((SECONDS - start)) s"
}

# Runs ctest in build/<preset> and adds its counts; prints failing tests and the summary.
run_tests() {
  local preset=$1 report=build/$1/ctest.xml counts
  shift
  rm -f "$report"
  (cd "build/$preset" && ctest -j "$jobs" --output-on-failure --no-tests=error --output-junit ctest.xml "$@") >"build/$preset/ctest.log" 2>&1
  # <testsuite name="…" tests="N" failures="N" disabled="N" skipped="N" …>
  counts=$(sed -n 's/^[[:space:]]*\(tests\|failures\|disabled\|skipped\)="\([0-9]*\)"$/\1=\2/p' "$report" 2>/dev/null | tr '\n' ' ')
  local tests=0 failures=0 disabled=0 skipped=0
  [[ $counts =~ tests=([0-9]+) ]] && tests=${BASH_REMATCH[1]}
  [[ $counts =~ failures=([0-9]+) ]] && failures=${BASH_REMATCH[1]}
  [[ $counts =~ disabled=([0-9]+) ]] && disabled=${BASH_REMATCH[1]}
  [[ $counts =~ skipped=([0-9]+) ]] && skipped=${BASH_REMATCH[1]}
  if ((tests == 0 || failures > 0)); then
    tail -n 200 "build/$preset/ctest.log"
  fi
  ((tests > 0)) || return 1
  echo "$preset: $((tests - failures - disabled - skipped)) passed, $failures failed, $((disabled + skipped)) skipped"
  passed=$((passed + tests - failures - disabled - skipped))
  failed=$((failed + failures))
}

# Planted mistakes in the solver, each killed by a named property (tests/mutants); ctest builds them itself.
run_mutants() { build release all && run_tests release -L mutants; }

# Fuzzes one target; the corpus of the source tree is only read.
fuzz_target() {
  local program=$1 seconds=$2 name=${1##*/fuzz_}
  mkdir -p "build/fuzz/corpus/$name"
  "$program" -max_total_time="$seconds" -seed=1 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1
}
export -f fuzz_target

# All at once, for as long as the processors need for FUZZ_SECONDS of work. Every target counts as one test.
run_fuzz() {
  local programs=(build/asan/bin/fuzz_*) program log
  local busy=$((jobs < ${#programs[@]} ? jobs : ${#programs[@]}))
  printf '%s\n' "${programs[@]}" |
    xargs -P "${#programs[@]}" -I{} bash -c "fuzz_target {} $((${FUZZ_SECONDS:-60} / busy))"
  for program in "${programs[@]}"; do
    log=build/fuzz/${program##*/fuzz_}.log
    if grep -q '^Done [0-9]* runs' "$log"; then
      echo "${program##*/}: $(sed -n 's/^Done \(.*\)/\1/p' "$log")"
      passed=$((passed + 1))
    else
      tail -n 60 "$log"
      failed=$((failed + 1))
    fi
  done
}

wanted=("$@")
((${#wanted[@]})) || wanted=("${stages[@]}")
want() { [[ " ${wanted[*]} " == *" $1 "* ]]; }

stage "packages" scripts/deps.sh --test
if want format; then stage "format" scripts/format.sh --check; fi
if want release; then
  stage "build release" build release all
  stage "test release" run_tests release -LE mutants
fi
if want mutants; then stage "mutants" run_mutants; fi
if want asan; then
  stage "build asan" build asan all
  stage "test asan" run_tests asan
fi
if want tsan; then
  stage "build tsan" build tsan dsakit_threaded_tests
  stage "test tsan" run_tests tsan -L 'threads$'
fi
if want fuzz; then
  stage "build fuzz" build asan fuzzers
  stage "fuzz" run_fuzz
fi

printf 'time: %s\n' "${stage_times[@]}"
echo "$passed passed, $failed failed"
((failed == 0))
