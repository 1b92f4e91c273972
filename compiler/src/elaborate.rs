//! A resolved program and its parameters to the concrete program.
