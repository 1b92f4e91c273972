//! Names files in any way: see [`fuzz::hostile::name_files`].

#![no_main]

libfuzzer_sys::fuzz_target!(|name: &str| fuzz::hostile::name_files(name));
