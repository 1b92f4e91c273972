//! MSCCL++ execution plans: the JSON, read and written.
