//! Runs a program over symbolic chunks.
