#!/usr/bin/env bash
# Builds dsakit and shows what it is for: which backends would serve two real models on two GPUs,
# and why; then the main job: attention of both models through the backend that is picked here,
# every row checked. Works without a GPU. What is up to date is not built again.
#
# usage: scripts/run.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/common.sh
allow "" "$@"

scripts/deps.sh
build release tools/all plugins/cpu/all
# The plugins of a CUDA device that is here, where a compiler for them was found.
if [[ $(build/release/bin/dsakit doctor) == *$'\n  cuda 0 '* ]]; then
  for plugin in plugins/flash*; do
    if [[ -d build/release/$plugin ]]; then build release "$plugin/all"; fi
  done
fi

# Prints a command and runs it. 1 is an answer ("no"), not a failure of this script.
show() {
  printf '\n$ %s\n' "$*"
  "build/release/bin/$1" "${@:2}" || (($? == 1))
}

# The same where only 0 will do.
must() {
  printf '\n$ %s\n' "$*"
  "build/release/bin/$1" "${@:2}"
}

for model in glm-5.2-fp8 deepseek-v3.2; do
  for device in sm_90 sm_120; do
    show dsakit resolve --catalog sglang --model-config "examples/models/$model.json" --device "$device"
  done
  show dsakit explain --catalog sglang --model-config "examples/models/$model.json" --device sm_90
done

must dsakit run --model-config examples/models/glm-5.2-fp8.json --kv-cache-dtype fp8_e4m3
must dsakit run --model-config examples/models/deepseek-v3.2.json --kv-cache-dtype bf16
