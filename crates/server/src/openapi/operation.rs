//! The parts of a described route, and the functions that build its row.

use schemars::{JsonSchema, Schema, SchemaGenerator};

pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One route of the document.
pub(super) struct Operation {
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: &'static [QueryParam],
    /// Absent for a read-only route.
    pub(super) body: Option<RequestBody>,
    pub(super) response: Response,
}

/// The body of a request.
pub(super) struct RequestBody {
    pub(super) required: bool,
    pub(super) content: RequestContent,
}

/// The content of a request.
#[derive(Clone, Copy)]
pub(super) enum RequestContent {
    Json(SchemaOf),
    Archive,
    Image,
    /// Any type; it is not interpreted.
    Opaque,
}

/// One parameter of a query.
pub(super) struct QueryParam {
    pub(super) name: &'static str,
    pub(super) kind: ParamKind,
    pub(super) required: bool,
}

/// The values of a parameter.
#[derive(Clone, Copy)]
pub(super) enum ParamKind {
    Number {
        min: u64,
        max: u64,
    },
    Words(&'static [&'static str]),
    Truth,
    /// Text, of a pattern if there is one.
    Text(Option<&'static str>),
}

/// The body of a response.
#[derive(Clone, Copy)]
pub(super) enum Response {
    Typed(SchemaOf),
    /// A value, or a stream if the query asks for one.
    TypedOrStream(SchemaOf),
    /// A value for a trial, else an archive.
    TypedOrArchive(SchemaOf),
    Stream,
    Text,
    /// A file as it is.
    File,
    /// A document of a format of its own.
    Document,
}

pub(super) fn schema_of<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

pub(super) const fn number(name: &'static str, min: u64, max: u64) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Number { min, max },
        required: false,
    }
}

pub(super) const fn words(name: &'static str, words: &'static [&'static str]) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Words(words),
        required: false,
    }
}

pub(super) const fn truth(name: &'static str) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Truth,
        required: false,
    }
}

pub(super) const fn text(name: &'static str) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Text(None),
        required: false,
    }
}

/// Text of a pattern.
pub(super) const fn pattern(name: &'static str, pattern: &'static str) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Text(Some(pattern)),
        required: false,
    }
}

/// Text of a pattern that a request must have.
pub(super) const fn required(name: &'static str, pattern: &'static str) -> QueryParam {
    QueryParam {
        name,
        kind: ParamKind::Text(Some(pattern)),
        required: true,
    }
}

pub(super) const fn read(
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParam],
    response: Response,
) -> Operation {
    Operation {
        path,
        summary,
        query,
        body: None,
        response,
    }
}

pub(super) const fn act(
    path: &'static str,
    summary: &'static str,
    schema: SchemaOf,
    response: Response,
) -> Operation {
    Operation {
        path,
        summary,
        query: &[],
        body: Some(RequestBody {
            required: true,
            content: RequestContent::Json(schema),
        }),
        response,
    }
}

/// A delivery from outside.
pub(super) const fn deliver(
    path: &'static str,
    summary: &'static str,
    query: &'static [QueryParam],
    response: Response,
) -> Operation {
    Operation {
        path,
        summary,
        query,
        body: Some(RequestBody {
            required: false,
            content: RequestContent::Opaque,
        }),
        response,
    }
}

/// A change whose body may be absent.
pub(super) const fn act_on(
    path: &'static str,
    summary: &'static str,
    schema: SchemaOf,
    response: Response,
) -> Operation {
    Operation {
        body: Some(RequestBody {
            required: false,
            content: RequestContent::Json(schema),
        }),
        ..act(path, summary, schema, response)
    }
}
