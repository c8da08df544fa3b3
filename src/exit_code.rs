//! The exit codes, documented here and in the README.

/// How the program ends, but for `record`, which ends as the server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Done.
    Done,
    /// The answer is "no": they differ, a finding, a threshold exceeded.
    No,
    /// What was typed cannot be understood.
    Usage,
    /// It could not be done: no such session, the store is unusable, the server did not start.
    Failed,
    /// The same for `git bisect run`, which passes over that commit.
    Skip,
}

impl From<Code> for u8 {
    fn from(code: Code) -> Self {
        match code {
            Code::Done => 0,
            Code::No => 1,
            Code::Usage => 2,
            Code::Failed => 3,
            Code::Skip => 125,
        }
    }
}
