# Compiler settings of every target of the project, and its options. Applied through the interface target
# dsakit_flags, so that nothing leaks into projects that include this one.
option(DSAKIT_BUILD_TESTS "Build the tests" ON)
option(DSAKIT_BUILD_BENCH "Build the benchmarks" ON)
option(DSAKIT_BUILD_FUZZERS "Build the fuzz targets (clang++)" OFF)
option(DSAKIT_WERROR "Treat warnings as errors" ON)
set(DSAKIT_SANITIZE "" CACHE STRING "Sanitizers for every target, such as address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(DSAKIT_CCACHE ccache)
if(DSAKIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${DSAKIT_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DSAKIT_CCACHE})
endif()

add_library(dsakit_flags INTERFACE)
target_compile_options(dsakit_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor>
  # GCC 12 reports std::string assignments under -Wrestrict that cannot overlap.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique -Wno-restrict>
  # In a unity build one file's using-declarations are in the way of the next one's names.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>:-Wno-shadow>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${DSAKIT_WERROR}>>:-Werror>)
target_compile_definitions(dsakit_flags INTERFACE $<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>)
if(DSAKIT_SANITIZE)
  target_compile_options(dsakit_flags INTERFACE -fsanitize=${DSAKIT_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(dsakit_flags INTERFACE -fsanitize=${DSAKIT_SANITIZE})
  target_compile_definitions(dsakit_flags INTERFACE DSAKIT_SANITIZED)
  # Unoptimised programs are large, and the linker of their compiler is several times faster. Plugins keep the usual one.
  find_program(DSAKIT_LLD ld.lld)
  if(DSAKIT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_link_options(dsakit_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fuse-ld=lld>)
  endif()
  # AddressSanitizer stops at a null pointer by itself, and these checks are a third of the code.
  if(DSAKIT_SANITIZE MATCHES "address.*undefined")
    target_compile_options(dsakit_flags INTERFACE -fno-sanitize=null,vptr,object-size)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      target_compile_options(dsakit_flags INTERFACE
                             -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/instrumented/ubsan.ignore)
    endif()
  endif()
endif()

# usage: dsakit_numeric(<target>)     arithmetic over tensors: optimised where the rest is built for a fast build
function(dsakit_numeric target)
  if(DSAKIT_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-O1>)
  else()
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:Release>>:-O3>)
  endif()
endfunction()

# usage: dsakit_skip_part(<platform> <why>)     says in one line that a part is not built; `dsakit doctor` repeats it
function(dsakit_skip_part platform why)
  message(STATUS "Plugins for ${platform}: skipped, ${why}")
  set_property(GLOBAL APPEND PROPERTY DSAKIT_SKIPPED_PARTS "${platform}: ${why}")
endfunction()
