#include "plugins_hip/code_object.hpp"

#include <elf.h>

#include <cstring>

#include <nlohmann/json.hpp>

namespace dsakit::test {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint32_t kMetadataNote = 32;  // NT_AMDGPU_METADATA

template <class T>
T at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::uint64_t round_up(std::uint64_t value) {
  return (value + 3) / 4 * 4;
}

// The descriptor of the metadata note in a PT_NOTE segment.
std::string_view metadata_in(std::string_view notes) {
  for (std::uint64_t offset = 0; offset + sizeof(Elf64_Nhdr) <= notes.size();) {
    const auto note = at<Elf64_Nhdr>(notes, offset);
    const std::uint64_t name = offset + sizeof(note);
    const std::uint64_t text = name + round_up(note.n_namesz);
    if (note.n_type == kMetadataNote && notes.substr(name).starts_with("AMDGPU"))
      return notes.substr(text, note.n_descsz);
    offset = text + round_up(note.n_descsz);
  }
  return {};
}

KernelFacts facts_of(const json& kernel) {
  const auto number = [&](const char* key) { return kernel.value(key, std::uint64_t{0}); };
  KernelFacts facts;
  for (const json& argument : kernel.value(".args", json::array())) {
    facts.arguments.push_back({argument.value(".offset", std::uint64_t{0}),
                               argument.value(".size", std::uint64_t{0}),
                               argument.value(".value_kind", "")});
  }
  facts.argument_bytes = number(".kernarg_segment_size");
  facts.argument_align = number(".kernarg_segment_align");
  facts.lds_bytes = number(".group_segment_fixed_size");
  facts.private_bytes = number(".private_segment_fixed_size");
  facts.most_threads = number(".max_flat_workgroup_size");
  facts.wave = number(".wavefront_size");
  facts.vgprs = number(".vgpr_count");
  facts.agprs = number(".agpr_count");
  facts.sgprs = number(".sgpr_count");
  facts.vgpr_spills = number(".vgpr_spill_count");
  facts.sgpr_spills = number(".sgpr_spill_count");
  facts.dynamic_stack = kernel.value(".uses_dynamic_stack", false);
  return facts;
}

}  // namespace

std::string_view code_object(const void* bundle, std::string_view target) {
  const char* const start = static_cast<const char*>(bundle);
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) return {};
  const char* place = start + kMagic.size();
  const auto number = [&] {
    std::uint64_t value = 0;
    std::memcpy(&value, place, sizeof(value));
    place += sizeof(value);
    return value;
  };
  for (std::uint64_t left = number(); left > 0; --left) {
    const std::uint64_t offset = number(), bytes = number(), length = number();
    const std::string_view id(place, length);
    place += length;
    if (id.ends_with("--" + std::string(target))) return {start + offset, bytes};
  }
  return {};
}

std::map<std::string, KernelFacts> kernels_of(std::string_view code_object) {
  std::map<std::string, KernelFacts> out;
  const auto header = at<Elf64_Ehdr>(code_object, 0);
  for (int i = 0; i < header.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(
        code_object, header.e_phoff + static_cast<std::uint64_t>(i) * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NOTE || segment.p_offset > code_object.size()) continue;
    const std::string_view text =
        metadata_in(code_object.substr(segment.p_offset, segment.p_filesz));
    if (text.empty()) continue;
    const json metadata = json::from_msgpack(text.begin(), text.end(), true, false);
    if (metadata.is_discarded()) continue;
    for (const json& kernel : metadata.value("amdhsa.kernels", json::array()))
      out[kernel.value(".name", "")] = facts_of(kernel);
  }
  return out;
}

}  // namespace dsakit::test
