//! Reads any text as a manifest, and another one as its plan: see [`fuzz::hostile::read_manifest`].

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| fuzz::hostile::read_manifest(text));
