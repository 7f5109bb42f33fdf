//! A clone alone is enough: no file of the repository names a path outside of it, and every link leads somewhere.
//!
//! Three rules, for every text file that git knows:
//!
//! 1. A path that climbs (it begins with two dots and a slash) is one of a file or folder of the repository, seen from the
//!    folder of the file that names it or from one above: `include_str!` begins at the file, cargo at the crate, make at the root.
//! 2. No path into somebody's machine: below `/home`, `/root`, `/work` or `/Users`. Paths inside a container are listed
//!    in [`INSIDE_CONTAINERS`].
//! 3. A relative link of a Markdown page, from the page's own folder, is a file or folder of the repository.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};
use regex::Regex;

use crate::files;

/// Written by tools: names of crates and Go modules, and check sums.
const NOT_WRITTEN_BY_US: [&str; 3] = ["Cargo.lock", "go.mod", "go.sum"];

/// Paths that look like those of a machine but are inside a container: file, and path below `/`.
const INSIDE_CONTAINERS: [(&str, &str); 3] = [
    ("docs/spec/daemon.md", "root/.aws"),
    ("docs/spec/install.md", "root/.aws"),
    ("charts/kruise/templates/daemon.yaml", "root/.aws"),
];

/// Fails with every path and link that leads outside or nowhere.
pub fn check() -> anyhow::Result<()> {
    let files = files::all()?;
    let rules = Rules::new(&files)?;
    let mut faults = Vec::new();
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !NOT_WRITTEN_BY_US.contains(&name) {
            faults.extend(rules.faults(file, &files::read(file)?));
        }
    }
    anyhow::ensure!(faults.is_empty(), "a clone alone must be enough:\n{}", faults.join("\n"));
    Ok(())
}

struct Rules {
    /// Files and folders.
    known: BTreeSet<PathBuf>,
    climbing: Regex,
    machine: Regex,
}

impl Rules {
    fn new(files: &[PathBuf]) -> anyhow::Result<Self> {
        let known = files.iter().flat_map(|file| file.ancestors().map(Path::to_owned)).collect();
        let climbing = Regex::new(r"(?:^|[^\w./-])(\.\./[\w./-]*)")?;
        let machine = Regex::new(r"(?:^|[^\w./~-])(/(?:home|root|work|Users)/[\w./-]*)")?;
        Ok(Self { known, climbing, machine })
    }

    fn faults(&self, file: &Path, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let mut fault =
            |line: usize, words: String| faults.push(format!("{}:{line}: {words}", file.display()));
        for (line, words) in (1..).zip(text.lines()) {
            for found in self.climbing.captures_iter(words) {
                let (_, [path]) = found.extract();
                if !folders_above(file).any(|folder| self.knows(folder, path)) {
                    fault(line, format!("{path} is not in the repository"));
                }
            }
            for found in self.machine.captures_iter(words) {
                let (_, [path]) = found.extract();
                if !is_inside_a_container(file, path) {
                    fault(line, format!("{path} is a path of one machine"));
                }
            }
        }
        if file.extension().is_some_and(|ending| ending == "md") {
            for (line, link) in links(text) {
                if !self.knows(file.parent().unwrap_or(Path::new("")), &link) {
                    fault(line, format!("the link to {link} leads nowhere"));
                }
            }
        }
        faults
    }

    fn knows(&self, from: &Path, path: &str) -> bool {
        walk(from, Path::new(path)).is_some_and(|found| self.known.contains(&found))
    }
}

fn is_inside_a_container(file: &Path, path: &str) -> bool {
    INSIDE_CONTAINERS
        .iter()
        .any(|(page, inside)| file == Path::new(page) && path.strip_prefix('/') == Some(inside))
}

fn folders_above(file: &Path) -> impl Iterator<Item = &Path> {
    file.ancestors().skip(1)
}

/// Where a relative path leads, without a look at the disk; nowhere if it leaves the repository.
fn walk(from: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = from.to_owned();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => at.pop().then_some(())?,
            Component::Normal(name) => at.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(at)
}

/// Relative links and pictures of a page, without what follows `#`, and the lines they stand in.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event else { continue };
        let path = dest_url.split('#').next().unwrap_or_default();
        // With a colon it is the address of a page elsewhere.
        if !path.is_empty() && !path.contains(':') {
            let line = text.get(..range.start).unwrap_or_default().matches('\n').count() + 1;
            found.push((line, path.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check reads this file, too: what must not stand here is put together.
    fn climb(path: &str) -> String {
        format!("..{}{path}", '/')
    }

    fn faults(file: &str, text: &str) -> Vec<String> {
        let files = ["README.md", "docs/install.md", "testdata/golden/a.json", "crates/one/src/lib.rs"];
        let rules = Rules::new(&files.map(PathBuf::from)).unwrap();
        rules.faults(Path::new(file), text)
    }

    #[test]
    fn paths_that_climb_stay_in_the_repository() {
        let lib = "crates/one/src/lib.rs";
        let golden = climb(&climb("testdata/golden"));
        for inside in [&golden, &climb("."), &climb(&climb(".")), &climb("src/lib.rs")] {
            assert_eq!(faults(lib, &format!("join(\"{inside}\")")), Vec::<String>::new(), "{inside}");
        }
        for outside in [climb("shared"), climb(&climb(&climb(&climb("x")))), climb("missing.rs")] {
            let text = format!("first\njoin(\"{outside}\")");
            assert_eq!(faults(lib, &text), [format!("{lib}:2: {outside} is not in the repository")]);
        }
        assert_eq!(faults(lib, "`.../kruise-daemon` and a/b..c/d"), Vec::<String>::new());
    }

    #[test]
    fn paths_of_a_machine_are_told_from_those_of_others() {
        for (folder, is_fault) in [
            ("home", true),
            ("root", true),
            ("work", true),
            ("Users", true),
            ("var", false),
            ("homes", false),
        ] {
            let text = format!("see `/{folder}/x/y`");
            assert_eq!(faults("docs/install.md", &text).len(), usize::from(is_fault), "{text}");
        }
        assert_eq!(
            faults("docs/install.md", "https://example.com/home/x a/root/x ~/work/x"),
            Vec::<String>::new()
        );
        let (page, inside) = INSIDE_CONTAINERS[0];
        let inside = format!("/{inside}");
        assert_eq!(faults(page, &format!("mounts `{inside}`")), Vec::<String>::new());
        assert_eq!(faults("README.md", &format!("mounts `{inside}`")).len(), 1);
    }

    #[test]
    fn links_of_a_page_lead_to_files_and_folders() {
        let good = format!(
            "[a](install.md#values) [b]({}) [c](https://example.com/x) [d](#here) [e](mailto:a@b) `[f](gone.md)`",
            climb("README.md")
        );
        assert_eq!(faults("docs/install.md", &good), Vec::<String>::new());
        assert_eq!(faults("README.md", "[folder](docs/) [golden](testdata/golden)"), Vec::<String>::new());

        for bad in ["[a](gone.md)", "[a](/docs/install.md)", "![a](x.png)", "[a][ref]\n\n[ref]: gone.md"] {
            assert_eq!(faults("docs/install.md", bad).len(), 1, "{bad}");
        }
        let outside = format!("[a]({})", climb(&climb("x.md")));
        assert_eq!(faults("docs/install.md", &outside).len(), 2, "as a path and as a link");
    }

    #[test]
    fn nothing_outside_is_named() {
        check().unwrap();
    }
}
