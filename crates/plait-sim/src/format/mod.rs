//! The format of scenario files, independent of their content: descriptions of keys and tables,
//! readers with errors that name the place, amounts as text, names of classes.

pub mod keys;
pub(crate) mod reader;
pub(crate) mod text;

/// Endings of the files that hold classes of the user: Python, and shared libraries.
const CLASS_FILES: [&str; 3] = [".py", ".so", ".dylib"];

/// True for `FILE.py:CLASS` and `LIBRARY.so:CLASS`.
pub(crate) fn names_class(text: &str) -> bool {
    text.split(':').next().is_some_and(|file| CLASS_FILES.iter().any(|ending| file.ends_with(ending)))
}
