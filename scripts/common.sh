# What the scripts share; sourced from the repository's root. Sets `jobs` and defines allow(), configure()
# and build().

jobs=$(nproc)
export CCACHE_DEPEND=1  # what a file includes is known from its compilation: no preprocessor run before it

# allow "<words>" "$@": ends the script unless each argument is one of the words. --help prints what heads the script.
allow() {
  local known=" $1 " word
  shift
  for word in "$@"; do
    if [[ $word == --help || $word == -h ]]; then
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "scripts/${0##*/}"
      exit 0
    fi
    if [[ -z $word || $word == *' '* || $known != *" $word "* ]]; then
      echo "${0##*/}: \`$word\` is not known" >&2
      sed -n 's/^# \(usage: .*\)/\1/p' "scripts/${0##*/}" >&2
      exit 2
    fi
  done
}

# Configures build/<preset> unless its cache is newer than the presets; later changes are noticed by the build.
configure() {
  local preset=$1 cache=build/$1/CMakeCache.txt
  if [[ ! -f build/$preset/build.ninja || CMakePresets.json -nt $cache ]]; then
    mkdir -p build
    cmake --preset "$preset" >"build/configure-$preset.log" 2>&1 || {
      cat "build/configure-$preset.log"
      return 1
    }
    touch "$cache"
  fi
}

# Builds targets of a preset; quiet unless something is wrong.
build() {
  local preset=$1
  shift
  configure "$preset" || return 1
  NINJA_STATUS="[$preset %f/%t] " ninja -C "build/$preset" -j "$jobs" --quiet "$@"
}
