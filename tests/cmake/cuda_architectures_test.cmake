# Which architectures dsakit_cuda_choose() takes. usage: cmake -P
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/DsakitCudaArchitectures.cmake)

if(DEFINED ASKED)  # the part of expect_refused() that stops
  set(DSAKIT_CUDA_ARCHITECTURES "${ASKED}")
  dsakit_cuda_choose(chosen ALWAYS 120f FROM 80 86 89 90 100f 110 120f)
  return()
endif()

# A stand-in for nvidia-smi that knows these GPUs.
function(pretend gpus)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/pretended_nvidia_smi)
  list(JOIN gpus "\\n" lines)
  file(WRITE ${program} "#!/bin/sh\nprintf '${lines}\\n'\n")
  file(CHMOD ${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(DSAKIT_NVIDIA_SMI ${program} CACHE FILEPATH "" FORCE)
endfunction()

function(expect gpus asked wanted)
  pretend("${gpus}")
  set(DSAKIT_CUDA_ARCHITECTURES ${asked})
  dsakit_cuda_choose(chosen ALWAYS 120f FROM 80 86 89 90 100f 110 120f)
  if(NOT chosen STREQUAL wanted)
    message(SEND_ERROR "'${asked}' with the GPUs '${gpus}': chose '${chosen}', expected '${wanted}'")
  endif()
endfunction()

function(expect_refused asked text)
  execute_process(COMMAND ${CMAKE_COMMAND} "-DASKED=${asked}" -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
                  RESULT_VARIABLE status ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  string(FIND "${said}" "${text}" at)
  if(status EQUAL 0 OR at LESS 0)
    message(SEND_ERROR "'${asked}': answered ${status}, '${said}', expected '${text}'")
  endif()
endfunction()

expect("" here "120f")
expect("9.0" here "90;120f")
expect("9.0;9.0;8.0" here "80;90;120f")
expect("8.7" here "86;120f")       # code of an older minor version runs
expect("10.3" here "100f;120f")
expect("12.1" here "120f")
expect("7.5" here "120f")          # nothing for it
expect("9.0" all "80;86;89;90;100f;110;120f")
expect("9.0" "120f;80" "80;120f")  # as asked, in the order of the kernels

expect_refused("" "DSAKIT_CUDA_ARCHITECTURES is empty: give all, here, or a list of 80, 86")
foreach(wrong IN ITEMS 90a 75 80,90 native ALL -1)
  expect_refused("${wrong}" "`${wrong}` is not known: give all, here, or a list of 80, 86")
endforeach()
expect_refused("80;all" "`all` is not known: give all, here, or a list of 80, 86")
