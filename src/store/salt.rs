//! The salt of a store's masks: equal secrets have equal tags in it, and nobody can find them by trying.

use super::location::lock_folder;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How long a salt is, in bytes.
const LENGTH: usize = 16;

/// Returns the salt of a store, made when it is first asked for.
///
/// Where it cannot be kept, tags are equal in this process only.
#[must_use]
pub fn of(store: &Path, random: [u8; LENGTH]) -> Vec<u8> {
    let folder = lock_folder(store);
    let path = folder.join("salt");
    let read = || std::fs::read(&path).ok().filter(|salt| salt.len() == LENGTH);
    if let Some(salt) = read() {
        return salt;
    }
    let made = super::open::make_private_folder(&folder).is_ok()
        && OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(&random))
            .is_ok();
    // Another recorder may have been first.
    if made { random.to_vec() } else { read().unwrap_or_else(|| random.to_vec()) }
}
