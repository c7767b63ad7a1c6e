//! Placeholder until the first slice stands.
