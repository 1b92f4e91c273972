//! Splits any text into tokens: see [`fuzz::cut`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::cut(text));
