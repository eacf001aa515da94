//! The protocols of search providers: the request of a query, and the results of an answer. Pure.

use crate::client::{Origin, Request};
use crate::hosts::HostRules;
use holon_domain::limits::{
    WEB_REDIRECTS, WEB_RESULT_SNIPPET_BYTES, WEB_RESULT_TITLE_BYTES, WEB_URL_BYTES,
};
use holon_domain::text;
use holon_domain::web::{ResultMapping, SearchProvider, SearchProviderKind, SearchResult};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use std::time::Duration;

/// Builds the request of a query. `key` is the provider's key, if it has one. `None` for a command, which is run.
#[must_use]
pub fn search_request(
    provider: &SearchProvider,
    query: &str,
    max_results: usize,
    key: Option<&str>,
) -> Option<Request> {
    let base = provider.base_url.as_str();
    let count = max_results.to_string();
    let (url, body) = match provider.kind {
        SearchProviderKind::Searxng => {
            let parameters = [("q", query), ("format", "json")];
            (with_query(&format!("{base}/search"), &parameters)?, None)
        }
        SearchProviderKind::Brave => {
            let parameters = [("q", query), ("count", count.as_str())];
            let url = with_query(&format!("{base}/res/v1/web/search"), &parameters)?;
            (url, None)
        }
        SearchProviderKind::Tavily | SearchProviderKind::Perplexity => (
            format!("{base}/search"),
            Some(json!({ "query": query, "max_results": max_results })),
        ),
        SearchProviderKind::Exa => {
            let contents = json!({ "text": { "maxCharacters": WEB_RESULT_SNIPPET_BYTES } });
            let body = json!({ "query": query, "numResults": max_results, "contents": contents });
            (format!("{base}/search"), Some(body))
        }
        SearchProviderKind::Firecrawl => (
            format!("{base}/v1/search"),
            Some(json!({ "query": query, "limit": max_results })),
        ),
        SearchProviderKind::Command => return None,
    };
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    if body.is_some() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    headers.extend(key.map(|key| authentication(provider.kind, key)));
    Some(Request {
        method: if body.is_some() {
            Method::POST
        } else {
            Method::GET
        },
        url,
        origin: Origin::Configured,
        headers,
        body: body.map_or_else(Vec::new, |body| body.to_string().into_bytes()),
        timeout: Duration::from_millis(provider.timeout_ms),
        max_bytes: provider.max_output_bytes,
        max_redirects: WEB_REDIRECTS,
        rules: HostRules::default(),
    })
}

fn with_query(url: &str, parameters: &[(&str, &str)]) -> Option<String> {
    let url = Url::parse_with_params(url, parameters).ok()?;
    Some(url.to_string())
}

fn authentication(kind: SearchProviderKind, key: &str) -> (String, String) {
    match kind {
        SearchProviderKind::Brave => ("x-subscription-token".to_owned(), key.to_owned()),
        SearchProviderKind::Exa => ("x-api-key".to_owned(), key.to_owned()),
        SearchProviderKind::Searxng
        | SearchProviderKind::Tavily
        | SearchProviderKind::Perplexity
        | SearchProviderKind::Firecrawl
        | SearchProviderKind::Command => ("authorization".to_owned(), format!("Bearer {key}")),
    }
}

/// Reads the results of an answer, at most `max_results` of them. A result without an address of the web is left out.
///
/// # Errors
/// The answer is not what the provider's protocol says.
pub fn parse_results(
    provider: &SearchProvider,
    body: &[u8],
    max_results: usize,
) -> Result<Vec<SearchResult>, String> {
    let (list, mapping) = shape(provider);
    let items = match provider.kind {
        SearchProviderKind::Command => printed_items(body)?,
        SearchProviderKind::Searxng
        | SearchProviderKind::Brave
        | SearchProviderKind::Tavily
        | SearchProviderKind::Exa
        | SearchProviderKind::Perplexity
        | SearchProviderKind::Firecrawl => {
            let answer: Value = serde_json::from_slice(body)
                .map_err(|error| format!("the answer is not JSON: {error}"))?;
            match member(&answer, list) {
                Some(Value::Array(items)) => items.clone(),
                // A provider leaves the list out if nothing was found.
                Some(Value::Null) | None if answer.is_object() => Vec::new(),
                Some(_) | None => return Err(format!("the answer has no list `{list}`")),
            }
        }
    };
    let results = items
        .iter()
        .filter_map(|item| result(item, &mapping, &provider.name));
    Ok(results.take(max_results).collect())
}

/// Returns where the results of a provider stand, and how their parts are called.
fn shape(provider: &SearchProvider) -> (&'static str, ResultMapping) {
    let names = ResultMapping::new;
    match provider.kind {
        SearchProviderKind::Searxng => {
            ("results", names("title", "url", "content", "publishedDate"))
        }
        SearchProviderKind::Brave => (
            "web.results",
            names("title", "url", "description", "page_age"),
        ),
        SearchProviderKind::Tavily => (
            "results",
            names("title", "url", "content", "published_date"),
        ),
        SearchProviderKind::Exa => ("results", names("title", "url", "text", "publishedDate")),
        SearchProviderKind::Perplexity => ("results", names("title", "url", "snippet", "date")),
        SearchProviderKind::Firecrawl => ("data", names("title", "url", "description", "date")),
        SearchProviderKind::Command => ("results", provider.mapping.clone()),
    }
}

/// Reads what a command printed: a list, an object with the list `results`, or one object in each line.
fn printed_items(body: &[u8]) -> Result<Vec<Value>, String> {
    if body.trim_ascii().is_empty() {
        return Ok(Vec::new());
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(Value::Array(items)) => return Ok(items),
        Ok(Value::Object(mut members)) => {
            return match members.remove("results") {
                Some(Value::Array(items)) => Ok(items),
                Some(_) => Err("its member `results` is no list".to_owned()),
                None => Ok(vec![Value::Object(members)]),
            };
        }
        Ok(_) => return Err("it printed JSON that is neither a list nor an object".to_owned()),
        Err(_) => {}
    }
    let lines = body.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    let parse = |line: &[u8]| {
        serde_json::from_slice(line)
            .map_err(|error| format!("it printed a line that is not JSON: {error}"))
    };
    lines.map(parse).collect()
}

fn result(item: &Value, mapping: &ResultMapping, source: &str) -> Option<SearchResult> {
    let part = |name: &str, most| {
        let found = member(item, name)?.as_str()?.trim();
        (!found.is_empty()).then(|| text::preview(found, most))
    };
    let url = Url::parse(member(item, &mapping.url)?.as_str()?.trim()).ok()?;
    let url = Some(url).filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let url = url.to_string();
    if url.len() > WEB_URL_BYTES {
        return None;
    }
    Some(SearchResult {
        title: part(&mapping.title, WEB_RESULT_TITLE_BYTES).unwrap_or_else(|| url.clone()),
        snippet: part(&mapping.snippet, WEB_RESULT_SNIPPET_BYTES),
        published_at: part(&mapping.published_at, WEB_RESULT_TITLE_BYTES),
        source: source.to_owned(),
        url,
    })
}

/// Returns the value at a path of names with dots between them.
fn member<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.')
        .try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(kind: SearchProviderKind) -> SearchProvider {
        SearchProvider {
            name: "mine".to_owned(),
            kind,
            base_url: kind
                .usual_base_url()
                .unwrap_or("http://127.0.0.1:1")
                .to_owned(),
            credential_profile: None,
            argv: Vec::new(),
            mapping: ResultMapping::default(),
            timeout_ms: 1_000,
            max_output_bytes: 10_000,
        }
    }

    #[test]
    fn every_provider_is_asked_by_its_protocol() {
        let asked = |kind| {
            let request = search_request(&provider(kind), "a b&c", 3, Some("KEY"))?;
            let body = String::from_utf8(request.body).expect("text");
            let (_, key) = request.headers.last().expect("a key").clone();
            Some((request.method.to_string(), request.url, body, key))
        };
        let row = |method: &str, url: &str, body: &str, key: &str| {
            Some([method, url, body, key].map(str::to_owned)).map(|[a, b, c, d]| (a, b, c, d))
        };
        use SearchProviderKind as Kind;
        let get = "http://127.0.0.1:1/search?q=a+b%26c&format=json";
        assert_eq!(asked(Kind::Searxng), row("GET", get, "", "Bearer KEY"));
        let get = "https://api.search.brave.com/res/v1/web/search?q=a+b%26c&count=3";
        assert_eq!(asked(Kind::Brave), row("GET", get, "", "KEY"));
        let body = r#"{"max_results":3,"query":"a b&c"}"#;
        let post = "https://api.tavily.com/search";
        assert_eq!(asked(Kind::Tavily), row("POST", post, body, "Bearer KEY"));
        let post = "https://api.perplexity.ai/search";
        assert_eq!(
            asked(Kind::Perplexity),
            row("POST", post, body, "Bearer KEY")
        );
        let post = "https://api.firecrawl.dev/v1/search";
        let body = r#"{"limit":3,"query":"a b&c"}"#;
        assert_eq!(
            asked(Kind::Firecrawl),
            row("POST", post, body, "Bearer KEY")
        );
        let body = r#"{"contents":{"text":{"maxCharacters":600}},"numResults":3,"query":"a b&c"}"#;
        assert_eq!(
            asked(Kind::Exa),
            row("POST", "https://api.exa.ai/search", body, "KEY")
        );
        assert_eq!(asked(Kind::Command), None);
    }

    #[test]
    fn results_are_read_from_every_protocol_and_bounded() {
        use SearchProviderKind as Kind;
        let answers = [
            (
                Kind::Searxng,
                json!({"results": [{"title": "T", "url": "https://a.org", "content": "S", "publishedDate": "D"}]}),
            ),
            (
                Kind::Brave,
                json!({"web": {"results": [{"title": "T", "url": "https://a.org", "description": "S", "page_age": "D"}]}}),
            ),
            (
                Kind::Tavily,
                json!({"results": [{"title": "T", "url": "https://a.org", "content": "S", "published_date": "D"}]}),
            ),
            (
                Kind::Exa,
                json!({"results": [{"title": "T", "url": "https://a.org", "text": "S", "publishedDate": "D"}]}),
            ),
            (
                Kind::Perplexity,
                json!({"results": [{"title": "T", "url": "https://a.org", "snippet": "S", "date": "D"}]}),
            ),
            (
                Kind::Firecrawl,
                json!({"data": [{"title": "T", "url": "https://a.org", "description": "S", "date": "D"}]}),
            ),
            (
                Kind::Command,
                json!([{"title": "T", "url": "https://a.org", "snippet": "S", "published_at": "D"}]),
            ),
        ];
        let expected = SearchResult {
            title: "T".to_owned(),
            url: "https://a.org/".to_owned(),
            snippet: Some("S".to_owned()),
            source: "mine".to_owned(),
            published_at: Some("D".to_owned()),
        };
        for (kind, answer) in answers {
            let found = parse_results(&provider(kind), answer.to_string().as_bytes(), 5);
            assert_eq!(found, Ok(vec![expected.clone()]), "{kind:?}");
        }
        let many: Vec<Value> = (0..9)
            .map(|at| json!({"title": "t".repeat(9_000), "url": format!("https://a.org/{at}"), "snippet": "s".repeat(9_000)}))
            .chain([json!({"url": "file:///etc/passwd"}), json!({"title": "no address"}), json!(7)])
            .collect();
        let found = parse_results(
            &provider(Kind::Command),
            Value::from(many).to_string().as_bytes(),
            20,
        );
        let found = found.expect("results");
        assert_eq!(found.len(), 9);
        assert!(
            found
                .iter()
                .all(|one| one.title.len() <= WEB_RESULT_TITLE_BYTES)
        );
        assert!(found.iter().all(|one| {
            one.snippet
                .as_ref()
                .is_some_and(|text| text.len() <= WEB_RESULT_SNIPPET_BYTES)
        }));
    }

    #[test]
    fn a_command_may_print_lists_objects_and_lines_under_names_of_its_own() {
        let mut own = provider(SearchProviderKind::Command);
        own.mapping = ResultMapping::new("head", "link.href", "body", "when");
        let line = |at: usize| json!({"head": at.to_string(), "link": {"href": format!("https://a.org/{at}")}});
        let lines = format!("{}\n\n{}\n", line(1), line(2));
        for printed in [
            lines,
            json!([line(1), line(2)]).to_string(),
            json!({"results": [line(1), line(2)]}).to_string(),
        ] {
            let found = parse_results(&own, printed.as_bytes(), 5).expect("results");
            let titles: Vec<&str> = found.iter().map(|one| one.title.as_str()).collect();
            assert_eq!(titles, ["1", "2"], "{printed}");
        }
        assert_eq!(parse_results(&own, b"\n", 5), Ok(Vec::new()));
        for broken in ["no JSON", "{} {", "7", r#"{"results": 7}"#] {
            assert!(
                parse_results(&own, broken.as_bytes(), 5).is_err(),
                "{broken}"
            );
        }
    }

    #[test]
    fn an_answer_without_results_is_no_failure_and_one_without_sense_is() {
        let brave = provider(SearchProviderKind::Brave);
        assert_eq!(
            parse_results(&brave, br#"{"type": "search"}"#, 5),
            Ok(Vec::new())
        );
        assert!(parse_results(&brave, b"<html>", 5).is_err());
        assert!(parse_results(&brave, br#"{"web": {"results": 7}}"#, 5).is_err());
        assert!(parse_results(&brave, b"[]", 5).is_err());
    }
}
