//! The words of the ccl language: one table from which editors' grammars and documentation are made.
