//! What can be asked of the sample server on its command line.

use std::{ffi::OsString, path::PathBuf};

use super::mutate::Mutation;

/// Which of the two builds of the story is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Build {
    /// The build that was recorded.
    #[value(name = "1.4.0")]
    Recorded,
    /// The build that changed four answers and four schemas.
    #[value(name = "1.5.0")]
    Changed,
}

impl Build {
    /// Returns the version as the server reports it.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Recorded => "1.4.0",
            Self::Changed => "1.5.0",
        }
    }
}

/// Holds the arguments of the hidden subcommand `sample-server`.
#[derive(Debug, Clone, clap::Args)]
pub struct SampleArgs {
    /// Play this build
    #[arg(long, value_enum, default_value = "1.4.0")]
    pub build: Build,
    /// Divide every artificial delay by this
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub speed: f64,
    /// Fix every value that else varies per run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// List and declare what tests need beyond the story
    #[arg(long)]
    pub extra_tools: bool,
    /// Cut lists into pages of this many entries
    #[arg(long, value_name = "N")]
    pub page_size: Option<usize>,
    /// Write a log line to stdout during the forecast for Bergen
    #[arg(long)]
    pub noise: bool,
    /// Add this many bytes per frame to the radar picture (54000 makes the 1.9 MB of the story)
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub frame_bytes: usize,
    /// Misbehave in this way
    #[arg(long, value_name = "NAME")]
    pub case: Option<String>,
    /// Set the size, count or delay of the case
    #[arg(long, value_name = "N")]
    pub n: Option<u64>,
    /// List the cases and exit
    #[arg(long)]
    pub list_cases: bool,
    /// Play a build with this one change
    #[arg(long, value_enum, value_name = "CHANGE")]
    pub mutate: Option<Mutation>,
    /// Append every byte read from stdin to this file
    #[arg(long, value_name = "FILE")]
    pub tee_in: Option<PathBuf>,
    /// Append "name pid" of this process and its children to this file
    #[arg(long, value_name = "FILE")]
    pub pid_file: Option<PathBuf>,
    /// Ignored: lets tests see how arguments arrive
    #[arg(value_name = "REST")]
    pub rest: Vec<OsString>,
}
