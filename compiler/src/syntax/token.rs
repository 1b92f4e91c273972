//! Tokens; the only file that knows logos.
