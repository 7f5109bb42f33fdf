//! Counting writes in the API server's audit log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;

use crate::TestbedError;

/// The audit log of a cluster, or none.
#[derive(Debug)]
pub struct Log {
    path: Option<PathBuf>,
    /// Only writes to objects of this namespace.
    namespace: Option<String>,
}

/// How far the log was read.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

/// Writes by user agent, then by verb and resource, as in `patch pods/status`; refused ones with their code.
pub type Writes = BTreeMap<String, BTreeMap<String, u64>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    verb: String,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct ObjectRef {
    #[serde(default)]
    resource: String,
    namespace: Option<String>,
    subresource: Option<String>,
}

#[derive(Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl Log {
    pub fn at(path: Option<PathBuf>) -> Self {
        Self { path, namespace: None }
    }

    /// The same log; only writes to objects of this namespace are counted.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    fn counts(&self, event: &Event) -> bool {
        let namespace = event.object_ref.as_ref().and_then(|object| object.namespace.as_ref());
        self.namespace.is_none() || self.namespace.as_ref() == namespace
    }

    pub fn mark(&self) -> Result<Mark, TestbedError> {
        let Some(path) = &self.path else { return Ok(Mark(0)) };
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Mark(metadata.len())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Mark(0)),
            Err(error) => Err(TestbedError::io(format!("reading {}", path.display()))(error)),
        }
    }

    /// All writes since the mark.
    pub fn since(&self, mark: Mark) -> Result<Writes, TestbedError> {
        let Some(path) = &self.path else {
            return Ok(Writes::new());
        };
        let read = || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(mark.0))?;
            let mut writes = Writes::new();
            for line in BufReader::new(file).lines() {
                // The last line may be half written; it belongs to the next phase.
                if let Ok(event) = serde_json::from_str::<Event>(&line?)
                    && self.counts(&event)
                {
                    *writes
                        .entry(agent(&event.user_agent))
                        .or_default()
                        .entry(describe(&event))
                        .or_default() += 1;
                }
            }
            Ok(writes)
        };
        read().map_err(TestbedError::io(format!("reading {}", path.display())))
    }

    /// All writes of one user agent since the beginning.
    pub fn count_by(&self, user_agent: &str) -> Result<u64, TestbedError> {
        let writes = self.since(Mark(0))?;
        Ok(writes.get(user_agent).map_or(0, |by_verb| by_verb.values().sum()))
    }
}

/// The program without version and platform: `kube-scheduler/v1.36 (linux/amd64)` is the scheduler.
fn agent(user_agent: &str) -> String {
    let program = user_agent.split([' ', '/']).next().unwrap_or_default();
    if program.is_empty() { "unknown".to_owned() } else { program.to_owned() }
}

fn describe(event: &Event) -> String {
    let mut text = event.verb.clone();
    if let Some(object) = &event.object_ref {
        text.push(' ');
        text.push_str(&object.resource);
        if let Some(subresource) = &object.subresource {
            text.push('/');
            text.push_str(subresource);
        }
    }
    match &event.response_status {
        Some(status) if status.code >= 400 => format!("{text} ({})", status.code),
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_by_agent_verb_and_resource_since_the_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let line = |agent: &str, verb: &str, code: u16| {
            format!(
                r#"{{"verb":"{verb}","userAgent":"{agent}","objectRef":{{"resource":"pods","namespace":"a","subresource":"status"}},"responseStatus":{{"code":{code}}}}}"#
            )
        };
        std::fs::write(&path, line("old", "patch", 200) + "\n").unwrap();
        let log = Log::at(Some(path.clone()));
        let mark = log.mark().unwrap();
        let new = [
            line("kruise-manager/cloneset", "patch", 200),
            line("kruise-manager/x", "patch", 409),
            "{half".into(),
        ];
        std::fs::write(&path, line("old", "patch", 200) + "\n" + &new.join("\n")).unwrap();

        let writes = log.since(mark).unwrap();

        let expected = [("patch pods/status".to_owned(), 1), ("patch pods/status (409)".to_owned(), 1)];
        assert_eq!(writes, Writes::from([("kruise-manager".to_owned(), expected.into())]));
        assert_eq!(log.within("b").since(mark).unwrap(), Writes::new());
    }
}
