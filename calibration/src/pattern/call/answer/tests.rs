use super::*;
use crate::pattern::wire::{Both, Read, STREAM, TAG, counted, frame, headers};
use crate::settings::Protocol;

const MS: u64 = 1_000_000;

fn settings(pattern: Pattern, payload_bytes: u32) -> RunSettings {
    RunSettings {
        pattern,
        ..counted(Protocol::Udp, payload_bytes, 1)
    }
}

fn task<'a>(settings: &'a RunSettings, shared: &'a Shared) -> AnswerTask<'a> {
    AnswerTask {
        settings,
        stream: STREAM,
        tag: TAG,
        deadline_ns: clock::now_ns() + 20_000_000_000,
        shared,
    }
}

/// Returns the counts and replies for requests that arrive one by one, a millisecond apart, until
/// the peer closes.
fn answered(settings: &RunSettings, questions: Vec<Vec<u8>>) -> (StreamAnswered, Vec<Vec<u8>>) {
    let reads = (1..).zip(questions);
    let mut reads: Vec<Read> = reads.map(|(n, q)| Read::At(n * MS, vec![q])).collect();
    reads.push(Read::Closed);
    let mut both = Both::of(reads);
    let shared = Shared::new(1);
    let answered = task(settings, &shared).run(&mut both).unwrap();
    (answered, both.sent)
}

fn question(phase: Phase, seq: u64) -> Vec<u8> {
    frame(phase, seq, 1000 + seq, 64)
}

#[test]
fn every_question_gets_its_header_back() {
    let questions = vec![
        question(Phase::WarmUp, 0),
        question(Phase::Window, 1),
        question(Phase::Window, 2),
        question(Phase::Tail, 3),
    ];
    for (pattern, reply_bytes, size) in [
        (Pattern::PingPong, None, 64),
        (Pattern::PingPong, Some(100), 100),
        (Pattern::Call, None, 32),
        (Pattern::TwowayBatch, None, 32),
    ] {
        let settings = RunSettings {
            reply_bytes,
            ..settings(pattern, 64)
        };
        let (answered, sent) = answered(&settings, questions.clone());
        assert_eq!(headers(&sent), headers(&questions));
        assert!(sent.iter().all(|answer| answer.len() == size));
        assert_eq!((answered.window_frames, answered.run_frames), (2, 4));
        assert_eq!((answered.first_ns, answered.last_ns), (2 * MS, 3 * MS));
        assert_eq!(answered.foreign, 0);
    }
}

#[test]
fn all_questions_of_one_read_are_answered() {
    let questions: Vec<_> = (0..5).map(|seq| question(Phase::Window, seq)).collect();
    let mut both = Both::of(vec![Read::Now(questions.clone()), Read::Closed]);
    let (settings, shared) = (settings(Pattern::TwowayBatch, 64), Shared::new(1));
    let answered = task(&settings, &shared).run(&mut both).unwrap();
    assert_eq!(headers(&both.sent), headers(&questions));
    assert_eq!(answered.window_frames, 5);
    assert!(shared.is_closed());
}

#[test]
fn strangers_get_no_answer() {
    let mut other_run = question(Phase::Window, 0);
    other_run[0] ^= 1;
    let mut other_stream = question(Phase::Window, 0);
    other_stream[4] ^= 1;
    let strangers = vec![other_run, other_stream, vec![1; 10], vec![]];
    let (answered, sent) = answered(&settings(Pattern::PingPong, 64), strangers);
    assert!(sent.is_empty());
    assert_eq!((answered.foreign, answered.run_frames), (4, 0));
}

#[test]
fn short_questions_are_answered_by_their_phase() {
    for reply_bytes in [1, 64] {
        let settings = RunSettings {
            reply_bytes: Some(reply_bytes),
            ..settings(Pattern::PingPong, 3)
        };
        let questions = vec![vec![0, 9, 9], vec![1, 9, 9], vec![1, 9, 9], vec![7, 9, 9]];
        let (answered, sent) = answered(&settings, questions);
        assert_eq!((answered.window_frames, answered.run_frames), (2, 3));
        assert_eq!(answered.foreign, 1);
        assert_eq!(sent.len(), 3);
        assert!(
            sent.iter()
                .all(|answer| answer.len() == reply_bytes as usize)
        );
    }
}

#[test]
fn one_way_calls_are_counted_and_the_question_how_many_is_answered() {
    let mut calls = vec![question(Phase::WarmUp, 0), question(Phase::Tail, 1)];
    calls.extend((2..9).map(|seq| question(Phase::Window, seq)));
    calls.push(question(Phase::Tail, 9));
    let (answered, sent) = answered(&settings(Pattern::OnewayBatch, 64), calls);
    assert_eq!((answered.window_frames, answered.run_frames), (7, 10));
    let counts: Vec<(u64, u64)> = headers(&sent).iter().map(|h| (h.seq, h.sent_ns)).collect();
    // Pairs of the count of invoked calls and the send time of the request for it.
    assert_eq!(counts, [(0, 1001), (7, 1009)]);
}

#[test]
fn a_vector_is_decoded_whatever_comes() {
    let settings = RunSettings {
        body: Body::Vector,
        ..settings(Pattern::Call, 80)
    };
    let mut call = frame(Phase::Window, 0, 1, 80);
    Vector::of(80).encode(&mut call);
    let (answered, sent) = answered(&settings, vec![call, question(Phase::Window, 1)]);
    assert_eq!((answered.window_frames, sent.len()), (2, 2));
}

#[test]
fn it_ends_when_the_asker_has_gone_or_its_end_says_so_or_its_time_is_over() {
    let (settings, shared) = (settings(Pattern::PingPong, 64), Shared::new(1));
    let one = || Read::Now(vec![question(Phase::Window, 0)]);
    let mut gone = Both::of(vec![one(), Read::Nobody]);
    let answered = task(&settings, &shared).run(&mut gone).unwrap();
    assert_eq!((answered.window_frames, gone.sent.len()), (1, 1));
    let late = AnswerTask {
        deadline_ns: 1,
        ..task(&settings, &shared)
    };
    assert_eq!(late.run(&mut Both::of(vec![one()])).unwrap().run_frames, 0);
    shared.stop();
    let stopped = task(&settings, &shared).run(&mut Both::of(vec![one()]));
    assert_eq!(stopped.unwrap().run_frames, 0);
}
