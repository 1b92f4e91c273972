//! Checks any text as a proof file: see [`fuzz::hostile::read_proof`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::hostile::read_proof(text));
