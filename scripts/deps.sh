#!/usr/bin/env bash
# Installs the packages that dsakit needs and this machine lacks (Debian 12+, Ubuntu 24.04+; root or sudo).
# Without the right to install it prints the command and fails. Does nothing when all are there.
#
# usage: scripts/deps.sh [--test]     --test: also what only the tests need
set -euo pipefail

# One requirement a line: alternatives in order of preference, each "package" or "package>=version"; or "!command" or
# "!command>=version", which counts wherever it came from and is never installed; @ is the major version of the
# distribution's clang, % that of the newest clang on offer that compiles for AMD GPUs.
base='
cmake>=3.25 !cmake>=3.25
ninja-build !ninja
g++>=4:12 !g++>=12
libboost1.81-dev libboost-dev>=1.81
libfmt-dev>=9
nlohmann-json3-dev>=3.11
libcli11-dev>=2.1
libexpected-dev
libgtest-dev
libbenchmark-dev
libhwy-dev
libdlpack-dev
python3 !python3>=3.9
'
# Comes along with others; alone it is no reason to install anything.
nice='ccache'
test_only='
clang
libclang-rt-@-dev
patch
'
# Device code for AMD GPUs; left out where no such clang is on offer. From 20 on clang knows gfx950, too.
amd_clangs='22 21 20 19'
amd='
!amdclang++ clang-%
!amdclang++ lld-%
!amdclang++ clang-tools-%
'

tests=0
[[ ${1:-} == --test ]] && tests=1

declare -A installed=()

# The major version of the clang that the package "clang" stands for; empty if apt does not know.
clang_major() {
  { dpkg-query -W -f '${Depends}' clang || apt-cache depends clang; } 2>/dev/null |
    sed -n 's/.*clang-\([0-9]*\).*/\1/p' | head -1
}

# The major version of the clang for AMD GPUs: one that is installed, else one on offer; empty if
# there is none.
amd_clang() {
  local major
  for major in $amd_clangs; do
    if command -v "clang++-$major" >/dev/null; then echo "$major" && return; fi
  done
  for major in $amd_clangs; do
    if on_offer "clang-$major"; then echo "$major" && return; fi
  done
  # Without package lists nothing is on offer yet.
  if ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then echo "${amd_clangs%% *}"; fi
}

# Sets `requirements`, and `installed` to the versions of their packages.
look() {
  local words=() package version status amd_major
  requirements=$base
  if ((tests)); then
    requirements+=${test_only//@/$(clang_major)}
    amd_major=$(amd_clang)
    if [[ -n $amd_major ]]; then requirements+=${amd//%/$amd_major}; fi
  fi
  for word in $requirements $nice; do
    if [[ $word != '!'* ]]; then words+=("${word%%>=*}"); fi
  done
  while read -r package version status; do
    if [[ $status == installed ]]; then installed[$package]=$version; fi
  done < <(dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' "${words[@]}" 2>/dev/null || true)
}

# The first dotted number that a command says about itself, 0 if it says none.
command_version() {
  local said
  said=$("$1" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+)+' | head -1) || true
  echo "${said:-0}"
}

satisfied() {
  local package=${1%%>=*} least=
  [[ $1 == *'>='* ]] && least=${1#*>=}
  if [[ $package == '!'* ]]; then
    command -v "${package#!}" >/dev/null || return 1
    [[ -z $least ]] || dpkg --compare-versions "$(command_version "${package#!}")" ge "$least"
    return
  fi
  [[ -v installed[$package] ]] || return 1
  [[ -z $least ]] || dpkg --compare-versions "${installed[$package]#*:}" ge "${least#*:}"
}

on_offer() {
  apt-cache policy "$1" 2>/dev/null | grep Candidate | grep -qv '(none)'
}

# The packages to install: for each requirement that nothing fulfils, the first alternative on offer.
missing() {
  local line alternative wanted
  while read -r line; do
    [[ -n $line ]] || continue
    for alternative in $line; do satisfied "$alternative" && continue 2; done
    wanted=
    for alternative in $line; do
      [[ $alternative == '!'* ]] && continue
      wanted=${alternative%%>=*}
      on_offer "$wanted" && break
    done
    echo "$wanted"
  done <<<"$requirements"
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "deps: no apt here; the packages listed in $0 are expected under this system's names" >&2
  exit 0
fi

look
mapfile -t wanted < <(missing)
((${#wanted[@]} == 0)) && exit 0
satisfied "$nice" || wanted+=("$nice")

sudo=()
if ((EUID != 0)); then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo=(sudo)
  else
    echo "deps: these packages are missing; install them and run again:" >&2
    echo "  sudo apt-get install --no-install-recommends ${wanted[*]}" >&2
    exit 1
  fi
fi
echo "deps: installing ${wanted[*]}"
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -q
look # the package lists may have been empty before
mapfile -t wanted < <(missing)
satisfied "$nice" || wanted+=("$nice")
"${sudo[@]}" apt-get install -y -q --no-install-recommends "${wanted[@]}"
