//! The fields of a message of Protocol Buffers, without its schema.

/// The value of a field, by how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'m> {
    /// Integers, booleans and enums.
    Varint(u64),
    /// Eight bytes.
    Fixed64([u8; 8]),
    /// Texts, bytes, messages and packed numbers.
    Bytes(&'m [u8]),
    /// Four bytes.
    Fixed32([u8; 4]),
}

impl<'m> Field<'m> {
    /// The bytes of a text or of a message.
    pub fn bytes(self) -> Option<&'m [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A text.
    pub fn text(self) -> Option<&'m str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    /// An integer.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Varint(value) => Some(value),
            _ => None,
        }
    }

    /// A number with a fraction.
    pub fn float(self) -> Option<f64> {
        match self {
            Self::Fixed32(bytes) => Some(f32::from_le_bytes(bytes).into()),
            Self::Fixed64(bytes) => Some(f64::from_le_bytes(bytes)),
            _ => None,
        }
    }
}

/// The fields of a message with their numbers, in the order in which they are written; up to where it is damaged.
pub fn fields(message: &[u8]) -> Fields<'_> {
    Fields(message)
}

/// See [`fields`].
#[derive(Clone, Debug)]
pub struct Fields<'m>(&'m [u8]);

impl<'m> Fields<'m> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    fn one(&mut self) -> Option<(u64, Field<'m>)> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(self.array()?),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Field::Bytes(bytes)
            }
            5 => Field::Fixed32(self.array()?),
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = (u64, Field<'m>);

    fn next(&mut self) -> Option<Self::Item> {
        let field = (!self.0.is_empty()).then(|| self.one()).flatten();
        if field.is_none() {
            self.0 = &[];
        }
        field
    }
}

/// A field of a message, the last one where there are several.
pub fn last(message: &[u8], number: u64) -> Option<Field<'_>> {
    let of_number = fields(message).filter(|(found, _)| *found == number);
    of_number.last().map(|(_, field)| field)
}
