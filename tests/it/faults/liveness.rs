//! What tells a live session from one that was cut off leaves nothing behind.

use super::{Player, hello, make_store};
use crate::support::TestEnv;
use std::path::PathBuf;

fn locks(env: &TestEnv) -> Vec<(PathBuf, u64)> {
    let folder = env.store().with_extension("d");
    let entries = std::fs::read_dir(folder).expect("the folder of locks").flatten();
    entries.map(|entry| (entry.path(), entry.metadata().expect("there").len())).collect()
}

#[test]
fn a_session_that_ended_leaves_no_lock_file() {
    let env = TestEnv::new();
    for _ in 0..5 {
        make_store(&env, &env.store());
    }
    assert_eq!(locks(&env), []);
}

#[test]
fn the_lock_file_of_a_killed_session_is_swept_by_the_next() {
    let env = TestEnv::new();
    let mut player = Player::recorded(&env);
    player.play(&hello());
    super::pause(200);
    player.client.signal(rustix::process::Signal::KILL);
    let _ = player.end();
    assert_eq!(locks(&env).len(), 1);
    make_store(&env, &env.store());
    assert_eq!(locks(&env), []);
}
