# dsakit_add_plugin(): builds one backend plugin, libdsakit_<id>.so, with its manifest inside. The same file
# serves the project itself and projects that found an installed dsakit.
#
# dsakit_add_plugin(<id> MANIFEST <manifest.json> SOURCES <files>
#                   [CUDA_ARCHITECTURES 90a 120f …] [HIP_ARCHITECTURES gfx942 …]
#                   [TARGETS <code targets>]        code that the two lists above do not name; default: cpu
#                   [TOOLKIT <text>]                compilers of that code, as in "Clang 22.1.8"
#                   [LIBRARIES <targets>] [INCLUDES <directories>]
#                   [OUTPUT_DIRECTORY <dir>]        default: lib/dsakit/plugins of the build tree
#                   [EVIDENCE <dir>]                records of `dsakit conform --evidence`; default: evidence/<id> of the project
#                   [ALLOW_WARNINGS] [NO_INSTALL])
#
# The target is dsakit_plugin_<id>. Lint findings of the manifest fail the build unless ALLOW_WARNINGS.
# The linked file is read back: it must hold exactly this manifest, use no static TLS and need no driver.
# How each row is known to work is written into the built manifest: docs/evidence.md. With records, and after
# enable_testing(), the test <id>.evidence is skipped if one is no longer about this code and fails if one is damaged.
# Against an installed dsakit, and after enable_testing(), the test <id>.conform judges the plugin by its manifest; it is
# skipped where there is no device for its rows.
include_guard(GLOBAL)
cmake_policy(SET CMP0116 NEW)  # paths of depfiles
include(${CMAKE_CURRENT_LIST_DIR}/DsakitEvidence.cmake)
enable_language(ASM)
set(DSAKIT_CMAKE_DIR ${CMAKE_CURRENT_LIST_DIR})
# Where libdsakit and the CLI look from their own folder, whatever the system calls its library folder.
set(DSAKIT_PLUGIN_INSTALL_DIR lib/dsakit/plugins)

function(_dsakit_commit out)
  set(commit "")
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12
                    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(${out} "${commit}" PARENT_SCOPE)
endfunction()

# The compilers that build a plugin, for inspect: "GNU 12.2.0, NVIDIA 13.0.88".
function(_dsakit_toolkit out cuda hip)
  set(text "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  if(cuda)
    string(APPEND text ", ${CMAKE_CUDA_COMPILER_ID} ${CMAKE_CUDA_COMPILER_VERSION}")
  endif()
  if(hip)
    string(APPEND text ", HIP ${CMAKE_HIP_COMPILER_ID} ${CMAKE_HIP_COMPILER_VERSION}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Rules that turn the manifest into the note's assembly source.
function(_dsakit_embed_manifest target id manifest targets toolkit allow_warnings languages evidence)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.manifest)
  set(json_file ${folder}/manifest.json)
  set(note_file ${folder}/manifest.note)
  set(arguments "")
  foreach(token IN LISTS targets)
    list(APPEND arguments --target ${token})
  endforeach()
  if(allow_warnings)
    list(APPEND arguments --allow-warnings)
  endif()
  _dsakit_commit(commit)
  _dsakit_source_lists(lists ${target} ${folder} "${languages}")
  file(GLOB records CONFIGURE_DEPENDS ${evidence}/*.json)
  foreach(list IN LISTS lists)
    list(APPEND arguments --sources ${list})
  endforeach()
  foreach(record IN LISTS records)
    list(APPEND arguments --record ${record})
  endforeach()
  add_custom_command(OUTPUT ${json_file} ${note_file}
    COMMAND dsakit::manifest_tool embed --manifest ${manifest} --id ${id} --json-out ${json_file}
            --note-out ${note_file} --toolkit "${toolkit}" --sanitizer "${DSAKIT_SANITIZE}"
            --commit "${commit}" --depfile ${json_file}.d ${arguments}
    DEPENDS ${manifest} ${records} ${lists} dsakit::manifest_tool
    DEPFILE ${json_file}.d
    COMMENT "Embedding the manifest of ${id}" VERBATIM)
  configure_file(${DSAKIT_CMAKE_DIR}/plugin_note.S.in ${folder}/note.S @ONLY)
  set_source_files_properties(${folder}/note.S PROPERTIES OBJECT_DEPENDS ${note_file})
  target_sources(${target} PRIVATE ${folder}/note.S ${json_file})
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND dsakit::manifest_tool check --plugin $<TARGET_FILE:${target}> --json ${json_file} VERBATIM)
  if(records)
    _dsakit_evidence_test(${target} ${id} "${records}")
  endif()
endfunction()

# Visibility, TLS and linking as a plugin must have them, whatever the languages.
function(_dsakit_plugin_flags target)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    HIP_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    CUDA_RUNTIME_LIBRARY Static
    LINK_DEPENDS ${DSAKIT_CMAKE_DIR}/plugin.map)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-ftls-model=global-dynamic>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ftls-model=global-dynamic,-fno-gnu-unique>)
  target_link_options(${target} PRIVATE
    LINKER:-z,now LINKER:-z,nodelete LINKER:--exclude-libs,ALL
    LINKER:--version-script,${DSAKIT_CMAKE_DIR}/plugin.map)
  # Clang leaves the sanitizer's functions to the program, so its shared objects have undefined symbols.
  if(NOT (DSAKIT_SANITIZE AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()

function(dsakit_add_plugin id)
  cmake_parse_arguments(ARG "ALLOW_WARNINGS;NO_INSTALL" "MANIFEST;OUTPUT_DIRECTORY;EVIDENCE;TOOLKIT"
                        "SOURCES;CUDA_ARCHITECTURES;HIP_ARCHITECTURES;TARGETS;LIBRARIES;INCLUDES" ${ARGN})
  if(NOT ARG_MANIFEST OR NOT ARG_SOURCES OR ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dsakit_add_plugin(${id}): MANIFEST and SOURCES are needed; unknown: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/dsakit/plugins)
  endif()
  if(NOT ARG_EVIDENCE)
    set(ARG_EVIDENCE ${PROJECT_SOURCE_DIR}/evidence/${id})
  endif()
  get_filename_component(manifest ${ARG_MANIFEST} ABSOLUTE)
  get_filename_component(evidence ${ARG_EVIDENCE} ABSOLUTE)
  set(languages CXX)
  set(target dsakit_plugin_${id})
  add_library(${target} MODULE ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF PREFIX lib OUTPUT_NAME dsakit_${id}
                                             LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
  _dsakit_plugin_flags(${target})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${target} PRIVATE $<TARGET_NAME_IF_EXISTS:dsakit_flags> dsakit::abi ${ARG_LIBRARIES})

  set(targets ${ARG_TARGETS})
  if(ARG_CUDA_ARCHITECTURES)
    list(APPEND languages CUDA)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES OFF)
    foreach(arch IN LISTS ARG_CUDA_ARCHITECTURES)
      list(APPEND targets sm_${arch})
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_${arch},code=sm_${arch}>)
    endforeach()
  endif()
  if(ARG_HIP_ARCHITECTURES)
    list(APPEND languages HIP)
    set_target_properties(${target} PROPERTIES HIP_ARCHITECTURES "${ARG_HIP_ARCHITECTURES}")
    list(APPEND targets ${ARG_HIP_ARCHITECTURES})
  endif()
  if(NOT targets)
    set(targets cpu)
  endif()
  _dsakit_toolkit(toolkit "${ARG_CUDA_ARCHITECTURES}" "${ARG_HIP_ARCHITECTURES}")
  if(ARG_TOOLKIT)
    string(APPEND toolkit ", ${ARG_TOOLKIT}")
  endif()
  _dsakit_embed_manifest(${target} ${id} ${manifest} "${targets}" "${toolkit}" "${ARG_ALLOW_WARNINGS}"
                         "${languages}" ${evidence})
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${target} LIBRARY DESTINATION ${DSAKIT_PLUGIN_INSTALL_DIR})
  endif()
  if(TARGET dsakit::program AND NOT ARG_NO_INSTALL)
    add_test(NAME ${id}.conform COMMAND dsakit::program conform $<TARGET_FILE:${target}>)
    set_tests_properties(${id}.conform PROPERTIES SKIP_RETURN_CODE 3)  # no device for its rows
  endif()
endfunction()
