//! What secrets look like: the beginnings that their makers gave them so that they are recognised.

/// A kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// How it begins.
    pub prefix: &'static str,
    /// How many characters it has at least, the beginning included.
    pub least: usize,
    /// What it is.
    pub what: &'static str,
}

const fn shape(prefix: &'static str, least: usize, what: &'static str) -> Shape {
    Shape { prefix, least, what }
}

/// The kinds of tokens that are known.
pub const SHAPES: [Shape; 24] = [
    shape("sk_live_", 20, "a Stripe key"),
    shape("sk_test_", 20, "a Stripe key"),
    shape("rk_live_", 20, "a Stripe key"),
    shape("sk-", 24, "an API key"),
    shape("ghp_", 24, "a GitHub token"),
    shape("gho_", 24, "a GitHub token"),
    shape("ghu_", 24, "a GitHub token"),
    shape("ghs_", 24, "a GitHub token"),
    shape("ghr_", 24, "a GitHub token"),
    shape("github_pat_", 30, "a GitHub token"),
    shape("glpat-", 20, "a GitLab token"),
    shape("xoxb-", 20, "a Slack token"),
    shape("xoxp-", 20, "a Slack token"),
    shape("xoxa-", 20, "a Slack token"),
    shape("xoxs-", 20, "a Slack token"),
    shape("xapp-", 20, "a Slack token"),
    shape("AKIA", 20, "an AWS key"),
    shape("ASIA", 20, "an AWS key"),
    shape("AIza", 35, "a Google key"),
    shape("ya29.", 30, "a Google token"),
    shape("npm_", 30, "an npm token"),
    shape("hf_", 30, "a Hugging Face token"),
    shape("pypi-", 30, "a PyPI token"),
    shape("eyJ", 30, "a JSON Web Token"),
];

/// Returns true for the characters that tokens are made of.
#[must_use]
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Returns true for a word of an argument that is a token, or the beginning of one.
#[must_use]
pub fn is_token(word: &str) -> bool {
    let long = word.len() >= 16 && word.bytes().all(is_token_byte);
    long && SHAPES.iter().any(|shape| word.starts_with(shape.prefix))
}
