//! The string literals of a Rust file. No parser: comments, strings and characters are told apart, and braces are
//! counted to know what belongs to `#[cfg(test)]`.

/// One literal, as written between its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    pub line: usize,
    pub text: String,
    /// Stands behind `=`: a constant, or a word of an enumeration.
    pub is_assigned: bool,
    pub is_test: bool,
}

/// All literals of a file in their order.
pub fn literals(source: &str) -> Vec<Literal> {
    let mut scanner = Scanner { rest: source, ..Scanner::default() };
    while let Some(next) = scanner.rest.chars().next() {
        scanner.step(next);
    }
    scanner.found
}

const TEST: &str = "#[cfg(test)]";

#[derive(Default)]
struct Scanner<'a> {
    rest: &'a str,
    found: Vec<Literal>,
    /// Lines before the rest.
    lines: usize,
    /// Last character that was neither white space nor comment.
    before: char,
    depth: usize,
    /// An item for tests begins; it ends with `;` or its block.
    is_announced: bool,
    /// Depth at which the block for tests stands.
    test: Option<usize>,
}

impl Scanner<'_> {
    fn step(&mut self, next: char) {
        if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(self.rest.find("*/").map_or(self.rest.len(), |end| end + 2));
        } else if self.rest.starts_with(TEST) {
            self.is_announced = true;
            self.skip(TEST.len());
        } else if let Some((open, close)) = quotes(self.rest, self.before) {
            self.literal(open, &close);
        } else if next == '\'' {
            self.skip(character(self.rest));
            self.before = next;
        } else {
            self.brace(next);
            if !next.is_whitespace() {
                self.before = next;
            }
            self.skip(next.len_utf8());
        }
    }

    fn literal(&mut self, open: usize, close: &str) {
        let inner = self.rest.get(open..).unwrap_or_default();
        let mut length = 0;
        while let Some(left) = inner.get(length..).filter(|left| !left.is_empty() && !left.starts_with(close))
        {
            let escaped = close == "\"" && left.starts_with('\\');
            length += left.chars().take(if escaped { 2 } else { 1 }).map(char::len_utf8).sum::<usize>();
        }
        self.found.push(Literal {
            line: self.lines + 1,
            text: inner.get(..length).unwrap_or_default().to_owned(),
            is_assigned: self.before == '=',
            is_test: self.test.is_some(),
        });
        self.before = '"';
        self.skip((open + length + close.len()).min(self.rest.len()));
    }

    fn brace(&mut self, next: char) {
        match next {
            '{' => {
                if std::mem::take(&mut self.is_announced) && self.test.is_none() {
                    self.test = Some(self.depth);
                }
                self.depth += 1;
            }
            '}' => {
                self.depth = self.depth.saturating_sub(1);
                self.test = self.test.filter(|test| *test != self.depth);
            }
            ';' => self.is_announced = false,
            _ => {}
        }
    }

    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.lines += passed.matches('\n').count();
        self.rest = rest;
    }
}

/// How many bytes open the literal that begins here, and what closes it.
fn quotes(rest: &str, before: char) -> Option<(usize, String)> {
    if rest.starts_with('"') {
        return Some((1, "\"".to_owned()));
    }
    let raw = rest.strip_prefix('r').filter(|_| !before.is_alphanumeric() && before != '_')?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let is_raw = raw.get(hashes..).is_some_and(|text| text.starts_with('"'));
    is_raw.then(|| (hashes + 2, format!("\"{}", "#".repeat(hashes))))
}

/// Length of a character, or of the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            let tail = rest.get(3..).unwrap_or_default();
            tail.find('\'').map_or(1, |end| end + 4)
        }
        Some(_) => chars.next().filter(|(_, close)| *close == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
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
