// There is no code here: this file's target precompiles test/support/catch.h for all tests.
