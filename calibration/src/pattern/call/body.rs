//! The body of a call that carries a vector of {i32, i32, f64}: encoded by the caller, decoded by
//! the responder, element by element in little endian.

use crate::frame::HEADER_BYTES;
use crate::settings::VECTOR_ELEMENT_BYTES;

/// One element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    /// First number.
    pub a: i32,
    /// Second number.
    pub b: i32,
    /// Third number.
    pub x: f64,
}

/// Vector of as many elements as a payload holds behind its header.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    elements: Vec<Element>,
}

const SIZE: usize = VECTOR_ELEMENT_BYTES as usize;

impl Vector {
    /// Creates a vector for calls of `payload_bytes`; all elements differ.
    pub fn of(payload_bytes: u32) -> Self {
        let count = (payload_bytes as usize).saturating_sub(HEADER_BYTES) / SIZE;
        let elements = (0..count as i32)
            .map(|i| Element {
                a: i,
                b: -i,
                x: f64::from(i) / 3.0,
            })
            .collect();
        Self { elements }
    }

    /// Creates an empty vector to decode into, with capacity for calls of `payload_bytes`.
    pub fn room(payload_bytes: u32) -> Self {
        Self {
            elements: Vec::with_capacity(payload_bytes as usize / SIZE),
        }
    }

    /// Writes the elements behind the header of `frame`.
    pub fn encode(&self, frame: &mut [u8]) {
        let places = frame[HEADER_BYTES..].chunks_exact_mut(SIZE);
        for (place, element) in places.zip(&self.elements) {
            place[0..4].copy_from_slice(&element.a.to_le_bytes());
            place[4..8].copy_from_slice(&element.b.to_le_bytes());
            place[8..16].copy_from_slice(&element.x.to_le_bytes());
        }
    }

    /// Replaces the elements by those behind the header of `frame`.
    pub fn decode(&mut self, frame: &[u8]) {
        self.elements.clear();
        let places = frame
            .get(HEADER_BYTES..)
            .unwrap_or_default()
            .chunks_exact(SIZE);
        self.elements.extend(places.map(element));
    }

    /// The elements.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }
}

fn element(place: &[u8]) -> Element {
    let mut bytes = [0; SIZE];
    bytes.copy_from_slice(place);
    let [a0, a1, a2, a3, b0, b1, b2, b3, x @ ..] = bytes;
    Element {
        a: i32::from_le_bytes([a0, a1, a2, a3]),
        b: i32::from_le_bytes([b0, b1, b2, b3]),
        x: f64::from_le_bytes(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(payload_bytes in 64u32..5000) {
            let vector = Vector::of(payload_bytes);
            let mut frame = vec![0; payload_bytes as usize];
            vector.encode(&mut frame);
            let mut decoded = Vector::room(payload_bytes);
            decoded.decode(&frame);
            prop_assert_eq!(&decoded, &vector);
            prop_assert_eq!(vector.elements().len() as u32, (payload_bytes - 32) / 16);
            prop_assert!(frame[..32].iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn fifty_thousand_elements_take_800_032_bytes() {
        assert_eq!(Vector::of(800_032).elements().len(), 50_000);
    }

    #[test]
    fn a_frame_without_a_body_decodes_to_nothing() {
        let mut vector = Vector::of(1000);
        vector.decode(&[0; 7]);
        assert!(vector.elements().is_empty());
    }
}
