//! The expressions of a resources policy (SS-46, SS-47): a small language of numbers and quantities, read strictly (B9).

use std::fmt;

use crate::cluster::quantity::Quantity;

/// No expression that a person writes is longer or deeper; a bound on what admission reads.
const BYTES_MAX: usize = 1_024;
const DEPTH_MAX: usize = 64;

const UNITS: [&str; 11] = ["m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"];

/// What an expression may speak of: its own resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variable {
    Cpu,
    Memory,
}

/// An expression that has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    text: String,
    root: Node,
    variable: Variable,
}

/// Why there is no result. The sentence names the expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct NoResult {
    text: String,
    pub problem: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Number(Ratio),
    Quantity(Quantity),
    Variable,
    Minus(Box<Node>),
    Of(Operator, Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Max,
    Min,
}

/// An exact number, so that no result depends on how floats round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio {
    over: i128,
    /// Positive.
    under: i128,
}

#[derive(Debug, Clone, Copy)]
enum Term {
    Number(Ratio),
    Quantity(Quantity),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Number(Ratio),
    Quantity(Quantity),
    Word(String),
    Sign(char),
}

impl Variable {
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

impl Formula {
    pub fn read(text: &str, variable: Variable) -> Result<Self, NoResult> {
        let fail = |problem: String| NoResult { text: text.to_owned(), problem };
        if text.len() > BYTES_MAX {
            return Err(NoResult {
                text: text.chars().take(40).collect(),
                problem: format!("longer than {BYTES_MAX} bytes"),
            });
        }
        let tokens = tokens(text).map_err(fail)?;
        let mut parser = Parser { tokens: &tokens, at: 0, variable };
        let root = parser.sum(0).map_err(fail)?;
        match parser.next() {
            None => Ok(Self { text: text.to_owned(), root, variable }),
            Some(token) => Err(fail(format!("{token} is not expected here"))),
        }
    }

    /// With the aggregated resource of the targets. Negative results are errors (SS-47).
    pub fn value(&self, of: Quantity) -> Result<Quantity, NoResult> {
        let result = self.result(of)?;
        if result.milli() < 0 {
            return Err(self.fail(format!("the result is negative: {result}")));
        }
        Ok(result)
    }

    /// Whether it can have a result at all: its types fit, and it does not divide by zero. Whether it is negative depends on the
    /// pod (B9).
    pub fn check(&self) -> Result<(), NoResult> {
        let sample = match self.variable {
            Variable::Cpu => "1",
            Variable::Memory => "1Gi",
        };
        let sample = Quantity::read(sample).map_err(|error| self.fail(error.to_string()))?;
        self.result(sample).map(drop)
    }

    fn result(&self, of: Quantity) -> Result<Quantity, NoResult> {
        let term = evaluate(&self.root, of).map_err(|problem| self.fail(problem))?;
        let result = match term {
            Term::Quantity(quantity) => Some(quantity),
            Term::Number(ratio) => plain().and_then(|plain| plain.with_milli(ratio.times(1_000)?.floor())),
        };
        let result = result.ok_or_else(|| self.fail("the result is too large".to_owned()))?;
        Ok(match self.variable {
            Variable::Cpu => result,
            // B9: no fraction of a byte.
            Variable::Memory => result.whole(),
        })
    }

    fn fail(&self, problem: String) -> NoResult {
        NoResult { text: self.text.clone(), problem }
    }
}

/// One, in decimal spelling.
fn plain() -> Option<Quantity> {
    Quantity::read("1").ok()
}

fn evaluate(node: &Node, of: Quantity) -> Result<Term, String> {
    let too_large = || "a number in it is too large".to_owned();
    match node {
        Node::Number(ratio) => Ok(Term::Number(*ratio)),
        Node::Quantity(quantity) => Ok(Term::Quantity(*quantity)),
        Node::Variable => Ok(Term::Quantity(of)),
        Node::Minus(inner) => match evaluate(inner, of)? {
            Term::Number(Ratio { over, under }) => {
                Ok(Term::Number(Ratio { over: over.checked_neg().ok_or_else(too_large)?, under }))
            }
            Term::Quantity(one) => one.with_milli(-one.milli()).map(Term::Quantity).ok_or_else(too_large),
        },
        Node::Of(operator, left, right) => {
            let (left, right) = (evaluate(left, of)?, evaluate(right, of)?);
            match operator {
                Operator::Multiply => multiply(left, right),
                Operator::Divide => divide(left, right),
                Operator::Add | Operator::Subtract | Operator::Max | Operator::Min => {
                    combine(*operator, left, right).ok_or_else(too_large)
                }
            }
        }
    }
}

/// A number beside a quantity becomes one, in thousandths.
fn combine(operator: Operator, left: Term, right: Term) -> Option<Term> {
    let choose = |a: i128, b: i128| match operator {
        Operator::Subtract => a.checked_sub(b),
        Operator::Max => Some(a.max(b)),
        Operator::Min => Some(a.min(b)),
        Operator::Add | Operator::Multiply | Operator::Divide => a.checked_add(b),
    };
    let (like, a, b) = match (left, right) {
        (Term::Number(a), Term::Number(b)) => {
            let (x, y) = (a.over.checked_mul(b.under)?, b.over.checked_mul(a.under)?);
            return Ratio::new(choose(x, y)?, a.under.checked_mul(b.under)?).map(Term::Number);
        }
        (Term::Quantity(a), Term::Quantity(b)) => {
            let like = match operator {
                Operator::Max if b > a => b,
                Operator::Min if b < a => b,
                Operator::Max
                | Operator::Min
                | Operator::Add
                | Operator::Subtract
                | Operator::Multiply
                | Operator::Divide => a,
            };
            (like, a.milli(), b.milli())
        }
        (Term::Quantity(a), Term::Number(b)) => (a, a.milli(), b.times(1_000)?.whole()),
        (Term::Number(a), Term::Quantity(b)) => (b, a.times(1_000)?.whole(), b.milli()),
    };
    like.with_milli(choose(a, b)?).map(Term::Quantity)
}

fn multiply(left: Term, right: Term) -> Result<Term, String> {
    let result = match (left, right) {
        (Term::Quantity(_), Term::Quantity(_)) => {
            return Err("a quantity cannot be multiplied by a quantity: use a plain number".to_owned());
        }
        (Term::Number(a), Term::Number(b)) => a.multiply(b).map(Term::Number),
        (Term::Quantity(one), Term::Number(by)) | (Term::Number(by), Term::Quantity(one)) => {
            by.times(one.milli()).and_then(|milli| one.with_milli(milli.whole())).map(Term::Quantity)
        }
    };
    result.ok_or_else(|| "a number in it is too large".to_owned())
}

fn divide(left: Term, right: Term) -> Result<Term, String> {
    let Term::Number(by) = right else {
        return Err("nothing can be divided by a quantity: use a plain number".to_owned());
    };
    let Some(inverse) = by.inverse() else { return Err("it divides by zero".to_owned()) };
    multiply(left, Term::Number(inverse))
}

impl Ratio {
    /// In lowest terms; absent for a zero below.
    fn new(over: i128, under: i128) -> Option<Self> {
        if under == 0 || over == i128::MIN || under == i128::MIN {
            return None;
        }
        let divisor = gcd(over.abs(), under.abs()).max(1);
        let sign = under.signum();
        Some(Self { over: over / divisor * sign, under: under / divisor * sign })
    }

    fn multiply(self, other: Self) -> Option<Self> {
        Self::new(self.over.checked_mul(other.over)?, self.under.checked_mul(other.under)?)
    }

    fn times(self, number: i128) -> Option<Self> {
        Self::new(self.over.checked_mul(number)?, self.under)
    }

    fn inverse(self) -> Option<Self> {
        Self::new(self.under, self.over)
    }

    /// Towards zero.
    fn whole(self) -> i128 {
        self.over / self.under
    }

    fn floor(self) -> i128 {
        self.over.div_euclid(self.under)
    }
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    variable: Variable,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn takes(&mut self, sign: char) -> bool {
        let is_there = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_there);
        is_there
    }

    fn sum(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.product(depth)?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign('+')) => Operator::Add,
                Some(Token::Sign('-')) => Operator::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Node::Of(operator, Box::new(left), Box::new(self.product(depth)?));
        }
    }

    fn product(&mut self, depth: usize) -> Result<Node, String> {
        let mut left = self.single(depth)?;
        loop {
            let operator = match self.peek() {
                Some(Token::Sign('*')) => Operator::Multiply,
                Some(Token::Sign('/')) => Operator::Divide,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Node::Of(operator, Box::new(left), Box::new(self.single(depth)?));
        }
    }

    fn single(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEPTH_MAX {
            return Err("too many parentheses".to_owned());
        }
        match self.next() {
            None => Err("it ends too early".to_owned()),
            Some(Token::Number(ratio)) => Ok(Node::Number(ratio)),
            Some(Token::Quantity(quantity)) => Ok(Node::Quantity(quantity)),
            Some(Token::Sign('-')) => Ok(Node::Minus(Box::new(self.single(depth + 1)?))),
            Some(Token::Sign('(')) => {
                let inner = self.sum(depth + 1)?;
                if self.takes(')') { Ok(inner) } else { Err("a closing parenthesis is missing".to_owned()) }
            }
            Some(Token::Word(word)) => self.word(&word.to_lowercase(), depth),
            Some(token @ Token::Sign(_)) => Err(format!("{token} is not expected here")),
        }
    }

    fn word(&mut self, word: &str, depth: usize) -> Result<Node, String> {
        let operator = match word {
            "max" => Operator::Max,
            "min" => Operator::Min,
            _ if word == self.variable.name() => return Ok(Node::Variable),
            _ => {
                let name = self.variable.name();
                return Err(format!("unknown word {word:?}: use {name}, max or min"));
            }
        };
        if !self.takes('(') {
            return Err(format!("{word} needs two arguments in parentheses"));
        }
        let left = self.sum(depth + 1)?;
        let comma = self.takes(',');
        if !comma {
            return Err(format!("{word} needs exactly two arguments"));
        }
        let right = self.sum(depth + 1)?;
        if !self.takes(')') {
            return Err(format!("{word} needs exactly two arguments"));
        }
        Ok(Node::Of(operator, Box::new(left), Box::new(right)))
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '\t' | '\n' | '\r' => first.len_utf8(),
            '+' | '-' | '*' | '/' | '(' | ')' | ',' => {
                tokens.push(Token::Sign(first));
                1
            }
            '0'..='9' | '.' => {
                let (token, length) = number(rest)?;
                tokens.push(token);
                length
            }
            _ if first.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                tokens.push(Token::Word(rest.get(..end).unwrap_or_default().to_owned()));
                end
            }
            _ => return Err(format!("{first:?} is not expected here")),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(tokens)
}

/// A number, a percentage, or a quantity with its unit.
fn number(text: &str) -> Result<(Token, usize), String> {
    let digits = |from: &str| from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
    let after = |at: usize| text.get(at..).unwrap_or_default();
    let whole = digits(text);
    let mut end = whole;
    if after(end).starts_with('.') {
        end += 1 + digits(after(end + 1));
    }
    let mantissa_end = end;
    let exponent = after(end).strip_prefix(['e', 'E']).map(|rest| {
        let sign = usize::from(rest.starts_with(['+', '-']));
        (sign, digits(rest.get(sign..).unwrap_or_default()))
    });
    if let Some((sign, length)) = exponent.filter(|(_, length)| *length > 0) {
        end += 1 + sign + length;
    }
    let written = text.get(..end).unwrap_or_default();
    let suffix_length = after(end).find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after(end).len());
    let suffix = after(end).get(..suffix_length).unwrap_or_default();
    let unreadable = || format!("{written:?} is no number");
    if !suffix.is_empty() {
        if !UNITS.contains(&suffix) {
            return Err(format!(
                "unknown unit {suffix:?} in {written}{suffix}: use one of {}",
                UNITS.join(" ")
            ));
        }
        if end != mantissa_end {
            return Err(format!("{written}{suffix}: use either an exponent or a unit"));
        }
        let quantity = Quantity::read(&format!("{written}{suffix}")).map_err(|error| error.to_string())?;
        return Ok((Token::Quantity(quantity), end + suffix_length));
    }
    let ratio = ratio(written).ok_or_else(unreadable)?;
    if after(end).starts_with('%') {
        let hundredth = Ratio::new(1, 100).and_then(|part| ratio.multiply(part)).ok_or_else(unreadable)?;
        return Ok((Token::Number(hundredth), end + 1));
    }
    Ok((Token::Number(ratio), end))
}

/// `1`, `.5`, `1.25`, `1e3`.
fn ratio(text: &str) -> Option<Ratio> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = 10_i128.checked_pow(power.unsigned_abs())?;
    if power < 0 { Ratio::new(digits, scale) } else { Ratio::new(digits.checked_mul(scale)?, 1) }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(Ratio { over, under: 1 }) => write!(out, "{over}"),
            Self::Number(Ratio { over, under }) => write!(out, "{over}/{under}"),
            Self::Quantity(quantity) => write!(out, "{quantity}"),
            Self::Word(word) => write!(out, "{word:?}"),
            Self::Sign(sign) => write!(out, "{sign:?}"),
        }
    }
}
