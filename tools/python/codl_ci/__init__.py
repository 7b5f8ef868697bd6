"""codl-matrix makes plans of many models for many devices, codl-diff compares two plans. Standard library only."""
