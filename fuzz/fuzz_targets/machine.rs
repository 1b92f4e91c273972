//! Reads any text as the machine of another tool: see [`fuzz::hostile::read_machine`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::hostile::read_machine(text));
