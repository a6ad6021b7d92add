#include "support/fake_plugin.hpp"

#include <elf.h>
#include <stdlib.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "manifest/plugin_file.hpp"

namespace dsakit::test {
namespace {

constexpr Elf64_Word kNoteType = 0x44534101;

template <typename T>
void append(std::string& out, const T& object) {
  out.append(reinterpret_cast<const char*>(&object), sizeof(object));
}

void align(std::string& out, std::size_t to) {
  out.resize((out.size() + to - 1) / to * to, '\0');
}

std::string note_bytes(const std::string& manifest) {
  if (manifest.empty()) return "";
  const std::vector<std::byte> descriptor = encode_note_descriptor(manifest);
  std::string out;
  append(out, Elf64_Nhdr{7, static_cast<Elf64_Word>(descriptor.size()), kNoteType});
  out += std::string("DSAKIT\0\0", 8);
  out.append(reinterpret_cast<const char*>(descriptor.data()), descriptor.size());
  align(out, 4);
  return out;
}

Elf64_Phdr segment(Elf64_Word type, std::size_t offset, std::size_t size, Elf64_Xword alignment) {
  Elf64_Phdr out{};
  out.p_type = type;
  out.p_flags = PF_R;
  out.p_offset = out.p_vaddr = out.p_paddr = offset;
  out.p_filesz = out.p_memsz = size;
  out.p_align = alignment;
  return out;
}

Elf64_Dyn entry(Elf64_Sxword tag, std::size_t value) {
  Elf64_Dyn out{};
  out.d_tag = tag;
  out.d_un.d_val = value;
  return out;
}

// The dynamic section, whose string table starts at `strings_at`; fills `strings`.
std::string dynamic_bytes(const FakePlugin& plugin, std::size_t strings_at, std::string& strings) {
  strings.assign(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add_string = [&](Elf64_Sxword tag, const std::string& text) {
    if (text.empty()) return;
    entries.push_back(entry(tag, strings.size()));
    strings += text + '\0';
  };
  for (const std::string& library : plugin.needed) add_string(DT_NEEDED, library);
  add_string(DT_SONAME, plugin.soname);
  add_string(DT_RUNPATH, plugin.runpath);
  if (plugin.static_tls) entries.push_back(entry(DT_FLAGS, DF_STATIC_TLS));
  entries.push_back(entry(DT_STRTAB, strings_at));
  entries.push_back(entry(DT_STRSZ, strings.size()));
  entries.push_back(entry(DT_NULL, 0));
  std::string out;
  for (const Elf64_Dyn& one : entries) append(out, one);
  return out;
}

Elf64_Ehdr header() {
  Elf64_Ehdr out{};
  std::memcpy(out.e_ident, ELFMAG, SELFMAG);
  out.e_ident[EI_CLASS] = ELFCLASS64;
  out.e_ident[EI_DATA] = ELFDATA2LSB;
  out.e_ident[EI_VERSION] = EV_CURRENT;
  out.e_type = ET_DYN;
#if defined(__aarch64__)
  out.e_machine = EM_AARCH64;
#else
  out.e_machine = EM_X86_64;
#endif
  out.e_version = EV_CURRENT;
  out.e_phoff = sizeof(Elf64_Ehdr);
  out.e_ehsize = sizeof(Elf64_Ehdr);
  out.e_phentsize = sizeof(Elf64_Phdr);
  out.e_phnum = 3;
  return out;
}

}  // namespace

std::string plugin_bytes(const FakePlugin& plugin) {
  const std::string note = note_bytes(plugin.manifest);
  const std::size_t note_at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
  const std::size_t dynamic_at = (note_at + note.size() + 7) / 8 * 8;
  std::string strings;
  const std::size_t dynamic_size = dynamic_bytes(plugin, 0, strings).size();
  const std::size_t strings_at = dynamic_at + dynamic_size;
  const std::string dynamic = dynamic_bytes(plugin, strings_at, strings);
  const std::size_t size = strings_at + strings.size();

  std::string out;
  append(out, header());
  append(out, segment(PT_LOAD, 0, size, 4096));
  append(out, segment(PT_NOTE, note_at, note.size(), 4));
  append(out, segment(PT_DYNAMIC, dynamic_at, dynamic.size(), 8));
  out += note;
  align(out, 8);
  return out + dynamic + strings;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string small_manifest(const std::string& id, const std::string& arch,
                           const std::string& platform) {
  return R"({"schema":1,"id":")" + id +
         R"(","version":[1,0,0],"abi":{"min":1,"max":1},"summary":"a test backend","license":"Apache-2.0",)"
         R"("common":{"platform":[")" +
         platform + R"("],"arch":[")" + arch +
         R"("],"phase":["prefill","decode"],"model_family":"*","kv_dtype":["bf16"],"page_size":"*",)"
         R"("heads":"*","topk":"*","d_qk":"*","d_v":"*"},)"
         R"("rows":[{"name":"only","where":{},"rank":100,"provides":{"kv_layout":"bf16_1152"}}]})";
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "dsakit_test_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary folder");
  path_ = std::filesystem::canonical(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace dsakit::test
