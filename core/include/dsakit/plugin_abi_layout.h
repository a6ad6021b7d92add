/* Offsets of every field of plugin_abi.h, which includes this file. The layout is frozen on 64-bit
 * machines: a line here that no longer compiles is a change that breaks every plugin already built.
 * Fields are only appended. */
#ifndef DSAKIT_PLUGIN_ABI_LAYOUT_H
#define DSAKIT_PLUGIN_ABI_LAYOUT_H

#ifdef __cplusplus
#define DSAKIT_ABI_ASSERT(expression) static_assert(expression, "the plugin ABI is frozen")
#else
#define DSAKIT_ABI_ASSERT(expression) _Static_assert(expression, "the plugin ABI is frozen")
#endif
#define DSAKIT_ABI_AT(type, field, offset) DSAKIT_ABI_ASSERT(offsetof(type, field) == (offset))
DSAKIT_ABI_ASSERT(sizeof(void*) == 8 && sizeof(float) == 4);
DSAKIT_ABI_ASSERT(sizeof(DLTensor) == 48);
DSAKIT_ABI_AT(dsakit_error, size, 0);
DSAKIT_ABI_AT(dsakit_error, code, 4);
DSAKIT_ABI_AT(dsakit_error, domain, 8);
DSAKIT_ABI_AT(dsakit_error, text, 12);
DSAKIT_ABI_ASSERT(sizeof(dsakit_error) == 524);
DSAKIT_ABI_AT(dsakit_host, size, 0);
DSAKIT_ABI_AT(dsakit_host, abi_min, 4);
DSAKIT_ABI_AT(dsakit_host, abi_max, 8);
DSAKIT_ABI_AT(dsakit_host, reserved0, 12);
DSAKIT_ABI_AT(dsakit_host, name, 16);
DSAKIT_ABI_AT(dsakit_host, log, 24);
DSAKIT_ABI_AT(dsakit_host, log_context, 32);
DSAKIT_ABI_AT(dsakit_host, error, 40);
DSAKIT_ABI_ASSERT(sizeof(dsakit_host) == 48);
DSAKIT_ABI_AT(dsakit_dim, name, 0);
DSAKIT_ABI_AT(dsakit_dim, value, 8);
DSAKIT_ABI_ASSERT(sizeof(dsakit_dim) == 16);
DSAKIT_ABI_AT(dsakit_config, size, 0);
DSAKIT_ABI_AT(dsakit_config, device_type, 4);
DSAKIT_ABI_AT(dsakit_config, device_id, 8);
DSAKIT_ABI_AT(dsakit_config, sm_count, 12);
DSAKIT_ABI_AT(dsakit_config, row, 16);
DSAKIT_ABI_AT(dsakit_config, phase, 24);
DSAKIT_ABI_AT(dsakit_config, model_family, 32);
DSAKIT_ABI_AT(dsakit_config, kv_layout, 40);
DSAKIT_ABI_AT(dsakit_config, kv_scale, 48);
DSAKIT_ABI_AT(dsakit_config, index_mode, 56);
DSAKIT_ABI_AT(dsakit_config, invalid_index, 64);
DSAKIT_ABI_AT(dsakit_config, q_dtype, 72);
DSAKIT_ABI_AT(dsakit_config, out_dtype, 80);
DSAKIT_ABI_AT(dsakit_config, lse, 88);
DSAKIT_ABI_AT(dsakit_config, lse_sink, 96);
DSAKIT_ABI_AT(dsakit_config, lse_empty, 104);
DSAKIT_ABI_AT(dsakit_config, compute, 112);
DSAKIT_ABI_AT(dsakit_config, features, 120);
DSAKIT_ABI_AT(dsakit_config, feature_count, 128);
DSAKIT_ABI_AT(dsakit_config, dims, 136);
DSAKIT_ABI_AT(dsakit_config, dim_count, 144);
DSAKIT_ABI_AT(dsakit_config, heads, 152);
DSAKIT_ABI_AT(dsakit_config, d_qk, 160);
DSAKIT_ABI_AT(dsakit_config, d_v, 168);
DSAKIT_ABI_AT(dsakit_config, topk, 176);
DSAKIT_ABI_AT(dsakit_config, topk2, 184);
DSAKIT_ABI_AT(dsakit_config, page_size, 192);
DSAKIT_ABI_AT(dsakit_config, page_size2, 200);
DSAKIT_ABI_AT(dsakit_config, index_kpool, 208);
DSAKIT_ABI_AT(dsakit_config, max_tokens, 216);
DSAKIT_ABI_ASSERT(sizeof(dsakit_config) == 224);
DSAKIT_ABI_AT(dsakit_kv_cache, size, 0);
DSAKIT_ABI_AT(dsakit_kv_cache, reserved0, 4);
DSAKIT_ABI_AT(dsakit_kv_cache, data, 8);
DSAKIT_ABI_AT(dsakit_kv_cache, scale, 16);
DSAKIT_ABI_ASSERT(sizeof(dsakit_kv_cache) == 24);
DSAKIT_ABI_AT(dsakit_run_args, size, 0);
DSAKIT_ABI_AT(dsakit_run_args, sm_scale, 4);
DSAKIT_ABI_AT(dsakit_run_args, stream, 8);
DSAKIT_ABI_AT(dsakit_run_args, q, 16);
DSAKIT_ABI_AT(dsakit_run_args, q_scale, 24);
DSAKIT_ABI_AT(dsakit_run_args, kv, 32);
DSAKIT_ABI_AT(dsakit_run_args, indices, 40);
DSAKIT_ABI_AT(dsakit_run_args, indptr, 48);
DSAKIT_ABI_AT(dsakit_run_args, topk_length, 56);
DSAKIT_ABI_AT(dsakit_run_args, kv2, 64);
DSAKIT_ABI_AT(dsakit_run_args, indices2, 72);
DSAKIT_ABI_AT(dsakit_run_args, indptr2, 80);
DSAKIT_ABI_AT(dsakit_run_args, topk_length2, 88);
DSAKIT_ABI_AT(dsakit_run_args, attn_sink, 96);
DSAKIT_ABI_AT(dsakit_run_args, out, 104);
DSAKIT_ABI_AT(dsakit_run_args, lse, 112);
DSAKIT_ABI_AT(dsakit_run_args, max_logits, 120);
DSAKIT_ABI_AT(dsakit_run_args, workspace, 128);
DSAKIT_ABI_AT(dsakit_run_args, workspace_size, 136);
DSAKIT_ABI_ASSERT(sizeof(dsakit_run_args) == 144);
DSAKIT_ABI_AT(dsakit_workspace, size, 0);
DSAKIT_ABI_AT(dsakit_workspace, alignment, 4);
DSAKIT_ABI_AT(dsakit_workspace, bytes, 8);
DSAKIT_ABI_AT(dsakit_workspace, zero_bytes, 16);
DSAKIT_ABI_ASSERT(sizeof(dsakit_workspace) == 24);
DSAKIT_ABI_AT(dsakit_kv_args, size, 0);
DSAKIT_ABI_AT(dsakit_kv_args, reserved0, 4);
DSAKIT_ABI_AT(dsakit_kv_args, stream, 8);
DSAKIT_ABI_AT(dsakit_kv_args, kv, 16);
DSAKIT_ABI_AT(dsakit_kv_args, slots, 24);
DSAKIT_ABI_AT(dsakit_kv_args, rows, 32);
DSAKIT_ABI_ASSERT(sizeof(dsakit_kv_args) == 40);
DSAKIT_ABI_AT(dsakit_plugin, size, 0);
DSAKIT_ABI_AT(dsakit_plugin, abi, 4);
DSAKIT_ABI_AT(dsakit_plugin, id, 8);
DSAKIT_ABI_AT(dsakit_plugin, version, 16);
DSAKIT_ABI_AT(dsakit_plugin, reserved0, 28);
DSAKIT_ABI_AT(dsakit_plugin, manifest, 32);
DSAKIT_ABI_AT(dsakit_plugin, manifest_size, 40);
DSAKIT_ABI_AT(dsakit_plugin, probe, 48);
DSAKIT_ABI_AT(dsakit_plugin, create, 56);
DSAKIT_ABI_AT(dsakit_plugin, workspace, 64);
DSAKIT_ABI_AT(dsakit_plugin, prepare, 72);
DSAKIT_ABI_AT(dsakit_plugin, run, 80);
DSAKIT_ABI_AT(dsakit_plugin, destroy, 88);
DSAKIT_ABI_AT(dsakit_plugin, kv_append, 96);
DSAKIT_ABI_AT(dsakit_plugin, kv_dequant, 104);
DSAKIT_ABI_AT(dsakit_plugin, extension, 112);
DSAKIT_ABI_ASSERT(sizeof(dsakit_plugin) == 120);
#undef DSAKIT_ABI_AT
#undef DSAKIT_ABI_ASSERT

#endif
