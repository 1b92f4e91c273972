//! Compiles any program: see [`fuzz::compile`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::compile(text));
