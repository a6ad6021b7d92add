# Kernels as data inside a program that opens the CUDA driver at run time and links no CUDA library.
#
# usage: dsakit_cuda_image(<target> <symbol template .S.in> SOURCE <file.cu> ARCHITECTURES 90a …)
# compiles the source for these architectures, with PTX of compute_80 for the others, and links the result.
function(dsakit_cuda_image target template)
  cmake_parse_arguments(ARG "" "SOURCE" "ARCHITECTURES" ${ARGN})
  get_filename_component(name ${ARG_SOURCE} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  set(codes --generate-code=arch=compute_80,code=compute_80)
  foreach(arch IN LISTS ARG_ARCHITECTURES)
    list(APPEND codes --generate-code=arch=compute_${arch},code=sm_${arch})
  endforeach()
  add_custom_command(OUTPUT ${image} DEPENDS ${ARG_SOURCE} DEPFILE ${image}.d VERBATIM
    COMMAND ${CMAKE_CUDA_COMPILER} -ccbin ${CMAKE_CXX_COMPILER} -std=c++20 -O3 --fatbin ${codes}
            -I${PROJECT_SOURCE_DIR} -Werror=all-warnings -MD -MF ${image}.d -o ${image}
            ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE})
  configure_file(${template} ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S @ONLY)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S PROPERTIES
    OBJECT_DEPENDS ${image} SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
