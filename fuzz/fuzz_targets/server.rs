//! Sends any messages to the language server: see [`fuzz::converse`].

#![no_main]

libfuzzer_sys::fuzz_target!(|messages: &str| fuzz::converse(messages));
