# Text files as data inside a program, so that a help page is never lost on the way.
#
# usage: dsakit_embed(<target> FUNCTION <name> BASE <dir> FILES <files below dir>)
# adds a source file to <target> that defines
#   std::span<const dsakit::EmbeddedFile> dsakit::<name>();     (tools/dsakit/embedded.hpp)
# When run as a script (-P) it writes that source file.
if(CMAKE_SCRIPT_MODE_FILE)
  set(entries "")
  string(REPLACE "," ";" FILES "${FILES}")
  foreach(file IN LISTS FILES)
    file(READ "${BASE}/${file}" text)
    string(APPEND entries "    {\"${file}\", R\"dsakit(${text})dsakit\"},\n")
  endforeach()
  file(WRITE "${OUTPUT}" "#include \"embedded.hpp\"\n\nnamespace dsakit {\n"
       "std::span<const EmbeddedFile> ${FUNCTION}() {\n  static constexpr EmbeddedFile kFiles[] = {\n"
       "${entries}  };\n  return kFiles;\n}\n}  // namespace dsakit\n")
  return()
endif()

set(DSAKIT_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(dsakit_embed target)
  cmake_parse_arguments(ARG "" "FUNCTION;BASE" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  list(TRANSFORM ARG_FILES PREPEND ${ARG_BASE}/ OUTPUT_VARIABLE inputs)
  list(JOIN ARG_FILES "," files)
  add_custom_command(OUTPUT ${output} DEPENDS ${inputs} ${DSAKIT_EMBED_SCRIPT} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${ARG_FUNCTION} -DBASE=${ARG_BASE}
            "-DFILES=${files}" -P ${DSAKIT_EMBED_SCRIPT})
  target_sources(${target} PRIVATE ${output})
endfunction()
