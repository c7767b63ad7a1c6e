//! Misspelled words, and the choice that was most probably meant.

/// The reason for an error about a word that is none of `valid`.
pub(crate) fn unknown(word: &str, valid: &[&str]) -> String {
    let near = nearest(word, valid).map_or(String::new(), |near| format!("did you mean {near}? "));
    format!("unknown ({near}valid: {})", valid.join(", "))
}

/// Returns the choice of which `word` is most probably a misspelling.
pub(crate) fn nearest<'a>(word: &str, choices: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 40;
    if word.chars().count() > LONGEST {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().collect();
    let tolerated = (word.len() / 3).clamp(1, 3);
    choices
        .iter()
        .map(|&choice| (distance(&word, &choice.replace('-', "_").chars().collect::<Vec<_>>()), choice))
        .filter(|&(distance, choice)| distance <= tolerated && distance < choice.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, choice)| choice)
}

/// The Levenshtein distance: insertions, deletions and substitutions.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_recognised_and_far_ones_are_not() {
        let choices = ["protocol", "packet", "ack_every", "rtt", "rate"];
        assert_eq!(nearest("protocl", &choices), Some("protocol"));
        assert_eq!(nearest("ack-every", &choices), Some("ack_every"));
        assert_eq!(nearest("Rate", &choices), Some("rate"));
        assert_eq!(nearest("bandwidth", &choices), None);
        assert_eq!(nearest("", &choices), None);
        assert_eq!(nearest(&"x".repeat(100_000), &choices), None);
    }
}
