"""codl-matrix and codl-diff: plans of many models for many devices, and the changes between two. Standard library
only.
"""
