#!/usr/bin/env python3
"""compare_npy.py EXPECTED_DIR FOUND_DIR compares the same .npy files within the bound of the end-to-end tests."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import npy

BOUND = 1e-4  # relative L2, as in modes_test.cc


def main():
    expected_dir, found_dir = sys.argv[1:3]
    names = sorted(name for name in os.listdir(expected_dir) if name.endswith(".npy"))
    if not names or names != sorted(n for n in os.listdir(found_dir) if n.endswith(".npy")):
        sys.exit(f"{found_dir}: expected the files {names}, found {sorted(os.listdir(found_dir))}")
    for name in names:
        expected_dims, expected = npy.read(os.path.join(expected_dir, name))
        dims, found = npy.read(os.path.join(found_dir, name))
        error = npy.relative_l2(found, expected)
        print(f"{found_dir}/{name}: {list(dims)} relative L2 error {error:.2e}")
        if dims != expected_dims or not error <= BOUND:
            sys.exit(f"{found_dir}/{name}: expected {list(expected_dims)} within {BOUND:g}")


if __name__ == "__main__":
    main()
