//! Prints a program as straight-line source.
