//! Rate of a window from the frames at its edges: number of frames and the time between them.

/// Window of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edges {
    /// Time of the last frame before the window, in ns; 0 if there is none.
    pub before_ns: u64,
    /// Time of the window's first frame; 0 without one.
    pub first_ns: u64,
    /// Time of the window's last frame.
    pub last_ns: u64,
    /// Frames of the window.
    pub frames: u64,
    /// Number of frames with the time of the first frame: those of one read or of one batch.
    pub first_frames: u64,
}

/// Frames of all streams together over one span.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Span {
    /// Frames that came inside the span.
    pub frames: u64,
    /// Its length, in ns.
    pub length_ns: u64,
}

impl Span {
    /// Returns the common span of all streams' windows.
    ///
    /// Each counted frame contributes the gap before it, so n frames after a warm-up frame have n
    /// gaps, and a pause at the start of the window counts. The span begins with the last frame of
    /// any stream before the first frame of the window. If there is none, it begins with that first
    /// frame; frames with the time of the first frame are then not counted, as they have no gap.
    /// The span ends with the last frame of any stream.
    pub fn of(streams: &[Edges]) -> Option<Self> {
        let known = || streams.iter().filter(|edges| edges.frames > 0);
        let first_ns = known().map(|edges| edges.first_ns).min()?;
        let last_ns = known().map(|edges| edges.last_ns).max()?;
        let before_ns = streams
            .iter()
            .map(|edges| edges.before_ns.min(first_ns))
            .max()?;
        let from_ns = if before_ns == 0 { first_ns } else { before_ns };
        let at_the_edge = known().filter(|edges| edges.first_ns == from_ns);
        let frames: u64 = known().map(|edges| edges.frames).sum();
        let uncounted: u64 = at_the_edge.map(|edges| edges.first_frames).sum();
        let span = Self {
            frames: frames - uncounted,
            length_ns: last_ns.saturating_sub(from_ns),
        };
        (span.frames > 0 && span.length_ns > 0).then_some(span)
    }

    /// Frames a second.
    pub fn rate_fps(&self) -> f64 {
        self.frames as f64 / self.length_ns as f64 * 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(before_ns: u64, first_ns: u64, last_ns: u64, frames: u64) -> Edges {
        Edges {
            before_ns,
            first_ns,
            last_ns,
            frames,
            first_frames: 1,
        }
    }

    #[test]
    fn a_frame_before_the_window_gives_every_frame_its_gap() {
        let span = Span::of(&[edges(1_000, 2_000, 11_000, 10)]).unwrap();
        assert_eq!(
            span,
            Span {
                frames: 10,
                length_ns: 10_000
            }
        );
        assert!((span.rate_fps() - 1e6).abs() < 1e-6);
    }

    #[test]
    fn without_one_the_first_has_no_gap() {
        assert_eq!(
            Span::of(&[edges(0, 2_000, 11_000, 10)]).unwrap().rate_fps(),
            1e6
        );
        assert_eq!(Span::of(&[edges(0, 2_000, 2_000, 1)]), None);
        assert_eq!(Span::of(&[Edges::default()]), None);
        assert_eq!(Span::of(&[]), None);
    }

    #[test]
    fn frames_of_one_read_with_the_last_before_have_no_time() {
        let edges = Edges {
            first_frames: 4,
            ..edges(2_000, 2_000, 11_000, 13)
        };
        assert_eq!(
            Span::of(&[edges]).unwrap(),
            Span {
                frames: 9,
                length_ns: 9_000
            }
        );
    }

    #[test]
    fn streams_that_end_early_do_not_raise_the_rate() {
        let span = Span::of(&[edges(0, 1, 1_001, 11), edges(0, 1, 101, 11)]).unwrap();
        assert_eq!(
            span,
            Span {
                frames: 20,
                length_ns: 1_000
            }
        );
    }

    #[test]
    fn streams_of_one_frame_count() {
        // Eight streams of one frame a second each: together a frame every 125 ms.
        let streams: Vec<Edges> = (0..8u64)
            .map(|n| {
                edges(
                    1 + n * 125_000_000,
                    1_000_000_001 + n * 125_000_000,
                    1_000_000_001 + n * 125_000_000,
                    1,
                )
            })
            .collect();
        assert!((Span::of(&streams).unwrap().rate_fps() - 8.0).abs() < 1e-9);
    }
}
