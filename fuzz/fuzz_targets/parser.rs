//! Parses and formats any text: see [`fuzz::parse`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::parse(text));
