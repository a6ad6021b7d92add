# Finds a clang that compiles device code for AMD GPUs. Sets DSAKIT_HAVE_HIP, DSAKIT_HIP_TARGETS (what is compiled for) and
# DSAKIT_HIP_TOOLKIT ("Clang 22.1.8"); without one the HIP plugins are skipped, with one line that says so.
#
# dsakit_hip_bundle(<target> SYMBOL <name> SOURCE <file.hip> [ARCHITECTURES …] [INCLUDES <folders>])
#   compiles device code alone into one offload bundle (default: for DSAKIT_HIP_TARGETS) and links that into a library as
#     extern "C" const unsigned char <name>[];  extern "C" const char <name>_targets[];  // "gfx942, gfx950"
#   in section .hip_fatbin, where tools for bundles look.
#
# The sources use builtins of the compiler alone: no HIP header, no device library, no ROCm is needed to build, and the
# HIP runtime is opened when the plugin runs. Code object version 5: older runtimes do not read version 6, which new compilers
# write by themselves. Multiply-adds are not fused: stored rows have the bits of the reference codec.
# Sanitized builds leave the kernels out unless they are asked for.
set(dsakit_hip_default ON)
if(DSAKIT_SANITIZE)
  set(dsakit_hip_default OFF)
endif()
option(DSAKIT_HIP "Build the HIP kernels if a clang for AMD GPUs is found" ${dsakit_hip_default})
set(DSAKIT_HIP_ARCHITECTURES gfx90a gfx942 gfx950 CACHE STRING "AMD GPUs to compile for: gfx90a, gfx942, gfx950")
set(DSAKIT_HIP_MINIMUM 19)
set(DSAKIT_HIP_FLAGS -nogpulib -nogpuinc --cuda-device-only -mcode-object-version=5 -std=c++20 -O3 -ffp-contract=off
    CACHE INTERNAL "How device code is compiled")
set(DSAKIT_HIP_IMAGE_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/hip_image.S.in)
set(DSAKIT_HAVE_HIP OFF)
set(DSAKIT_HIP_TARGETS "")

# Sets `out` to the compiler's version, empty if it is no clang.
function(_dsakit_hip_version out compiler)
  execute_process(COMMAND ${compiler} --version OUTPUT_VARIABLE text ERROR_QUIET)
  set(version "")
  if(text MATCHES "clang version ([0-9]+[.0-9]*)")
    set(version ${CMAKE_MATCH_1})
  endif()
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

# Whether the compiler, its linker and its bundler make device code for `arch`; the last line of what it said, if not.
function(_dsakit_hip_compiles out why arch)
  set(folder ${CMAKE_BINARY_DIR}/CMakeFiles/dsakit_hip)
  file(WRITE ${folder}/probe.hip
       "extern \"C\" __attribute__((global)) void probe(int* out) { *out = __builtin_amdgcn_workitem_id_x(); }\n")
  execute_process(COMMAND ${DSAKIT_HIP_COMPILER} -x hip ${DSAKIT_HIP_FLAGS} --offload-arch=${arch} -c probe.hip -o probe.bundle
                  WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  if(status EQUAL 0)
    set(${out} ON PARENT_SCOPE)
  else()
    string(REGEX REPLACE "\n.*" "" said "${said}")
    set(${out} OFF PARENT_SCOPE)
    set(${why} "${said}" PARENT_SCOPE)
  endif()
endfunction()

function(_dsakit_hip_find)
  if(NOT DSAKIT_HIP)
    dsakit_skip_part(hip "DSAKIT_HIP is off")
    return()
  endif()
  find_program(DSAKIT_HIP_COMPILER
               NAMES amdclang++ clang++-23 clang++-22 clang++-21 clang++-20 clang++-19 clang++ HINTS $ENV{ROCM_PATH} /opt/rocm PATH_SUFFIXES llvm/bin bin
               DOC "clang++ that compiles for AMD GPUs")
  if(NOT DSAKIT_HIP_COMPILER)
    dsakit_skip_part(hip "no clang++ found (install clang-22, lld-22 and clang-tools-22, or set DSAKIT_HIP_COMPILER)")
    return()
  endif()
  _dsakit_hip_version(version ${DSAKIT_HIP_COMPILER})
  if(NOT version OR version VERSION_LESS DSAKIT_HIP_MINIMUM)
    dsakit_skip_part(hip "${DSAKIT_HIP_COMPILER} is not clang ${DSAKIT_HIP_MINIMUM} or newer (install clang-22, lld-22 and clang-tools-22)")
    return()
  endif()
  set(targets "")
  set(reason "DSAKIT_HIP_ARCHITECTURES is empty")
  foreach(arch IN LISTS DSAKIT_HIP_ARCHITECTURES)
    _dsakit_hip_compiles(compiles reason ${arch})
    if(compiles)
      list(APPEND targets ${arch})
    else()
      message(STATUS "HIP: clang ${version} makes no code for ${arch}: ${reason}")
    endif()
  endforeach()
  if(NOT targets)
    dsakit_skip_part(hip "clang ${version} compiles for none of ${DSAKIT_HIP_ARCHITECTURES}: ${reason}")
    return()
  endif()
  message(STATUS "HIP plugins: built with clang ${version} for ${targets}")
  set(DSAKIT_HAVE_HIP ON PARENT_SCOPE)
  set(DSAKIT_HIP_TARGETS ${targets} PARENT_SCOPE)
  set(DSAKIT_HIP_TOOLKIT "Clang ${version}" PARENT_SCOPE)
endfunction()
_dsakit_hip_find()

function(dsakit_hip_bundle target)
  cmake_parse_arguments(ARG "" "SYMBOL;SOURCE" "ARCHITECTURES;INCLUDES" ${ARGN})
  if(NOT ARG_ARCHITECTURES)
    set(ARG_ARCHITECTURES ${DSAKIT_HIP_TARGETS})
  endif()
  get_filename_component(source ${ARG_SOURCE} ABSOLUTE)
  get_filename_component(name ${ARG_SOURCE} NAME_WE)
  set(bundle ${CMAKE_CURRENT_BINARY_DIR}/${name}.bundle)
  set(options ${DSAKIT_HIP_FLAGS})
  foreach(arch IN LISTS ARG_ARCHITECTURES)
    list(APPEND options --offload-arch=${arch})
  endforeach()
  set(warnings -Wall -Wextra -Wconversion -Wshadow)
  if(DSAKIT_WERROR)
    list(APPEND warnings -Werror)
  endif()
  list(TRANSFORM ARG_INCLUDES PREPEND -I)
  # The driver writes no depfile for device code alone; the compiler behind it does.
  add_custom_command(OUTPUT ${bundle} DEPENDS ${source} DEPFILE ${bundle}.d VERBATIM
    COMMENT "HIP ${name} for ${ARG_ARCHITECTURES}"
    COMMAND ${DSAKIT_HIP_COMPILER} -x hip ${options} ${warnings} -I${PROJECT_SOURCE_DIR} ${ARG_INCLUDES}
            -Xclang -dependency-file -Xclang ${bundle}.d -Xclang -MT -Xclang ${bundle} -c ${source} -o ${bundle})
  list(JOIN ARG_ARCHITECTURES ", " targets)
  configure_file(${DSAKIT_HIP_IMAGE_TEMPLATE} ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S @ONLY)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S PROPERTIES
    OBJECT_DEPENDS ${bundle} SKIP_UNITY_BUILD_INCLUSION ON)
  # Part of the target, so that the digest of its sources covers the device code.
  set_source_files_properties(${source} PROPERTIES HEADER_FILE_ONLY ON)
  target_sources(${target} PRIVATE ${source} ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S)
  set_property(TARGET ${target} PROPERTY DSAKIT_HIP_OPTIONS ${options})
endfunction()
