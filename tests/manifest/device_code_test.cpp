// Offload bundles inside hand-made images, and what lint says where they are not what a manifest
// claims.
#include "manifest/device_code.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "manifest/elf_builder.hpp"
#include "manifest/schema.hpp"

namespace dsakit {
namespace {

using test::ElfBuilder;

constexpr std::size_t kPage = 4096;

std::string number(std::uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// A code object of `bytes` bytes, of which only the header is there.
std::string code_object(std::size_t bytes, Elf64_Half machine = 224) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = machine;
  std::string out(reinterpret_cast<const char*>(&header), sizeof(header));
  out.resize(bytes, '.');
  return out;
}

struct Entry {
  std::string id, code;
};

std::string bundle(const std::vector<Entry>& entries) {
  std::string head = "__CLANG_OFFLOAD_BUNDLE__" + number(entries.size()), body;
  for (const Entry& entry : entries) {
    body.resize((body.size() + 63) / 64 * 64);
    head += number(kPage + body.size()) + number(entry.code.size()) + number(entry.id.size());
    head += entry.id;
    body += entry.code;
  }
  head.resize(kPage);
  return head + body;
}

const std::string kHost = "host-x86_64-unknown-linux-gnu-";
const std::string kGfx = "hipv4-amdgcn-amd-amdhsa--gfx";

// An image with these texts at pages of its one loadable segment.
std::string image(const std::vector<std::string>& pages) {
  ElfBuilder elf;
  std::string tail;
  for (const std::string& text : pages) {
    tail += text;
    tail.resize((tail.size() + kPage - 1) / kPage * kPage);
  }
  elf.segments[0].p_filesz = elf.segments[0].p_memsz = kPage + tail.size();
  std::string bytes = elf.build();
  bytes.resize(kPage);
  return bytes + tail;
}

DeviceCodeList codes_in(const std::string& bytes) {
  const ReadAt read_at = [&](std::uint64_t offset, std::span<std::byte> out) {
    if (offset > bytes.size() || out.size() > bytes.size() - offset) return false;
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return true;
  };
  auto list = read_device_code(read_at, bytes.size(), "image");
  EXPECT_TRUE(list);
  return list ? *list : DeviceCodeList();
}

std::string listing(const DeviceCodeList& list) {
  std::string out;
  for (const DeviceCode& code : list.codes) out += fmt::format("{}:{} ", code.target, code.bytes);
  for (const std::string& problem : list.problems) out += problem + ' ';
  return out;
}

// The text of an image with one bundle that was spoilt.
std::string spoilt(const std::string& text) {
  return listing(codes_in(image({text})));
}

TEST(DeviceCode, OfSeveralBundlesIsSummedByTarget) {
  const std::string first = bundle(
      {{kHost, ""}, {kGfx + "90a:xnack-", code_object(100)}, {kGfx + "942", code_object(200)}});
  const std::string second = bundle({{kHost, ""}, {kGfx + "942:sramecc+", code_object(50 + 64)}});
  EXPECT_EQ(listing(codes_in(image({"", first, "text", second}))), "gfx90a:100 gfx942:314 ");
  EXPECT_EQ(listing(codes_in(image({"nothing"}))), "");
}

TEST(DeviceCode, ThatIsDamagedIsAProblemAndNoTarget) {
  const auto problem = [](const std::string& why) {
    return "the offload bundle at byte 4096: " + why + " ";
  };
  const std::string good = bundle({{kGfx + "942", code_object(100)}});
  EXPECT_EQ(spoilt(good), "gfx942:100 ");
  EXPECT_EQ(spoilt("CCOB" + std::string(60, 'x')),
            problem("it is compressed, so its targets cannot be read"));
  EXPECT_EQ(spoilt(bundle({{kGfx + "942", code_object(100, EM_X86_64)}})),
            problem("what it holds for gfx942 is no code object"));
  EXPECT_EQ(spoilt(bundle({{kGfx + "942", "short"}})),
            problem("what it holds for gfx942 is no code object"));

  std::string far = good;
  far.replace(32, 8, number(1 << 30));
  EXPECT_EQ(spoilt(far), problem("its code for gfx942 leaves the segment"));
  far.replace(32, 8, number(UINT64_MAX));
  EXPECT_EQ(spoilt(far), problem("its code for gfx942 leaves the segment"));

  std::string many = good;
  many.replace(24, 8, number(65));
  EXPECT_EQ(spoilt(many), problem("65 entries, allowed are 1 to 64"));
  many.replace(24, 8, number(0));
  EXPECT_EQ(spoilt(many), problem("0 entries, allowed are 1 to 64"));
  std::string named = good;
  named.replace(48, 8, number(257));
  EXPECT_EQ(spoilt(named), problem("an id of 257 bytes"));
}

TEST(DeviceCode, CutAnywhereIsNeverReadBeyondTheFile) {
  const std::string whole = image({bundle({{kGfx + "942", code_object(100)}})});
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 13) {
    const ReadAt read_at = [&](std::uint64_t offset, std::span<std::byte> out) {
      if (offset > bytes || out.size() > bytes - offset) return false;
      std::memcpy(out.data(), whole.data() + offset, out.size());
      return true;
    };
    EXPECT_FALSE(read_device_code(read_at, bytes, "image")) << bytes;
  }
}

Manifest built(const std::string& targets, const std::string& rows) {
  const std::string json = fmt::format(
      R"({{"schema":1,"id":"x","version":[1,0,0],"abi":{{"min":1,"max":1}},"summary":"s","license":"l",)"
      R"("build":{{"targets":[{}],"toolkit":"t","evidence":{{}}}},"rows":[{}]}})",
      targets, rows);
  const auto parsed = parse_manifest(json, "x.json", ManifestKind::built);
  EXPECT_TRUE(parsed) << render_text(parsed.error());
  return parsed ? parsed->manifest : Manifest();
}

std::string row(const std::string& name, const std::string& arch) {
  return fmt::format(
      R"({{"name":"{}","where":{{"arch":["{}"]}},"rank":1,"provides":{{"kv_layout":"bf16_1152"}}}})",
      name, arch);
}

std::string mismatches(const Manifest& claimed, std::vector<DeviceCode> codes) {
  std::string out;
  for (const Diagnostic& finding : lint_device_code(claimed, {std::move(codes), {}}, "f"))
    out += fmt::format("{} {}\n", code_name(finding.code), headline(finding));
  return out;
}

TEST(LintOfDeviceCode, ComparesTheFileWithItsManifest) {
  const Manifest one = built(R"("gfx942")", row("a", "gfx942"));
  EXPECT_EQ(mismatches(one, {{"gfx942", 1}}), "");
  EXPECT_EQ(
      mismatches(one, {{"gfx942", 1}, {"gfx950", 1}}),
      "W0118 `f` breaks a rule for plugins: it holds code for gfx950, which its manifest does "
      "not name\n");
  EXPECT_EQ(mismatches(one, {}),
            "W0118 `f` breaks a rule for plugins: its manifest names code for gfx942, and it holds "
            "none\n"
            "W0117 row `a` of `f`: it takes gfx942, and the file holds no code for it\n");
  const Manifest two =
      built(R"("gfx942")", row("a", "gfx942") + "," + row("b", "gfx950") + "," + row("c", "cpu"));
  EXPECT_EQ(mismatches(two, {{"gfx942", 1}}),
            "W0117 row `b` of `f`: it takes gfx950, and the file holds no code for it\n");
  EXPECT_EQ(mismatches(built(R"("cpu","sm_90a")", row("c", "sm_90a")), {}), "");
}

TEST(RowsWithoutCode, AreThoseOfAmdGpusAlone) {
  const auto lacks = [](const std::string& arch, const std::vector<std::string>& targets) {
    const Manifest it = built(R"("cpu")", row("a", arch));
    return lacks_code(it, it.rows.front(), targets);
  };
  EXPECT_TRUE(lacks("gfx950", {"gfx942"}));
  EXPECT_FALSE(lacks("gfx942", {"gfx942"}));
  EXPECT_FALSE(lacks("sm_90a", {"cpu"}));
  EXPECT_FALSE(lacks("gfx942\",\"gfx950", {"gfx942"}));
}

}  // namespace
}  // namespace dsakit
