# Finds a CUDA toolkit. Sets DSAKIT_HAVE_CUDA; without one the CUDA plugins are skipped, with one line that says so.
#
# dsakit_cuda_sources(<target> <architectures>)   flags of a target's .cu files: strict warnings, no spills, code for
#                                                 exactly these architectures (90a 120f …)
# Sanitized builds leave the kernels out unless they are asked for.
set(dsakit_cuda_default ON)
if(DSAKIT_SANITIZE)
  set(dsakit_cuda_default OFF)
endif()
option(DSAKIT_CUDA "Build the CUDA kernels if a toolkit is found" ${dsakit_cuda_default})
include(${CMAKE_CURRENT_LIST_DIR}/DsakitCudaArchitectures.cmake)
set(DSAKIT_CUDA_MINIMUM 12.8)
set(DSAKIT_HAVE_CUDA OFF)

if(DSAKIT_CUDA)
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)  # each target names its own
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS DSAKIT_CUDA_MINIMUM)
      dsakit_skip_part(cuda "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is older than ${DSAKIT_CUDA_MINIMUM}")
    elseif(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
      dsakit_skip_part(cuda "CUDA ${CMAKE_CUDA_COMPILER_VERSION} has no static runtime library here")
    else()
      set(DSAKIT_HAVE_CUDA ON)
      message(STATUS "CUDA plugins: built with CUDA ${CMAKE_CUDA_COMPILER_VERSION}")
    endif()
  else()
    dsakit_skip_part(cuda "no CUDA compiler found (set CUDACXX or add nvcc to PATH)")
  endif()
else()
  dsakit_skip_part(cuda "DSAKIT_CUDA is off")
endif()

# CMake 3.25 knows no C++20 flag of newer toolkits.
if(DSAKIT_HAVE_CUDA AND NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  list(APPEND CMAKE_CUDA_COMPILE_FEATURES cuda_std_20)
endif()

function(dsakit_cuda_sources target)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
    CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
  foreach(arch IN LISTS ARGN)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${arch},code=sm_${arch}>)
  endforeach()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-O3 -lineinfo -Xcompiler=-Wall,-Wextra,-ftls-model=global-dynamic,-fno-gnu-unique>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=--warn-on-spills,--warn-on-local-memory-usage>
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${DSAKIT_WERROR}>>:-Werror=all-warnings>)
endfunction()
