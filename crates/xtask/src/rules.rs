//! `make rules`: which rules of the specification have a test that names them.
//!
//! A rule is a line of `docs/spec` that starts with its id (`- CS-12 …`), or a row of a table whose first cell is an id
//! (`| B7 | …`). An id without a dash belongs to its page: `cloneset/B7`. A rule is covered when its id stands in a test: in
//! the name of a function (`cs_12_…`), or as a word of a comment or string in a test file or test module.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use regex::Regex;

use crate::files;

const SPEC: &str = "docs/spec";
const TEST_MODULE: &str = "#[cfg(test)]";

#[derive(Debug, clap::Args)]
pub struct Rules {
    /// Only these pages: cloneset, statefulset …
    spec: Vec<String>,
    /// Also list the ids that no test names
    #[arg(long)]
    missing: bool,
}

pub fn run(arguments: &Rules) -> anyhow::Result<()> {
    let tests = Tests::read()?;
    let ids = Ids::new()?;
    let (mut all, mut all_covered) = (0, 0);
    for file in files::with_ending(&["md"])?.iter().filter(|file| file.parent() == Some(Path::new(SPEC))) {
        let page = file.file_stem().and_then(|stem| stem.to_str()).context("a page without a name")?;
        if !arguments.spec.is_empty() && !arguments.spec.iter().any(|wanted| wanted == page) {
            continue;
        }
        let found = ids.of(page, &files::read(file)?);
        let missing: Vec<&str> = found.iter().map(String::as_str).filter(|id| !tests.name(id)).collect();
        let covered = found.len() - missing.len();
        all += found.len();
        all_covered += covered;
        println!("{page:26} {covered:4} of {:4}", found.len());
        if arguments.missing && !missing.is_empty() {
            println!("    missing: {}", missing.join(" "));
        }
    }
    println!("{:26} {all_covered:4} of {all:4}", "all");
    Ok(())
}

/// How ids look.
struct Ids {
    item: Regex,
    row: Regex,
}

impl Ids {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            item: Regex::new(r"^\s*- \**([A-Z]{2,4}(?:-[A-Z]+)?-\d+[a-z]?)\**\b")?,
            row: Regex::new(r"^\|\s*\**([A-Z]{1,4}(?:-[A-Z]+)?-?\d+[a-z]?)\**\s*\|")?,
        })
    }

    /// All ids of a page, each once, in their order.
    fn of(&self, page: &str, text: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for line in text.lines() {
            let Some(id) = self.item.captures(line).or_else(|| self.row.captures(line)) else { continue };
            let (_, [id]) = id.extract();
            let id = if id.contains('-') { id.to_owned() } else { format!("{page}/{id}") };
            if !found.contains(&id) {
                found.push(id);
            }
        }
        found
    }
}

/// What tests say, in lower case.
struct Tests {
    words: BTreeSet<String>,
    /// One function a line, between underscores: `_cs_12_pods_are_named_`.
    functions: String,
}

impl Tests {
    fn read() -> anyhow::Result<Self> {
        let mut text = String::new();
        for file in files::with_ending(&["rs"])? {
            text.push_str(test_part(&file, &files::read(&file)?));
        }
        Self::of(&text)
    }

    fn of(text: &str) -> anyhow::Result<Self> {
        let text = text.to_lowercase();
        let words = Regex::new(r"[a-z0-9]+(?:[-_/][a-z0-9]+)*")?;
        let mut functions = String::new();
        for function in Regex::new(r"fn\s+([a-z0-9_]+)")?.captures_iter(&text) {
            let (_, [name]) = function.extract();
            writeln!(functions, "_{name}_")?;
        }
        Ok(Self { words: words.find_iter(&text).map(|word| word.as_str().to_owned()).collect(), functions })
    }

    fn name(&self, id: &str) -> bool {
        let id = id.to_lowercase();
        self.words.contains(&id) || self.functions.contains(&format!("_{}_", id.replace(['-', '/'], "_")))
    }
}

/// All of a test file; of another one what follows the mark of its test module.
fn test_part<'a>(file: &Path, text: &'a str) -> &'a str {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_test = file.iter().any(|part| part == "tests")
        || name == "tests.rs"
        || name == "test.rs"
        || name.ends_with("_test.rs");
    if is_test {
        text
    } else {
        text.find(TEST_MODULE).and_then(|start| text.get(start..)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_items_and_tables() {
        let page = "- XX-1 first\n  - **XX-2a** inner\n- XX-1 again\n| B7 | row |\n| **YY-D-3** | row |\n- text XX-9\n| name | B8 |\n";

        let ids = Ids::new().unwrap().of("page", page);

        assert_eq!(ids, ["XX-1", "XX-2a", "page/B7", "YY-D-3"]);
    }

    #[test]
    fn rule_is_covered_by_a_name_or_a_word_and_not_by_a_longer_number() {
        let tests = Tests::of("fn xx_1_and_xx_2() {} // XX-3, page/B7\nfn xx_40() {} // XX-50").unwrap();

        for (id, is_covered) in [
            ("XX-1", true),
            ("XX-2", true),
            ("XX-3", true),
            ("page/B7", true),
            ("XX-4", false),
            ("XX-5", false),
        ] {
            assert_eq!(tests.name(id), is_covered, "{id}");
        }
    }

    #[test]
    fn only_tests_count() {
        let text = "fn xx_1() {}\n#[cfg(test)]\nmod tests {}\n";

        assert_eq!(test_part(Path::new("src/plan.rs"), text), "#[cfg(test)]\nmod tests {}\n");
        assert_eq!(test_part(Path::new("src/plan.rs"), "fn xx_1() {}"), "");
        for file in ["src/tests/plan.rs", "src/plan_test.rs", "src/tests.rs", "tests/node/src/lib.rs"] {
            assert_eq!(test_part(Path::new(file), text), text, "{file}");
        }
    }
}
