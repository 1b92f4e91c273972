//! Reads plans with any numbers in their pipelines: see [`fuzz::hostile::read_pipeline`].

#![no_main]

libfuzzer_sys::fuzz_target!(|numbers: &[u8]| fuzz::hostile::read_pipeline(numbers));
