//! Reports for people; the only file that knows ariadne.
