use super::super::line::PART_SIZE;
use super::*;
use proptest::prelude::*;

fn cut(chunks: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut framer = SseFramer::new();
    let mut events = Vec::new();
    let mut open = Vec::new();
    let mut take = |piece: Piece<'_>| match piece {
        Piece::Whole(event) => events.push(event.to_vec()),
        Piece::Part { bytes, last } => {
            open.extend_from_slice(bytes);
            if last {
                events.push(std::mem::take(&mut open));
            }
        }
    };
    for chunk in chunks {
        framer.push(chunk, &mut take);
    }
    framer.finish(&mut take);
    events
}

fn fields(bytes: &'static [u8]) -> (Option<&'static str>, Option<&'static str>, Option<String>) {
    let event = Event::parse(bytes);
    let text = |bytes: &'static [u8]| std::str::from_utf8(bytes).unwrap();
    let data = event.data.map(|data| String::from_utf8(data.into_owned()).unwrap());
    (event.id.map(text), event.event.map(text), data)
}

#[test]
fn every_cut_gives_the_same_events() {
    let streams: [(&[u8], &[&[u8]]); 7] = [
        (b"data: a\n\ndata: b\n\n", &[b"data: a\n\n", b"data: b\n\n"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", &[b"data: a\r\n\r\n", b"data: b\r\n\r\n"]),
        (b"data: a\r\rdata: b\r\r", &[b"data: a\r\r", b"data: b\r\r"]),
        (b"data: a\r\r\ndata: b\n\r\n", &[b"data: a\r\r\n", b"data: b\n\r\n"]),
        (b"\xef\xbb\xbf: hello\n\nid: 1\ndata:\n\n", &[b"\xef\xbb\xbf: hello\n\n", b"id: 1\ndata:\n\n"]),
        (b"\n\ndata: a\n\n\n: tail", &[b"\n", b"\n", b"data: a\n\n", b"\n", b": tail"]),
        (b"data: \xff\x00\n\ndata: open\n", &[b"data: \xff\x00\n\n", b"data: open\n"]),
    ];
    for (stream, events) in streams {
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(cut(&[head, tail]), events, "{:?} cut at {at}", String::from_utf8_lossy(stream));
        }
        let single: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(cut(&single), events);
    }
}

#[test]
fn an_event_is_handed_on_when_its_blank_line_has_come() {
    let mut framer = SseFramer::new();
    let mut count = 0;
    framer.push(b"id: 7\ndata: {}\n", |_| count += 1);
    assert_eq!(count, 0);
    framer.push(b"\n", |_| count += 1);
    assert_eq!((count, framer.pending()), (1, 0));
}

#[test]
fn fields_of_an_event() {
    assert_eq!(
        fields(b"event: message\nid: 7\ndata: {\"a\":1}\n\n"),
        (Some("7"), Some("message"), Some("{\"a\":1}".into()))
    );
    assert_eq!(fields(b"data:{\r\ndata: \"a\":1}\r\n\r\n"), (None, None, Some("{\n\"a\":1}".into())));
    assert_eq!(fields(b"id: s1-0\rretry: 200\rdata: \r\r"), (Some("s1-0"), None, Some(String::new())));
    assert_eq!(fields(b": data: x\ndatum: y\nid\n\n"), (Some(""), None, None));
    assert_eq!(fields(b"\xef\xbb\xbfdata: a:b\ndata\n"), (None, None, Some("a:b\n".into())));
}

#[test]
fn a_long_event_comes_in_parts_that_are_the_event() {
    let mut event = b"id: 1\ndata: ".to_vec();
    event.extend(std::iter::repeat_n(b'x', WHOLE_LIMIT + 3 * PART_SIZE + 17));
    event.extend_from_slice(b"\n\n");
    let mut parts = Vec::new();
    let mut framer = SseFramer::new();
    let mut held = 0;
    for chunk in event.chunks(60_000) {
        framer.push(chunk, |piece| match piece {
            Piece::Part { bytes, last } => parts.push((bytes.to_vec(), last)),
            Piece::Whole(_) => panic!("a long event was held whole"),
        });
        held = held.max(framer.pending());
    }
    assert!(held <= WHOLE_LIMIT);
    assert!(parts.last().is_some_and(|(_, last)| *last));
    assert_eq!(parts.into_iter().flat_map(|(bytes, _)| bytes).collect::<Vec<_>>(), event);
}

#[test]
fn after_a_loss_the_next_whole_event_is_the_first() {
    let mut framer = SseFramer::new();
    let mut events = Vec::new();
    framer.push(b"data: 1\n\ndata: ha", |piece| events.push(format!("{piece:?}")));
    framer.lost(|piece| events.push(format!("{piece:?}")));
    assert_eq!(framer.push(b"lf of another\n", |_| panic!("inside a lost event")), 14);
    assert_eq!(framer.push(b"\ndata: 2\n\n", |piece| events.push(format!("{piece:?}"))), 1);
    let expected: Vec<String> =
        [&b"data: 1\n\n"[..], b"data: ha", b"data: 2\n\n"].iter().map(|e| format!("{:?}", Piece::Whole(e))).collect();
    assert_eq!(events, expected);
}

/// Streams of what matters to a framer: ends of lines of all kinds, fields, and anything else.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data".to_vec()),
        Just(b"id:".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b": ".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn events_concatenated_are_the_stream_under_every_cut(
        stream in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let whole = cut(&[&stream]);
        prop_assert_eq!(whole.concat(), stream.clone());
        let mut at: Vec<usize> = cuts.iter().map(|index| index.index(stream.len() + 1)).collect();
        at.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for end in at {
            chunks.push(&stream[from..end]);
            from = end;
        }
        chunks.push(&stream[from..]);
        prop_assert_eq!(cut(&chunks), whole);
    }

    #[test]
    fn an_event_reads_the_same_whole_and_in_parts(stream in stream(), size in 1_usize..9) {
        // The mark is only looked for in the first part, which must hold all of it.
        let size = if stream.starts_with(b"\xef") { size + 3 } else { size };
        let event = Event::parse(&stream);
        let mut reader = EventReader::default();
        let mut data = Vec::new();
        stream.chunks(size).for_each(|part| reader.push(part, |bytes| data.extend_from_slice(bytes)));
        // A name without an end is a field only once the line has ended.
        prop_assume!(stream.ends_with(b"\n") || stream.ends_with(b"\r") || stream.is_empty());
        prop_assert_eq!(data, event.data.unwrap_or_default().into_owned());
        prop_assert_eq!(reader.id(), event.id);
    }
}
