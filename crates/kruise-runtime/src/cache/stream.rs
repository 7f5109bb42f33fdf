//! Lines of a watch and pages of a list, decoded one object at a time. One object that cannot be decoded is reported
//! and skipped; it never breaks the rest.

use futures::{AsyncBufRead, AsyncBufReadExt};
use http::{Request, header};
use kruise_core::object::resource::Detail;
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Slim, Version};

/// Objects per page where the server has no streaming list: what the API server likes best.
const PAGE: usize = 500;

/// What a line of a watch says.
pub enum Line<T> {
    Object(T),
    Gone {
        object: T,
    },
    /// Everything up to this version was delivered; `true` after the initial list of a streaming list.
    Bookmark {
        version: Version,
        list_is_complete: bool,
    },
    /// This object cannot be read; the watch has come to this version.
    Unreadable {
        version: Version,
    },
    /// The server ends the watch: history is gone, or another status.
    Failed {
        code: u16,
        message: String,
    },
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Bare {
    metadata: BareMeta,
    code: u16,
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct BareMeta {
    name: String,
    namespace: String,
    resource_version: String,
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMeta,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    resource_version: String,
    #[serde(default, rename = "continue")]
    next: String,
}

/// The next line; `None` at the end of the stream.
pub async fn next<T: Slim>(
    lines: &mut (impl AsyncBufRead + Unpin),
    buffer: &mut Vec<u8>,
) -> Result<Option<Line<T>>, kube::Error> {
    buffer.clear();
    let read = lines.read_until(b'\n', buffer).await.map_err(kube::Error::ReadEvents)?;
    if read == 0 {
        return Ok(None);
    }
    // A line that is not even an event: the stream was cut in the middle.
    let Ok(event) = serde_json::from_slice::<Event<'_>>(buffer) else { return Ok(None) };
    Ok(Some(decode(event.kind, event.object)))
}

fn decode<T: Slim>(kind: &str, object: &RawValue) -> Line<T> {
    match kind {
        "BOOKMARK" => {
            let bare = bare(object);
            let list_is_complete = bare.metadata.annotations.contains_key("k8s.io/initial-events-end");
            Line::Bookmark { version: Version::read(&bare.metadata.resource_version), list_is_complete }
        }
        "ERROR" => {
            let Bare { code, message, .. } = bare(object);
            Line::Failed { code, message }
        }
        kind => match (serde_json::from_str(object.get()), kind) {
            (Ok(object), "DELETED") => Line::Gone { object },
            (Ok(object), _) => Line::Object(object),
            (Err(error), _) => Line::Unreadable { version: unreadable::<T>(object, &error) },
        },
    }
}

/// All objects of a path and selection by pages; returns the version of the list.
pub async fn list<T: Slim>(
    client: &Client,
    (collection, selection): (&str, &str),
    mut take: impl FnMut(T),
) -> Result<Version, kube::Error> {
    let mut next = String::new();
    loop {
        let path = format!("{collection}?limit={PAGE}{selection}&continue={next}");
        let text = client.request_text(get::<T>(path)?).await?;
        let page: Page<'_> = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
        for item in page.items {
            match serde_json::from_str(item.get()) {
                Ok(object) => take(object),
                Err(error) => {
                    unreadable::<T>(item, &error);
                }
            }
        }
        if page.metadata.next.is_empty() {
            return Ok(Version::read(&page.metadata.resource_version));
        }
        next = page.metadata.next;
    }
}

/// Whether the server has come to a version; if not, it answers with an error that says so. One object at most is read.
pub async fn has_come_to<T: Slim>(
    client: &Client,
    (collection, selection): (&str, &str),
    version: Version,
) -> Result<(), kube::Error> {
    let at = format!("resourceVersion={}&resourceVersionMatch=NotOlderThan", version.0);
    let request = get::<T>(format!("{collection}?limit=1{selection}&{at}"))?;
    client.request_text(request).await.map(drop)
}

/// A request for as much of the objects as their type keeps.
pub fn get<T: Slim>(path: String) -> Result<Request<Vec<u8>>, kube::Error> {
    let accept = match T::RESOURCE.detail() {
        Detail::Whole => "application/json",
        Detail::Metadata => METADATA_ONLY,
    };
    Request::get(path).header(header::ACCEPT, accept).body(Vec::new()).map_err(kube::Error::HttpError)
}

/// No second choice: a server that cannot leave the contents out is not asked for them.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

fn unreadable<T: Slim>(object: &RawValue, error: &serde_json::Error) -> Version {
    let BareMeta { name, namespace, resource_version, .. } = bare(object).metadata;
    tracing::error!(kind = T::RESOURCE.kind(), namespace, name, %error, "object cannot be parsed and is ignored");
    Version::read(&resource_version)
}

fn bare(object: &RawValue) -> Bare {
    serde_json::from_str(object.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::store::tests::Thing;
    use super::*;

    async fn lines(text: &str) -> Vec<Line<Thing>> {
        let mut reader = text.as_bytes();
        let (mut buffer, mut all) = (Vec::new(), Vec::new());
        while let Some(line) = next(&mut reader, &mut buffer).await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn every_kind_of_line_is_told_apart() {
        let text_of_one = r#"{"metadata":{"namespace":"n","name":"a","uid":"1","resourceVersion":"7"}}"#;
        let bookmark =
            r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
        let text = format!(
            "{{\"type\":\"ADDED\",\"object\":{text_of_one}}}\n{{\"type\":\"DELETED\",\"object\":{text_of_one}}}\n\
             {{\"type\":\"BOOKMARK\",\"object\":{bookmark}}}\n\
             {{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"odd\",\"resourceVersion\":\"8\"}}}}}}\n\
             {{\"type\":\"ERROR\",\"object\":{{\"code\":410,\"message\":\"too old\"}}}}\n{{\"type\":\"ADD"
        );

        let all = lines(&text).await;

        assert!(matches!(&all[0], Line::Object(thing) if thing.metadata.name == "a"));
        assert!(matches!(&all[1], Line::Gone { object } if object.metadata.uid == "1"));
        assert!(matches!(all[2], Line::Bookmark { version: Version(9), list_is_complete: true }));
        assert!(matches!(all[3], Line::Unreadable { version: Version(8) }));
        assert!(matches!(&all[4], Line::Failed { code: 410, .. }));
        assert_eq!(all.len(), 5, "the line that was cut is the end");
    }
}
