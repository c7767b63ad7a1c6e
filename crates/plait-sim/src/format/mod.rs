//! How scenarios are written, whatever they say: keys and tables with their descriptions, reading them with errors that name the
//! place, amounts as text.

pub mod keys;
pub(crate) mod reader;
pub(crate) mod text;
