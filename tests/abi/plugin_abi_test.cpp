// Compares the layout of plugin_abi.h with docs/abi/v1.txt. Completeness is checked by arithmetic:
// the listed fields of a struct must follow each other without a gap and fill it, so none can be
// forgotten.
#include "dsakit/plugin_abi.h"

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <typeinfo>
#include <vector>

namespace {

template <class T>
std::string type_name() {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status), &std::free);
  return text.get();
}

struct FieldRow {
  std::size_t offset, size;
  std::string type, name;
};

struct StructRow {
  std::string name;
  std::size_t size, size_v1;
  std::vector<FieldRow> fields;
};

#define FIELD(type, field)                                                                 \
  FieldRow {                                                                               \
    offsetof(type, field), sizeof(type::field), type_name<decltype(type::field)>(), #field \
  }

std::vector<StructRow> layout() {
  return {
#define STRUCT_BEGIN(type, v1) {#type, sizeof(type), v1, {
#define STRUCT_END \
  }                \
  }                \
  ,
#include "abi/plugin_abi_fields.def"
#undef STRUCT_BEGIN
#undef STRUCT_END
  };
}

#define CONSTANT(name) \
  { #name, static_cast < long long>(name) }

std::string generate() {
  const std::vector<std::pair<std::string, long long>> constants = {
      CONSTANT(DSAKIT_ABI_VERSION),    CONSTANT(DSAKIT_RC_OK),        CONSTANT(DSAKIT_RC_INVALID),
      CONSTANT(DSAKIT_RC_UNSUPPORTED), CONSTANT(DSAKIT_RC_NO_DEVICE), CONSTANT(DSAKIT_RC_MEMORY),
      CONSTANT(DSAKIT_RC_WORKSPACE),   CONSTANT(DSAKIT_RC_DEVICE),    CONSTANT(DSAKIT_RC_ABI),
      CONSTANT(DSAKIT_RC_INTERNAL),    CONSTANT(DSAKIT_DOMAIN_RC),    CONSTANT(DSAKIT_DOMAIN_CUDA),
      CONSTANT(DSAKIT_DOMAIN_HIP),     CONSTANT(DSAKIT_DOMAIN_ERRNO),
  };
  std::ostringstream out;
  out << "symbol " << DSAKIT_PLUGIN_ENTRY_NAME << " " << type_name<dsakit_plugin_entry_fn>()
      << "\n";
  for (const auto& [name, value] : constants) out << "constant " << name << " " << value << "\n";
  for (const StructRow& row : layout()) {
    out << "struct " << row.name << " size " << row.size << " v1 " << row.size_v1 << "\n";
    for (const FieldRow& field : row.fields)
      out << "  " << field.offset << " " << field.size << " " << field.name << " " << field.type
          << "\n";
  }
  return out.str();
}

TEST(PluginAbi, EveryFieldIsListedAndThereIsNoHiddenPadding) {
  for (const StructRow& row : layout()) {
    std::size_t next = 0;
    for (const FieldRow& field : row.fields) {
      EXPECT_EQ(field.offset, next) << row.name << "." << field.name;
      next = field.offset + field.size;
    }
    EXPECT_EQ(next, row.size) << row.name;
  }
}

TEST(PluginAbi, SizeComesFirstAndVersionOneFits) {
  for (const StructRow& row : layout()) {
    if (row.size_v1 == 0) continue;  // dsakit_dim: an array element, never extended
    EXPECT_EQ(row.fields.front().name, "size") << row.name;
    EXPECT_EQ(row.fields.front().type, "unsigned int") << row.name;
    EXPECT_LE(row.size_v1, row.size) << row.name;
  }
}

TEST(PluginAbi, LayoutIsTheOneOnRecord) {
  std::ifstream file(std::string(DSAKIT_TESTS_DIR) + "/../docs/abi/v1.txt");
  std::ostringstream recorded;
  recorded << file.rdbuf();
  EXPECT_EQ(recorded.str(), generate()) << "docs/abi/v1.txt must become:\n" << generate();
}

TEST(PluginAbi, HasFieldTestsTheGivenSize) {
  dsakit_plugin plugin{};
  plugin.size = offsetof(dsakit_plugin, extension);
  plugin.extension = [](const char*) -> const void* { return nullptr; };
  EXPECT_FALSE(DSAKIT_HAS_FUNCTION(&plugin, extension));
  plugin.size = sizeof(plugin);
  EXPECT_TRUE(DSAKIT_HAS_FUNCTION(&plugin, extension));
  plugin.extension = nullptr;
  EXPECT_FALSE(DSAKIT_HAS_FUNCTION(&plugin, extension));
}

}  // namespace
