//! The string literals of a Rust file.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One literal, as written between its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    pub line: usize,
    pub text: String,
    /// Stands behind `=`: a constant, or a word of an enumeration.
    pub is_assigned: bool,
    pub is_test: bool,
}

/// All literals of a file in their order. Comments for documentation are not among them.
pub fn literals(source: &str) -> anyhow::Result<Vec<Literal>> {
    let tokens = TokenStream::from_str(source).map_err(|error| anyhow::anyhow!("not Rust: {error}"))?;
    let mut found = Vec::new();
    collect(tokens, Place::Product, &mut found);
    Ok(found)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Product,
    Test,
}

fn collect(tokens: TokenStream, place: Place, found: &mut Vec<Literal>) {
    let mut before = None;
    // An item for tests begins with its attribute; it ends with `;` or its block.
    let mut is_announced = false;
    for token in tokens {
        match &token {
            TokenTree::Literal(literal) => {
                found.extend(text(&literal.to_string()).map(|text| Literal {
                    line: literal.span().start().line,
                    text: text.to_owned(),
                    is_assigned: before == Some('='),
                    is_test: place == Place::Test,
                }));
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let is_test = std::mem::take(&mut is_announced);
                collect(group.stream(), if is_test { Place::Test } else { place }, found);
            }
            TokenTree::Group(group) if before == Some('#') => match attribute(&group.stream()) {
                Attribute::Test => is_announced = true,
                // What the compiler makes of `///` and `//!`.
                Attribute::Doc => {}
                Attribute::Other => collect(group.stream(), place, found),
            },
            TokenTree::Group(group) => collect(group.stream(), place, found),
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_announced = false,
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
        before = match token {
            TokenTree::Punct(punct) if punct.as_char() == '!' && before == Some('#') => before, // `#![…]`
            TokenTree::Punct(punct) => Some(punct.as_char()),
            TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => None,
        };
    }
}

enum Attribute {
    Test,
    Doc,
    Other,
}

fn attribute(tokens: &TokenStream) -> Attribute {
    let is_doc = matches!(tokens.clone().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc");
    if is_doc {
        return Attribute::Doc;
    }
    let words: String = tokens.to_string().split_whitespace().collect();
    if words == "cfg(test)" { Attribute::Test } else { Attribute::Other }
}

/// What is between the quotes of a string, raw or not; nothing for numbers and characters.
fn text(literal: &str) -> Option<&str> {
    let (prefix, rest) = literal.split_once('"')?;
    let is_string = prefix.chars().all(|one| matches!(one, 'b' | 'c' | 'r' | '#'));
    rest.rsplit_once('"').filter(|_| is_string).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_from_comments_characters_and_tests() {
        let source = r##"
            // "comment"
            const A: &str = "a\"b"; /* "no" */ let c = '"'; fn f<'a>(x: &'a str) { g("plain", r#"raw "x" y"#) }
            #[cfg(test)]
            mod tests { fn t() { h("test") } }
            fn after() { i("after") }
        "##;
        let found: Vec<_> = literals(source)
            .unwrap()
            .into_iter()
            .map(|one| (one.text, one.line, one.is_assigned, one.is_test))
            .collect();

        let expected = [
            ("a\\\"b", 3, true, false),
            ("plain", 3, false, false),
            ("raw \"x\" y", 3, false, false),
            ("test", 5, false, true),
            ("after", 6, false, false),
        ];
        assert_eq!(
            found,
            expected.map(|(text, line, assigned, test)| (text.to_owned(), line, assigned, test))
        );
    }
}
