//! What is asked: verb, object, options. Read from HTTP or made by an actor of the world.

use http::{Method, header};
use kruise_api::Scope;
use serde_json::Value;

use super::failure::Failure;
use super::resources::{self, Kind};

/// One question to the server.
#[derive(Debug, Clone)]
pub struct Call {
    pub verb: Verb,
    pub kind: &'static Kind,
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    pub part: Part,
    pub body: Value,
    pub options: Options,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    JsonPatch,
    MergePatch,
    StrategicPatch,
    Delete,
}

/// Which endpoint of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Status,
    Scale,
    Resize,
    EphemeralContainers,
    Eviction,
    Binding,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    pub dry_run: Trial,
    pub answer: Shape,
    pub limit: Option<usize>,
    pub next: String,
    pub version: String,
    pub version_match: String,
    pub initial_events: Option<String>,
    pub bookmarks: Bookmarks,
    pub timeout_seconds: Option<u64>,
    /// A list of the state at this version instead of the newest one: the replica that answers has come no further.
    pub as_of: Option<u64>,
}

/// Whether a write is only tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trial {
    #[default]
    Real,
    Dry,
}

/// How much of the object is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shape {
    #[default]
    Whole,
    MetadataOnly,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bookmarks {
    Sent,
    #[default]
    Unsent,
}

impl Verb {
    pub fn is_write(self) -> bool {
        match self {
            Self::Get | Self::List | Self::Watch => false,
            Self::Create
            | Self::Update
            | Self::JsonPatch
            | Self::MergePatch
            | Self::StrategicPatch
            | Self::Delete => true,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::JsonPatch => "json-patch",
            Self::MergePatch => "merge-patch",
            Self::StrategicPatch => "strategic-patch",
            Self::Delete => "delete",
        }
    }

    pub fn method(self) -> Method {
        match self {
            Self::Get | Self::List | Self::Watch => Method::GET,
            Self::Create => Method::POST,
            Self::Update => Method::PUT,
            Self::JsonPatch | Self::MergePatch | Self::StrategicPatch => Method::PATCH,
            Self::Delete => Method::DELETE,
        }
    }

    /// The type of what is sent with it.
    pub fn content(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Watch | Self::Create | Self::Update | Self::Delete => {
                "application/json"
            }
            Self::JsonPatch => "application/json-patch+json",
            Self::MergePatch => "application/merge-patch+json",
            Self::StrategicPatch => "application/strategic-merge-patch+json",
        }
    }
}

impl Part {
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Status => "/status",
            Self::Scale => "/scale",
            Self::Resize => "/resize",
            Self::EphemeralContainers => "/ephemeralcontainers",
            Self::Eviction => "/eviction",
            Self::Binding => "/binding",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [Self::Status, Self::Scale, Self::Resize, Self::EphemeralContainers, Self::Eviction, Self::Binding]
            .into_iter()
            .find(|part| part.word().strip_prefix('/') == Some(word))
    }
}

impl Call {
    /// About one object, as actors ask.
    pub fn object(verb: Verb, kind: &'static Kind, (namespace, name): (&str, &str), body: Value) -> Self {
        Self {
            verb,
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            part: Part::Whole,
            body,
            options: Options::default(),
        }
    }

    #[must_use]
    pub fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Reads a request whose body has been collected.
    pub fn read(parts: &http::request::Parts, body: &[u8]) -> Result<Self, Failure> {
        let target = Target::read(parts.uri.path()).ok_or_else(Failure::no_such_path)?;
        let query = parts.uri.query().unwrap_or_default();
        let options = Options::read(query, parts.headers.get(header::ACCEPT));
        let content = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_watch = flag(query, "watch");
        let verb = match (&parts.method, target.name.is_empty()) {
            (&Method::GET, true) if is_watch => Verb::Watch,
            (&Method::GET, true) => Verb::List,
            (&Method::GET, false) => Verb::Get,
            (&Method::POST, _) => Verb::Create,
            (&Method::PUT, false) => Verb::Update,
            (&Method::PATCH, false) => patch_of(content.unwrap_or_default())?,
            (&Method::DELETE, false) => Verb::Delete,
            (_, _) => {
                return Err(Failure::new(405, "MethodNotAllowed", "the server does not allow this method"));
            }
        };
        let body = if body.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))?
        };
        let Target { kind, namespace, name, part } = target;
        Ok(Self { verb, kind, namespace, name, part, body, options })
    }

    /// `update pods n/a/status`, for logs.
    pub fn story(&self) -> String {
        let Self { verb, kind, namespace, name, part, .. } = self;
        format!("{} {} {namespace}/{name}{}", verb.word(), kind.resource.plural(), part.word())
    }
}

fn patch_of(content: &str) -> Result<Verb, Failure> {
    let mut patches = [Verb::JsonPatch, Verb::MergePatch, Verb::StrategicPatch].into_iter();
    let found = patches.find(|verb| verb.content() == content);
    found.ok_or_else(|| Failure::unsupported(format!("patches of type {content} are not taken")))
}

struct Target {
    kind: &'static Kind,
    namespace: String,
    name: String,
    part: Part,
}

impl Target {
    fn read(path: &str) -> Option<Self> {
        let mut words = path.trim_matches('/').split('/');
        let (group, version) = match words.next()? {
            "api" => ("", words.next()?),
            "apis" => (words.next()?, words.next()?),
            _ => return None,
        };
        let rest: Vec<&str> = words.collect();
        let (namespace, rest) = match rest.as_slice() {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && rest != ["status"] => {
                (*namespace, rest)
            }
            all => ("", all),
        };
        let (plural, rest) = rest.split_first()?;
        let kind = resources::find(group, version, plural)?;
        let (name, part) = match rest {
            [] => ("", Part::Whole),
            [name] => (*name, Part::Whole),
            [name, part] => (*name, Part::read(part)?),
            [_, _, _, ..] => return None,
        };
        if kind.resource.scope() == Scope::Cluster && !namespace.is_empty() {
            return None;
        }
        Some(Self { kind, namespace: namespace.to_owned(), name: name.to_owned(), part })
    }
}

impl Options {
    /// How old a list may be: as old as the version that the client names, and any age if it names 0. Who names none is
    /// promised the newest.
    pub fn oldest(&self) -> Option<u64> {
        self.version.parse().ok()
    }

    /// Whether a watch begins with all objects.
    pub fn wants_all(&self) -> bool {
        self.initial_events.as_deref() == Some("true") || self.oldest().unwrap_or(0) == 0
    }

    fn read(query: &str, accept: Option<&http::HeaderValue>) -> Self {
        let text = |name: &str| value(query, name).unwrap_or_default().to_owned();
        let accept = accept.and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        Self {
            dry_run: if text("dryRun") == "All" { Trial::Dry } else { Trial::Real },
            answer: if accept.contains("as=PartialObjectMetadata") {
                Shape::MetadataOnly
            } else {
                Shape::Whole
            },
            limit: text("limit").parse().ok().filter(|limit| *limit > 0),
            next: text("continue"),
            version: text("resourceVersion"),
            version_match: text("resourceVersionMatch"),
            initial_events: value(query, "sendInitialEvents").map(str::to_owned),
            bookmarks: if flag(query, "allowWatchBookmarks") { Bookmarks::Sent } else { Bookmarks::Unsent },
            timeout_seconds: text("timeoutSeconds").parse().ok(),
            as_of: None,
        }
    }
}

/// No value that we send needs decoding.
fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn flag(query: &str, name: &str) -> bool {
    matches!(value(query, name), Some("true" | "1"))
}
