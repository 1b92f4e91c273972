//! Reads any text as the map of a plan: see [`fuzz::hostile::read_map`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::hostile::read_map(text));
