//! What a JSON text will cost as a tree, before it is made one: a text of small values becomes fifty times its size, and a deep one
//! can exhaust a stack.

/// Levels of nesting. Schemas of Kubernetes need about thirty.
const DEPTH_MAX: usize = 100;
/// A value in a list or object, with the room that growing lists keep.
const VALUE: usize = 160;
/// What an object takes for its first member, on top of the value.
const OBJECT: usize = 480;

/// How large a JSON text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight {
    /// Numbers, strings, words, lists and objects.
    pub values: usize,
    /// Bytes of the tree, roughly and rather too many than too few.
    pub bytes: usize,
}

/// Weighs in one pass and without memory; `Err` says what is wrong. What is no JSON is found out later, by who reads it.
pub(super) fn weigh(text: &[u8]) -> Result<Weight, String> {
    let (mut depth, mut values, mut objects) = (0_usize, 1_usize, 0_usize);
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                objects += usize::from(*byte == b'{');
                if DEPTH_MAX < depth {
                    return Err(format!("values may be nested {DEPTH_MAX} levels deep"));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    let tree = values.saturating_mul(VALUE).saturating_add(objects.saturating_mul(OBJECT));
    Ok(Weight { values, bytes: tree.saturating_add(text.len()) })
}

fn skip_string<'a>(bytes: &mut impl Iterator<Item = &'a u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_one_value_whatever_they_hold() {
        let values = |text: &str| weigh(text.as_bytes()).unwrap().values;
        assert_eq!(values("[1,2,3]"), values(r#"["[,","\",{","]"]"#));
        assert!(values("[[[]]]") > values("[]"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(weigh(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert!(weigh(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err().contains("100 levels"));
        assert!(weigh("[]".repeat(1_000).as_bytes()).is_ok());
    }

    #[test]
    fn small_values_weigh_much_more_than_their_text() {
        let text = format!("[{}0]", "0,".repeat(1 << 20));
        assert!(weigh(text.as_bytes()).unwrap().bytes > 64 << 20);
        let objects = format!("[{}0]", r#"{"a":0},"#.repeat(1 << 16));
        assert!(weigh(objects.as_bytes()).unwrap().bytes > 32 << 20);
    }
}
