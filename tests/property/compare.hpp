// Says where the shipped solver and the oracle differ. Pure; any thread.
#pragma once

#include <string>

#include "property/oracle/oracle.hpp"
#include "solver/answer.hpp"

namespace dsakit::property {

// Verdict, session, rows, dtype, provides, obligations, and whether R10's own code is due. Empty =
// equal.
std::string differences(const oracle::Result& expected, const Answer& answer,
                        const oracle::Dims& dims);

// Membership of the allowed set as ids with dtypes, rows that exist, and its order within a dtype.
std::string differences(const oracle::Result& expected, const std::vector<Session>& allowed);

// Every condition of every row and phase.
std::string differences(const oracle::Result& expected, const std::vector<RowVerdict>& evaluation);

}  // namespace dsakit::property
