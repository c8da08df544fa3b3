//! Tells a live session from one that was cut off: a live one holds a lock that falls with its process.

use super::error::StoreError;
use super::location::lock_folder;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes held in the lock file, so that a full disk still has room to say that the session ended, and what it lost.
const RESERVE: usize = 192 << 10;

/// The lock of a live session, released with the process at the latest.
#[derive(Debug)]
pub struct LiveLock {
    file: File,
    path: PathBuf,
}

impl LiveLock {
    /// Takes the lock of a new session.
    ///
    /// # Errors
    /// Says which file cannot be made.
    pub fn take(store: &Path, uid: &str) -> Result<Self, StoreError> {
        let folder = lock_folder(store);
        super::open::make_private_folder(&folder)?;
        let path = folder.join(format!("{uid}.lock"));
        let failed = |error: std::io::Error| StoreError::Open { path: path.clone(), reason: error.to_string() };
        let mut file = loop {
            let file =
                OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path).map_err(failed)?;
            // Nobody holds it for longer than a look, but it may have been swept away between making and locking it.
            file.lock().map_err(failed)?;
            let made = file.metadata().map_err(failed)?;
            if std::fs::metadata(&path).is_ok_and(|data| (data.dev(), data.ino()) == (made.dev(), made.ino())) {
                break file;
            }
        };
        // Not holding it back is no reason not to record.
        let _ = file.write_all(&vec![0; RESERVE]);
        Ok(Self { file, path })
    }

    /// Gives the bytes held back to the disk.
    pub fn release_reserve(&self) {
        let _ = self.file.set_len(0);
    }
}

impl Drop for LiveLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Returns true if a process is recording the session.
#[must_use]
pub fn is_live(store: &Path, uid: &str) -> bool {
    let Ok(file) = File::open(lock_folder(store).join(format!("{uid}.lock"))) else { return false };
    let held = || matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !held() {
        return false;
    }
    // A sweep holds the lock of a dead session for a moment.
    crate::clock::sleep(std::time::Duration::from_millis(3));
    held()
}

/// Returns the ids of the sessions that have a lock file: those that are being recorded, and some that were cut off.
#[must_use]
pub fn locked(store: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(lock_folder(store)) else { return Vec::new() };
    let id = |path: &Path| {
        let lock = path.extension().is_some_and(|end| end == "lock");
        path.file_stem().filter(|_| lock).map(|stem| stem.to_string_lossy().into_owned())
    };
    entries.flatten().filter_map(|entry| id(&entry.path())).collect()
}

/// Removes the lock files of sessions that were cut off.
pub fn sweep(store: &Path) {
    let Ok(entries) = std::fs::read_dir(lock_folder(store)) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "lock")
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(&path);
        }
    }
}
