#include "ask.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>

#include "host/status.hpp"
#include "manifest/json.hpp"
#include "print.hpp"

namespace dsakit::cli {
namespace {

Diagnostic unreadable(const std::string& file, std::string reason) {
  return Diagnostic(Code::E0101)
      .with("file", file == "-" ? "standard input" : file)
      .with("reason", std::move(reason));
}

// One line without its end; of a line longer than `limit` the first limit + 1 bytes, the rest is
// dropped.
bool read_line(std::istream& in, std::size_t limit, std::string& line) {
  line.clear();
  std::streambuf* buffer = in.rdbuf();
  constexpr auto kEnd = std::char_traits<char>::eof();
  int c = buffer->sbumpc();
  if (c == kEnd) return false;
  for (; c != kEnd && c != '\n'; c = buffer->sbumpc()) {
    if (line.size() <= limit) line += static_cast<char>(c);
  }
  return true;
}

}  // namespace

int answer_requests(const Cli& cli,
                    const std::function<std::string(std::string_view, int)>& answer_line) {
  const std::string& file = *cli.options.requests;
  std::ifstream opened;
  std::istream* in = &cli.surroundings().in;
  if (file != "-") {
    std::error_code error;
    if (std::filesystem::is_directory(file, error)) {
      return cli.fail(unreadable(file, "it is a directory"));
    }
    opened.open(file, std::ios::binary);
    if (!opened.is_open()) return cli.fail(unreadable(file, std::strerror(errno)));
    in = &opened;
  }
  std::string line;
  try {
    for (int number = 1; cli.out() && read_line(*in, JsonLimits{}.max_bytes, line); ++number) {
      cli.out() << answer_line(line, number) << '\n';
    }
  } catch (const std::ios_base::failure& failure) {  // of reading: `out` throws nothing
    return cli.fail(unreadable(file, failure.code().message()));
  }
  return static_cast<int>(Status::yes);
}

int print_projection(const Cli& cli, Projection project) {
  const auto advisor = cli.open_advisor();
  if (!advisor) return cli.fail(advisor.error());
  const auto policy = cli.open_policy(*advisor);
  if (!policy) return cli.fail(policy.error());
  const auto question = make_question(cli, *advisor);
  if (!question) return cli.fail(question.error());
  const auto asked = ask_in_turn<Answer>(
      *question, advisor->catalog(),
      [&](const Request& request) { return ((*advisor).*project)(request, *policy); });
  if (cli.options.json()) {
    cli.out() << to_json(asked.result) << '\n';
  } else if (asked.result.verdict == Answer::Verdict::error) {
    return cli.fail(asked.result.diagnostics.front());
  } else {
    print_answer(cli.out(), asked.result, asked.request, advisor->catalog(), cli.style());
  }
  return static_cast<int>(status_of(asked.result.verdict));
}

}  // namespace dsakit::cli
