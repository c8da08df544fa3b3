//! The revisions the sample server speaks, in order of age.

/// Names a revision; later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Revision {
    /// 2024-11-05.
    First,
    /// 2025-03-26: batches, annotations, audio.
    March2025,
    /// 2025-06-18: elicitation, structured results, titles.
    June2025,
    /// 2025-11-25: tasks in the core.
    November2025,
    /// 2026-07-28: no handshake, metadata in every request.
    July2026,
}

impl Revision {
    /// Lists the revisions that are agreed on by `initialize`.
    pub(crate) const LEGACY: [Self; 4] = [Self::First, Self::March2025, Self::June2025, Self::November2025];

    /// Returns the date that names the revision on the wire.
    pub(crate) fn date(self) -> &'static str {
        match self {
            Self::First => "2024-11-05",
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// Returns what the server agrees on when a client asks for `wanted`.
    pub(crate) fn negotiate(wanted: &str) -> Self {
        Self::LEGACY.into_iter().find(|revision| revision.date() == wanted).unwrap_or(Self::November2025)
    }

    /// Tells whether every request carries its own metadata.
    pub(crate) fn is_modern(self) -> bool {
        self == Self::July2026
    }
}

#[cfg(test)]
mod tests {
    use super::Revision;

    #[test]
    fn unknown_dates_get_the_newest_legacy_revision() {
        assert_eq!(Revision::negotiate("2025-03-26"), Revision::March2025);
        assert_eq!(Revision::negotiate("2031-01-01"), Revision::November2025);
    }
}
