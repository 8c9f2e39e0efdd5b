use super::*;
use crate::pattern::Shared;
use crate::pattern::wire::{Peer, STREAM, TAG, counted, headers};
use crate::settings::{Pattern, Protocol, RunSettings};
use std::time::Instant;

fn task<'a>(settings: &'a RunSettings, shared: &'a Shared) -> AskTask<'a> {
    AskTask {
        settings,
        stream: STREAM,
        tag: TAG,
        start_ns: clock::now_ns(),
        kept_frames: 1000,
        shared,
    }
}

fn batch(pattern: Pattern, protocol: Protocol, warmup_s: f64) -> RunSettings {
    RunSettings {
        pattern,
        warmup_s,
        ..counted(protocol, 64, 50)
    }
}

fn of(frame: &[u8]) -> Header {
    Header::read(frame).expect("a header")
}

fn answer(header: Header) -> Vec<u8> {
    let mut frame = vec![0; 32];
    header.write(&mut frame);
    frame
}

/// Returns a peer that invokes all calls except those for which `loses` is true. It replies to a
/// request for confirmation with the number of invoked calls of the window.
fn invokes(loses: impl Fn(u64) -> bool + Send) -> impl FnMut(usize, &[u8]) -> Vec<Vec<u8>> + Send {
    let (mut window, mut invoked) = (0, 0);
    move |_, call: &[u8]| {
        let header = of(call);
        match header.phase {
            Phase::Window => {
                invoked += u64::from(!loses(window));
                window += 1;
                vec![]
            }
            Phase::Tail => vec![answer(Header {
                seq: invoked,
                ..header
            })],
            Phase::WarmUp => vec![],
        }
    }
}

#[test]
fn one_way_calls_are_handed_over_and_counted_by_the_peer() {
    for warmup_s in [0.0, 0.01] {
        let settings = batch(Pattern::OnewayBatch, Protocol::Tcp, warmup_s);
        let shared = Shared::new(1);
        let mut peer = Peer::that(invokes(|_| false));
        let asked = task(&settings, &shared).oneway_batch(&mut peer).unwrap();
        assert_eq!((asked.counts.window, asked.answered), (50, 50));
        assert_eq!(asked.counts.run, peer.asked.len() as u64);
        assert!(asked.confirmed && asked.round_trip.summary().is_none());
        assert!(asked.first_ns <= asked.queued_ns && asked.queued_ns <= asked.last_ns);
        assert!(shared.is_closed());
    }
}

#[test]
fn the_warm_up_is_confirmed_before_the_window_opens() {
    let settings = batch(Pattern::OnewayBatch, Protocol::Tcp, 0.01);
    let mut peer = Peer::that(invokes(|_| false));
    let asked = task(&settings, &Shared::new(1))
        .oneway_batch(&mut peer)
        .unwrap();
    let calls = headers(&peer.asked);
    let first = calls.iter().position(|h| h.phase == Phase::Window).unwrap();
    assert_eq!(calls[first - 1].phase, Phase::Tail);
    assert!(calls[..first - 1].iter().all(|h| h.phase == Phase::WarmUp));
    assert_eq!(asked.first_ns, calls[first].sent_ns);
    assert_eq!(calls[calls.len() - 1].phase, Phase::Tail);
}

#[test]
fn lost_one_way_calls_are_missing_in_the_count() {
    let settings = batch(Pattern::OnewayBatch, Protocol::Udp, 0.0);
    let mut peer = Peer::that(invokes(|n| n % 10 == 9));
    let asked = task(&settings, &Shared::new(1))
        .oneway_batch(&mut peer)
        .unwrap();
    assert_eq!((asked.counts.window, asked.answered), (50, 45));
    assert!(asked.confirmed);
}

#[test]
fn a_lost_question_how_many_is_asked_again() {
    let settings = batch(Pattern::OnewayBatch, Protocol::Udp, 0.0);
    let mut rule = invokes(|_| false);
    let mut asked_before = 0;
    let mut peer = Peer::that(move |n, call: &[u8]| {
        asked_before += u32::from(of(call).phase == Phase::Tail);
        if asked_before == 1 {
            vec![]
        } else {
            rule(n, call)
        }
    });
    let asked = task(&settings, &Shared::new(1))
        .oneway_batch(&mut peer)
        .unwrap();
    assert_eq!((asked.answered, asked.confirmed), (50, true));
    let asks = headers(&peer.asked);
    assert_eq!(asks.iter().filter(|h| h.phase == Phase::Tail).count(), 2);
}

/// The peer answers the warm-up's request for confirmation twice. Its second reply is still unread
/// when the window's request is sent.
#[test]
fn a_late_confirmation_of_the_warm_up_is_none_of_the_window() {
    let settings = batch(Pattern::OnewayBatch, Protocol::Udp, 0.01);
    let mut rule = invokes(|_| false);
    let mut first = true;
    let mut peer = Peer::that(move |n, call: &[u8]| {
        let mut answers = rule(n, call);
        if !answers.is_empty() && std::mem::take(&mut first) {
            answers.push(answers[0].clone());
        }
        answers
    });
    let asked = task(&settings, &Shared::new(1))
        .oneway_batch(&mut peer)
        .unwrap();
    assert_eq!((asked.answered, asked.confirmed), (50, true));
}

#[test]
fn a_batch_that_nobody_confirms_is_not_known_to_be_answered() {
    let settings = batch(Pattern::OnewayBatch, Protocol::Udp, 0.0);
    let mut peer = Peer::that(|_, _: &[u8]| vec![]);
    let began = Instant::now();
    let asked = task(&settings, &Shared::new(1))
        .oneway_batch(&mut peer)
        .unwrap();
    assert!(began.elapsed().as_secs_f64() < 5.0);
    assert_eq!(asked.counts.window, 50);
    assert!(!asked.confirmed);
}

fn twoway<F>(settings: &RunSettings, answers: F) -> (StreamAsked, Vec<Vec<u8>>)
where
    F: FnMut(usize, &[u8]) -> Vec<Vec<u8>> + Send,
{
    let shared = Shared::new(1);
    let mut peer = Peer::that(answers);
    let mut inbox = peer.inbox.clone();
    let asked = task(settings, &shared).twoway_batch(&mut peer, &mut inbox);
    assert!(shared.is_closed());
    (asked.unwrap(), peer.asked)
}

#[test]
fn two_way_calls_are_answered_while_others_are_handed_over() {
    for warmup_s in [0.0, 0.01] {
        let settings = RunSettings {
            raw: true,
            ..batch(Pattern::TwowayBatch, Protocol::Tcp, warmup_s)
        };
        let (asked, calls) = twoway(&settings, |_, call: &[u8]| vec![answer(of(call))]);
        assert_eq!((asked.counts.window, asked.answered), (50, 50));
        assert_eq!(asked.counts.run, calls.len() as u64);
        assert!(asked.confirmed);
        assert_eq!(asked.round_trip.summary().unwrap().count, 50);
        assert_eq!(asked.raw_ns.unwrap().len(), 50);
        assert!(asked.last_ns >= asked.first_ns);
    }
}

#[test]
fn lost_answers_of_two_way_calls_are_missed_and_those_of_strangers_ignored() {
    let settings = batch(Pattern::TwowayBatch, Protocol::Udp, 0.0);
    let (asked, _) = twoway(&settings, |n, call: &[u8]| {
        let mut header = of(call);
        if n % 10 == 9 {
            header.tag ^= 1;
        }
        vec![answer(header), vec![1; 5]]
    });
    assert_eq!((asked.counts.window, asked.answered), (50, 45));
    assert_eq!(asked.round_trip.summary().unwrap().count, 45);
}
