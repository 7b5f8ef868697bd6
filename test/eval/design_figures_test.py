#!/usr/bin/env python3
"""The figures of docs/design: each is drawn, the same twice, and small; and those of the tree are the ones that are drawn.

  design_figures_test.py --bin build/release/bin

What the figures show may lag behind the tools by a changed prediction: design_figures.py draws them anew.
"""
import argparse
import os
import sys
import tempfile
import unittest
import xml.dom.minidom

from with_matplotlib import HAS_MATPLOTLIB, restart_with_matplotlib

COMMITTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "design", "figures")
LARGEST_BYTES = 24000


class DesignFigures(unittest.TestCase):

    @unittest.skipUnless(HAS_MATPLOTLIB, "no matplotlib")
    def test_figures(self):
        import design_figures
        drawn = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                design_figures.draw(self.bin, folder)
                found = {}
                for name in sorted(os.listdir(folder)):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found[name] = file.read()
                drawn.append(found)
        self.assertEqual(drawn[0], drawn[1])
        self.assertEqual(sorted(drawn[0]), sorted(os.listdir(COMMITTED)))
        for name, text in drawn[0].items():
            self.assertLess(len(text), LARGEST_BYTES, name)
            self.assertEqual(xml.dom.minidom.parseString(text).documentElement.tagName, "svg", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder with codlc and codl-dump")
    arguments, others = parser.parse_known_args()
    restart_with_matplotlib("design figures")
    DesignFigures.bin = arguments.bin
    unittest.main(argv=[sys.argv[0], *others])


if __name__ == "__main__":
    main()
