// This is the only include of Catch2 (Debian ships v2; v3 would change this file alone).
#pragma once

// CHECK and REQUIRE leave unexpected exceptions to the test case: they compile a tenth faster.
#define CATCH_CONFIG_FAST_COMPILE
#include <catch2/catch.hpp>
