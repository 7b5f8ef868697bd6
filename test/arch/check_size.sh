#!/usr/bin/env bash
# Compares the stripped size of libcodl.so with its budget.
#
#   check_size.sh STRIP LIBCODL.so ARCHITECTURE
#
# For release builds with all CPU kernels and OpenCL texts. If the library outgrows its budget, the commit
# raises it in test/arch/size_budget.txt and says what the bytes buy.
set -euo pipefail
strip=$1
shared=$2
architecture=$3
budgets=$(dirname "$0")/size_budget.txt

copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
"$strip" --strip-unneeded -o "$copy" "$shared"
found=$(stat --format=%s "$copy")
budget=$(awk -v architecture="$architecture" '$1 == architecture {print $2}' "$budgets")
if [ -z "$budget" ]; then
  echo "size_budget.txt: expected a line for $architecture, found none (stripped: $found bytes)" >&2
  exit 1
fi
echo "libcodl.so $architecture: $found bytes stripped, budget $budget"
if [ "$found" -gt "$budget" ]; then
  echo "$shared: expected at most $budget bytes stripped, found $found" >&2
  exit 1
fi
