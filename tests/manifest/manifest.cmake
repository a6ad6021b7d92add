dsakit_test(manifest UNIT DEPS dsakit_manifest
            DEFINITIONS "TEST_PLUGIN=\"$<TARGET_FILE:dsakit_plugin_tiny_cuda>\""
                        "TEST_PLUGIN_DIR=\"${DSAKIT_TEST_PLUGIN_DIR}\""
                        "MANIFEST_TOOL=\"$<TARGET_FILE:dsakit_manifest_tool>\"")
add_dependencies(manifest_test dsakit_plugin_tiny_cpu dsakit_plugin_tiny_cuda dsakit_plugin_acme.tiny dsakit_manifest_tool)
