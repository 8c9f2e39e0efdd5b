use super::*;
use crate::pattern::wire::{Peer, STREAM, TAG, counted, headers};
use crate::settings::{Pattern, Protocol};
use std::time::Instant;

fn asked_of<C: FrameSender + FrameReceiver>(settings: &RunSettings, peer: &mut C) -> StreamAsked {
    task(settings, &Shared::new(1)).one_by_one(peer).unwrap()
}

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

fn pings(protocol: Protocol, payload_bytes: u32, frames: u64) -> RunSettings {
    RunSettings {
        pattern: Pattern::PingPong,
        ..counted(protocol, payload_bytes, frames)
    }
}

/// Sends every question back.
fn echo(_: usize, question: &[u8]) -> Vec<Vec<u8>> {
    vec![question.to_vec()]
}

#[test]
fn every_question_is_answered_and_timed() {
    let settings = RunSettings {
        raw: true,
        ..pings(Protocol::Udp, 64, 10)
    };
    let mut peer = Peer::that(echo);
    let asked = asked_of(&settings, &mut peer);
    assert_eq!((asked.counts.window, asked.counts.run), (10, 10));
    assert_eq!((asked.answered, asked.confirmed), (10, true));
    assert_eq!(asked.raw_ns.unwrap().len(), 10);
    let round_trip = asked.round_trip.summary().unwrap();
    assert_eq!((round_trip.count, round_trip.negative), (10, 0));
    let questions = headers(&peer.asked);
    assert!(questions.iter().zip(0..).all(|(h, n)| h.seq == n));
    assert!(questions.iter().all(|h| h.phase == Phase::Window));
    assert_eq!(asked.first_ns, questions[0].sent_ns);
    assert!(asked.last_ns >= questions[9].sent_ns);
}

#[test]
fn the_warm_up_is_answered_and_not_timed() {
    let settings = RunSettings {
        warmup_s: 0.02,
        ..pings(Protocol::Udp, 64, 5)
    };
    let mut peer = Peer::that(echo);
    let asked = asked_of(&settings, &mut peer);
    assert_eq!((asked.counts.window, asked.answered), (5, 5));
    assert_eq!(asked.counts.run, peer.asked.len() as u64);
    assert_eq!(asked.round_trip.summary().unwrap().count, 5);
    assert!(headers(&peer.asked).is_sorted_by_key(|h| h.phase as u8));
}

#[test]
fn only_so_many_round_trips_are_kept() {
    let settings = RunSettings {
        raw: true,
        ..pings(Protocol::Udp, 64, 10)
    };
    let shared = Shared::new(1);
    let few = AskTask {
        kept_frames: 3,
        ..task(&settings, &shared)
    };
    let asked = few.one_by_one(&mut Peer::that(echo)).unwrap();
    assert_eq!(asked.raw_ns.unwrap().len(), 3);
    assert_eq!(asked.round_trip.summary().unwrap().count, 10);
}

#[test]
fn frames_without_room_for_a_number_answer_what_was_asked_last() {
    for (question, answer) in [(1, 1), (31, 64), (64, 31)] {
        let settings = RunSettings {
            reply_bytes: Some(answer),
            ..pings(Protocol::Udp, question, 10)
        };
        let mut peer = Peer::that(move |_, _: &[u8]| vec![vec![1; answer as usize]]);
        let asked = asked_of(&settings, &mut peer);
        assert_eq!((asked.counts.window, asked.answered), (10, 10));
        assert!(peer.asked.iter().all(|q| q.len() == question as usize));
        if question < 32 {
            assert!(peer.asked.iter().all(|q| q[0] == Phase::Window as u8));
        }
    }
}

#[test]
fn a_lost_answer_is_given_up_and_a_late_one_is_none() {
    let settings = pings(Protocol::Udp, 64, 5);
    let mut kept = Vec::new();
    // The reply to the third request arrives late, just before the reply to the fourth.
    let mut peer = Peer::that(move |n, question: &[u8]| match n {
        2 => {
            kept = question.to_vec();
            vec![]
        }
        3 => vec![kept.clone(), question.to_vec()],
        _ => vec![question.to_vec()],
    });
    let began = Instant::now();
    let asked = asked_of(&settings, &mut peer);
    let patience = Duration::from_nanos(patience_ns(&settings));
    assert!((patience..4 * patience).contains(&began.elapsed()));
    assert_eq!((asked.counts.window, asked.answered), (5, 4));
    let round_trip = asked.round_trip.summary().unwrap();
    assert_eq!(round_trip.count, 4);
    assert!(round_trip.max_s < patience.as_secs_f64());
}

#[test]
fn a_late_answer_without_a_number_is_thrown_away_before_the_next_question() {
    let settings = pings(Protocol::Udp, 8, 3);
    let mut peer = Peer::that(|n, _: &[u8]| match n {
        // The first request gets two replies. The second gets none, and must not count the surplus
        // reply.
        0 => vec![vec![1; 8]; 2],
        1 => vec![],
        _ => vec![vec![1; 8]],
    });
    let asked = asked_of(&settings, &mut peer);
    assert_eq!((asked.counts.window, asked.answered), (3, 2));
}

#[test]
fn an_answer_of_another_run_is_none() {
    let settings = pings(Protocol::Udp, 64, 1);
    let mut peer = Peer::that(|_, question: &[u8]| {
        let mut answer = question.to_vec();
        answer[0] ^= 1;
        vec![answer]
    });
    let asked = asked_of(&settings, &mut peer);
    assert_eq!((asked.counts.window, asked.answered), (1, 0));
    assert!(asked.round_trip.summary().is_none());
}

#[test]
fn a_refused_question_is_asked_and_not_answered() {
    struct Refusing<P>(P, u32);
    impl<P: FrameSender> FrameSender for Refusing<P> {
        fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
            self.1 += 1;
            if self.1 == 2 {
                Ok(false)
            } else {
                self.0.send(frame)
            }
        }
    }
    impl<P: FrameReceiver> FrameReceiver for Refusing<P> {
        fn receive(
            &mut self,
            timeout: Duration,
            each: impl FnMut(u64, &[u8]),
        ) -> io::Result<usize> {
            self.0.receive(timeout, each)
        }
        fn delivered_bytes(&self) -> Option<u64> {
            None
        }
        fn overflow(&self) -> Option<u64> {
            None
        }
    }
    let settings = pings(Protocol::Udp, 64, 4);
    let began = Instant::now();
    let asked = asked_of(&settings, &mut Refusing(Peer::that(echo), 0));
    assert_eq!((asked.counts.window, asked.counts.run), (4, 3));
    assert_eq!(asked.answered, 3);
    assert!(began.elapsed() < Duration::from_nanos(patience_ns(&settings)));
}

#[test]
fn questions_keep_to_their_schedule() {
    let settings = RunSettings {
        rate_fps: Some(6000.0),
        ..pings(Protocol::Udp, 64, 20)
    };
    let mut peer = Peer::that(echo);
    let shared = Shared::new(1);
    let task = task(&settings, &shared);
    task.one_by_one(&mut peer).unwrap();
    // A third of the rate, two thirds of a period behind the first stream.
    let due = |n: u64| task.start_ns + 333_333 + n * 500_000;
    let on_time = |(n, h): (u64, &Header)| h.sent_ns >= due(n);
    assert!((0..).zip(&headers(&peer.asked)).all(on_time));
}

#[test]
fn it_stops_when_told_also_while_it_waits() {
    let settings = pings(Protocol::Tcp, 64, 10);
    let shared = Shared::new(1);
    let mut peer = Peer::that(|n, question: &[u8]| {
        if n < 3 {
            return vec![question.to_vec()];
        }
        shared.stop();
        vec![]
    });
    let asked = task(&settings, &shared).one_by_one(&mut peer).unwrap();
    assert_eq!((asked.counts.window, asked.answered), (4, 3));
    assert!(shared.is_closed());
}

#[test]
fn a_vector_is_encoded_into_every_question() {
    let settings = RunSettings {
        pattern: Pattern::Call,
        body: Body::Vector,
        ..counted(Protocol::Tcp, 32 + 3 * 16, 2)
    };
    let mut peer = Peer::that(|_, question: &[u8]| vec![question[..32].to_vec()]);
    let asked = asked_of(&settings, &mut peer);
    assert_eq!(asked.answered, 2);
    let mut decoded = Vector::room(80);
    for question in &peer.asked {
        decoded.decode(question);
        assert_eq!(decoded, Vector::of(80));
    }
}
