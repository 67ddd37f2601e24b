// SPDX-License-Identifier: Apache-2.0
// What the programs beside it read from their options.

#pragma once

#include <sstream>
#include <string>
#include <vector>

// The parts of "A+B+...".
inline std::vector<std::string> Words(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream parts(text);
    for (std::string one; std::getline(parts, one, '+');) {
        found.push_back(one);
    }
    return found;
}
