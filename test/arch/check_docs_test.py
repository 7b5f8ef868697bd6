#!/usr/bin/env python3
"""Tests check_docs.py on a tree that is right, and on the same tree with one fault per rule."""
import sys
import os
import tempfile
import unittest

import check_docs

TREE = {
    "docs/README.md": "[tree](design/tree.md) [why](design/decisions.md) [a](guide/a.md)\n",
    "docs/design/tree.md": "| folder | holds |\n|---|---|\n| `docs/` | pages |\n| `docs/design/` | design |\n| `docs/guide/` | guides |\n| `kernels/` | table |\n| `kernels/OPERATOR/` | an operator |\n| `schema/` | lists |\n| `src/` | code |\n",
    "kernels/add/add.cc": "",
    "schema/ops.def": "CODL_OP_BEGIN(Add, 1, add)\n",
    "src/one.cc": "",
    "docs/design/decisions.md": "# Decisions\n\n## Kernels\n\n### One\nDecision: yes.\n",
    "docs/guide/a.md": "# A page\n\n## What to do\n\n[down](#what-to-do) [why](../design/decisions.md#kernels) `[0](x)` docs/guide\n",
}


class CheckDocs(unittest.TestCase):

    def found(self, **changes):
        """Returns the faults of the tree with files replaced, {path with / as __: text}."""
        tree = {**TREE, **{path.replace("__", "/") + ".md": text for path, text in changes.items()}}
        with tempfile.TemporaryDirectory() as root:
            for path, text in tree.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return list(check_docs.faults(root, list(tree)))

    def test_a_tree_that_is_right(self):
        self.assertEqual(self.found(), [])

    def test_one_fault_per_rule(self):
        a = TREE["docs/guide/a.md"]
        for wanted, changes in (
            ("expected a link to a tracked file, found (b.md)", {"docs__guide__a": a + "[b](b.md)"}),
            ("expected a heading of docs/guide/a.md, found (#nothing)", {"docs__guide__a": a + "[b](#nothing)"}),
            ("expected a tracked file, found docs/OLD.md", {"docs__guide__a": a + "see docs/OLD.md."}),
            ("expected a tracked file, found `src/gone.cc`", {"docs__guide__a": a + "`src/{one,gone}.cc` `src/one` `src/NAME.cc` `a/b`"}),
            ("expected a link to docs/guide/b.md", {"docs__guide__b": "# B\n"}),
            ("expected a row for docs/results/", {"docs__README": TREE["docs/README.md"] + "[r](results/r.md)", "docs__results__r": "R\n"}),
            ("expected a row for kernels/other/", {"kernels__other__a": "A\n"}),
            ("expected tracked files in docs/none/", {"docs__design__tree": TREE["docs/design/tree.md"] + "| `docs/none/` | nothing |\n"}),
            ("expected one row for docs/guide/", {"docs__design__tree": TREE["docs/design/tree.md"] + "| `docs/guide/` | again |\n"}),
            ("found more under 'One'", {"docs__design__decisions": TREE["docs/design/decisions.md"] + "line\n" * 5}),
        ):
            with self.subTest(wanted):
                found = self.found(**changes)
                self.assertEqual(len(found), 1, found)
                self.assertIn(wanted, found[0])

    def test_names_are_in_lower_case(self):
        found = self.found(docs__README=TREE["docs/README.md"] + "[b](guide/B.md)", docs__guide__B="# B\n")
        self.assertEqual(found, ["docs/guide/B.md: expected a name in lower case with underscores"])


if __name__ == "__main__":
    unittest.main()
