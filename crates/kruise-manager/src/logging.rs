//! What log lines look like: text for people, or JSON with the fields of the original (platform.md 6).

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::flags::Flags;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

impl FromStr for Format {
    type Err = String;

    /// Older charts pass a space for what is not set.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" | "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("write text or json".to_owned()),
        }
    }
}

/// From here on lines are written; what comes before is lost.
pub fn start(flags: &Flags) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| filter(flags.v).into());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match flags.logging_format {
        Format::Text => builder.with_ansi(false).init(),
        Format::Json => builder.event_format(JsonLines).init(),
    }
}

/// The levels of the original. 4 is what its chart asks for, so at 4 nothing may grow with pods and plans.
fn filter(v: u8) -> String {
    let level = match v {
        0..=3 => "info",
        4 => "info,kruise_runtime=debug,kruise_manager=debug",
        5 => "info,kruise_runtime=trace,kruise_manager=trace",
        6.. => "debug,kruise_runtime=trace,kruise_manager=trace",
    };
    // The client library reports every answer that is not a success; what matters of them we report ourselves.
    format!("{level},kube_client=off")
}

/// One object per line: `ts`, `caller`, `msg`, `v` except in errors, the fields, and `err` in errors. `level` is ours: the
/// original does not tell warnings from information.
struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let line = Value::Object(line(event, Timestamp::now()));
        writeln!(writer, "{line}")
    }
}

fn line(event: &Event<'_>, now: Timestamp) -> Map<String, Value> {
    let metadata = event.metadata();
    let mut fields = Fields::default();
    event.record(&mut fields);
    let mut line = Map::new();
    line.insert("ts".to_owned(), json!(milliseconds(now)));
    line.insert("caller".to_owned(), json!(caller(metadata.file(), metadata.line())));
    line.insert("msg".to_owned(), json!(fields.message));
    if let Some(v) = verbosity(*metadata.level()) {
        line.insert("v".to_owned(), json!(v));
    }
    line.insert("level".to_owned(), json!(metadata.level().as_str().to_ascii_lowercase()));
    // A field never hides one of the above.
    for (name, value) in fields.others {
        line.entry(name).or_insert(value);
    }
    line
}

/// Since 1970, with what is below a millisecond behind the point.
#[expect(clippy::cast_precision_loss, reason = "microseconds are below 2^53 until the year 2255")]
fn milliseconds(time: Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1000.0
}

/// The last folder and the file, as the original cuts it.
fn caller(file: Option<&str>, line: Option<u32>) -> String {
    let file = file.unwrap_or("unknown");
    let from = file.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    format!("{}:{}", file.get(from..).unwrap_or(file), line.unwrap_or(0))
}

/// At which `--v` the line is written; errors have none.
fn verbosity(level: Level) -> Option<u8> {
    match level {
        Level::ERROR => None,
        Level::WARN | Level::INFO => Some(0),
        Level::DEBUG => Some(4),
        Level::TRACE => Some(5),
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    others: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            ("error", value) => drop(self.others.insert("err".to_owned(), value)),
            ("key", Value::String(key)) => drop(self.others.insert("key".to_owned(), reference(&key))),
            (name, value) => drop(self.others.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }
}

/// An object, `namespace/name`.
fn reference(key: &str) -> Value {
    match key.split_once('/') {
        Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": key}),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(v: u8, work: impl FnOnce()) -> Vec<Value> {
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter(v)))
            .with_writer(move || writer.clone())
            .event_format(JsonLines)
            .finish();
        tracing::subscriber::with_default(subscriber, work);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Platform acceptance 12, install/F27: every line parses, whatever is in it.
    #[test]
    fn install_f27_json_lines_have_the_fields_of_the_original() {
        let before = milliseconds(Timestamp::now());
        let lines = lines(2, || {
            tracing::info!(key = %"shop/web", writes = 3, v = "hidden", "plan \"carried\" out\nwell");
            tracing::error!(error = %"it is broken", key = %"node-1", "giving up");
        });

        let [info, error] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(info["msg"], "plan \"carried\" out\nwell");
        assert_eq!(info["key"], json!({"name": "web", "namespace": "shop"}));
        assert_eq!((&info["v"], &info["writes"], info.get("err")), (&json!(0), &json!(3), None));
        let ts = info["ts"].as_f64().unwrap();
        assert!(before <= ts && ts <= before + 60_000.0, "{before} {ts}");
        let (file, line) = info["caller"].as_str().unwrap().rsplit_once(':').unwrap();
        assert!(file == "src/logging.rs" && line.parse::<u32>().unwrap() > 0, "{info}");
        assert_eq!((&error["err"], error.get("v")), (&json!("it is broken"), None));
        assert_eq!((&error["key"], &error["level"]), (&json!({"name": "node-1"}), &json!("error")));
    }

    #[test]
    fn more_is_told_with_a_higher_level() {
        let told = |v| {
            lines(v, || {
                tracing::info!(target: "kruise_runtime", "always");
                tracing::debug!(target: "kruise_runtime", "reasons that changed");
                tracing::trace!(target: "kruise_runtime", "a line for each pod");
                tracing::debug!(target: "hyper", "of a library");
                tracing::error!(target: "kube_client", "what we report ourselves");
            })
            .len()
        };
        assert_eq!([0, 3, 4, 5, 6, 10].map(told), [1, 1, 2, 3, 4, 4]);
    }
}
