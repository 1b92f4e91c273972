//! Elaborates any program: see [`fuzz::elaborate`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::elaborate(text));
