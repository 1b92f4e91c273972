//! Any text is parsed and laid out: see [`fuzz::parse`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::parse(text));
