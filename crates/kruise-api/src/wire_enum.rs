//! Enumerations that keep what they do not know.
//!
//! A closed Rust enum would make an object unreadable because of one word from a newer release. These enums have a
//! last variant `Other` for such words, so that reading and writing loses nothing; whether the API server refuses
//! them is a matter of the CRD (`closed`, `closed or empty`, `open`).

/// Declares a string enumeration of the wire format.
macro_rules! wire_enum {
    (
        $(#[$meta:meta])*
        $closed:ident $(or $empty:ident)? enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
            /// A word that this release does not know, kept as it was read.
            Other(String),
        }

        impl $name {
            /// All words that this release knows.
            pub const WORDS: &'static [&'static str] = &[$($text),+];

            /// The word on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $( $text => Self::$variant, )+
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Ok(Self::from(text.as_ref()))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::wire_enum::wire_enum!(@schema $closed $($empty)? [$($text),+])
            }
        }
    };
    (@schema closed [$($text:literal),+]) => {
        schemars::json_schema!({ "type": "string", "enum": [$($text),+] })
    };
    (@schema closed empty [$($text:literal),+]) => {
        schemars::json_schema!({ "type": "string", "enum": [$($text),+, ""] })
    };
    (@schema open [$($text:literal),+]) => {
        schemars::json_schema!({ "type": "string" })
    };
}

pub(crate) use wire_enum;

#[cfg(test)]
mod tests {
    wire_enum! {
        /// Two words.
        closed or empty enum Word {
            /// First.
            One = "One",
            /// Second.
            Two = "2",
        }
    }

    #[test]
    fn unknown_words_survive() {
        for text in ["One", "2", "Three", ""] {
            let json = serde_json::json!(text);
            let word: Word = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&word).unwrap(), json);
        }
        assert_eq!(Word::from("2"), Word::Two);
        assert_eq!(Word::WORDS, ["One", "2"]);
    }
}
