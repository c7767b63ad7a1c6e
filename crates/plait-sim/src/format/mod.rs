//! The format of scenario files, independent of their content: descriptions of keys and tables,
//! readers with errors that name the place, amounts as text.

pub mod keys;
pub(crate) mod reader;
pub(crate) mod text;
