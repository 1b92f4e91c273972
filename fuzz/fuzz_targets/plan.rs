//! Reads any JSON as a plan: see [`fuzz::read_plan`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::read_plan(text));
