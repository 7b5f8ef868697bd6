// This is the only include of Catch2 (Debian ships v2; v3 would change this file alone).
#pragma once

#include <catch2/catch.hpp>
