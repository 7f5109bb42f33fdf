//! The envelope that questions of both sorts come in: a kind, a version, a request.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<R> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<R>,
}

/// The version of the question, and what is asked; `Err` says why it is none.
pub(super) fn read<'a, R: Deserialize<'a>>(
    body: &'a [u8],
    kind: &str,
    versions: &[&str],
) -> Result<(String, R), String> {
    let review: Review<R> =
        serde_json::from_slice(body).map_err(|error| format!("the body is no {kind}: {error}"))?;
    if review.kind != kind || !versions.contains(&review.api_version.as_str()) {
        return Err(format!(
            "{} {} is not answered here: send {kind} of {}",
            review.api_version,
            review.kind,
            versions.join(" or ")
        ));
    }
    let request = review.request.ok_or_else(|| format!("the {kind} holds no request"))?;
    Ok((review.api_version, request))
}
