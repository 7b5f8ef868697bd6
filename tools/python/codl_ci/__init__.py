"""codl-matrix and codl-diff: plans of many models for many devices, and what changed between two. Standard library only."""
