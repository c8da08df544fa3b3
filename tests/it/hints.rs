//! What is to be typed next is right: it names the store, it is whole, and it is there where it is needed.

use crate::support::TestEnv;

#[test]
fn flaws_are_told_in_words() {
    let env = TestEnv::new();
    let mut client = env.client(&["record", "--name", "odd", "--", "cat"]);
    client.line(r#"{"id":1}"#);
    client.expect(r#"{"id":1}"#);
    assert_eq!(client.end().code(), 0);
    let text = env.tap(&["inspect", "odd"]).ok().text();
    assert!(text.contains(r#"no message: {"id":1}"#), "{text}");
    assert!(!text.contains("no-method") && !text.contains("jsonrpc-version"), "{text}");
    assert!(text.contains("not a message: "), "{text}");
}
