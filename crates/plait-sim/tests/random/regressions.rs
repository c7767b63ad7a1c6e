//! What random scenarios found, made small.
