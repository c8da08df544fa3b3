//! Which members of a message the envelope scan keeps, as a table.
//!
//! Names and places are those of the specification's schemas, all revisions together. New revisions add rows here.

/// An object, or the batch array, whose members are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The array of a batch (revision 2025-03-26).
    Batch,
    /// The message itself.
    Root,
    /// `params`.
    Params,
    /// `params._meta`.
    ParamsMeta,
    /// `result`.
    Result,
    /// `result._meta`.
    ResultMeta,
    /// `result.task` (2025-11-25).
    ResultTask,
    /// `error`.
    Error,
}

/// A member whose exact text is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// `jsonrpc`.
    Jsonrpc,
    /// `id`.
    Id,
    /// `method`.
    Method,
    /// `params.name`.
    Name,
    /// `params.uri`.
    Uri,
    /// `params.protocolVersion`, or in 2026-07-28 the one in `params._meta`.
    AskedRevision,
    /// `params.clientInfo`, or in 2026-07-28 the one in `params._meta`.
    ClientInfo,
    /// `params.requestId` of a cancellation.
    CancelledId,
    /// `params.progressToken` of a progress notification.
    ProgressOf,
    /// `params._meta.progressToken` of a request.
    ProgressToken,
    /// `params._meta["io.modelcontextprotocol/subscriptionId"]`.
    SubscriptionId,
    /// `result.protocolVersion`.
    GivenRevision,
    /// `result.serverInfo`, or in 2026-07-28 the one in `result._meta`.
    ServerInfo,
    /// `result.isError`.
    IsError,
    /// `result.resultType` (2026-07-28).
    ResultType,
    /// `error.code`.
    ErrorCode,
    /// `error.message`.
    ErrorMessage,
}

/// What the scan does with a member's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    Skip,
    Keep(Slot),
    Enter(Place),
}

/// Returns what the scan does with the value of `key` in an object at `place`.
pub(super) fn of_member(place: Place, key: &[u8]) -> Interest {
    use Interest::{Enter, Keep};
    match (place, key) {
        (Place::Root, b"jsonrpc") => Keep(Slot::Jsonrpc),
        (Place::Root, b"id") => Keep(Slot::Id),
        (Place::Root, b"method") => Keep(Slot::Method),
        (Place::Root, b"params") => Enter(Place::Params),
        (Place::Root, b"result") => Enter(Place::Result),
        (Place::Root, b"error") => Enter(Place::Error),
        (Place::Params, b"name") => Keep(Slot::Name),
        (Place::Params, b"uri") => Keep(Slot::Uri),
        (Place::Params, b"protocolVersion") | (Place::ParamsMeta, b"io.modelcontextprotocol/protocolVersion") => {
            Keep(Slot::AskedRevision)
        }
        (Place::Params, b"clientInfo") | (Place::ParamsMeta, b"io.modelcontextprotocol/clientInfo") => {
            Keep(Slot::ClientInfo)
        }
        (Place::Params, b"requestId") => Keep(Slot::CancelledId),
        (Place::Params, b"progressToken") => Keep(Slot::ProgressOf),
        (Place::Params, b"_meta") => Enter(Place::ParamsMeta),
        (Place::ParamsMeta, b"progressToken") => Keep(Slot::ProgressToken),
        (Place::ParamsMeta, b"io.modelcontextprotocol/subscriptionId") => Keep(Slot::SubscriptionId),
        (Place::Result, b"protocolVersion") => Keep(Slot::GivenRevision),
        (Place::Result, b"serverInfo") | (Place::ResultMeta, b"io.modelcontextprotocol/serverInfo") => {
            Keep(Slot::ServerInfo)
        }
        (Place::Result, b"isError") => Keep(Slot::IsError),
        (Place::Result, b"resultType") => Keep(Slot::ResultType),
        (Place::Result, b"_meta") => Enter(Place::ResultMeta),
        (Place::Result, b"task") => Enter(Place::ResultTask),
        (Place::Error, b"code") => Keep(Slot::ErrorCode),
        (Place::Error, b"message") => Keep(Slot::ErrorMessage),
        _ => Interest::Skip,
    }
}
