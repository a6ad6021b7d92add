# Kernels as data inside a program that opens the CUDA driver at run time and links no CUDA library.
#
# usage: dsakit_cuda_image(<target> SYMBOL <name> SOURCE <file.cu> ARCHITECTURES 90a … [INCLUDES <folders>])
# compiles the source for these architectures, with PTX of compute_80 for the others, and links the result as
#   extern "C" const unsigned char <name>[];  extern "C" const std::uint64_t <name>_size;
set(DSAKIT_CUDA_IMAGE_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/cuda_image.S.in)

function(dsakit_cuda_image target)
  cmake_parse_arguments(ARG "" "SYMBOL;SOURCE" "ARCHITECTURES;INCLUDES" ${ARGN})
  list(TRANSFORM ARG_INCLUDES PREPEND -I)
  get_filename_component(name ${ARG_SOURCE} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  set(codes --generate-code=arch=compute_80,code=compute_80)
  foreach(arch IN LISTS ARG_ARCHITECTURES)
    list(APPEND codes --generate-code=arch=compute_${arch},code=sm_${arch})
  endforeach()
  add_custom_command(OUTPUT ${image} DEPENDS ${ARG_SOURCE} DEPFILE ${image}.d VERBATIM
    COMMAND ${CMAKE_CUDA_COMPILER} -ccbin ${CMAKE_CXX_COMPILER} -std=c++20 -O3 --fatbin ${codes}
            -I${PROJECT_SOURCE_DIR} ${ARG_INCLUDES} -Werror=all-warnings -MD -MF ${image}.d -o ${image}
            ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE})
  configure_file(${DSAKIT_CUDA_IMAGE_TEMPLATE} ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S @ONLY)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${name}_image.S PROPERTIES
    OBJECT_DEPENDS ${image} SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
