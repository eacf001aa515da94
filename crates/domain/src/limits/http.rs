//! Bounds of requests, responses and streams over HTTP, on the side of the host and of the client.

/// Events that one page returns by default.
pub const EVENT_PAGE: u64 = 128;
/// Most events that one page returns.
pub const EVENT_PAGE_MAX: u64 = 512;
/// Most events that a stream may fall behind. Then it is closed with a gap frame, and the reader resumes with its
/// cursor.
pub const STREAM_LAG: usize = 1_024;
/// Most streams of events open at once on one host. The next one is refused with 503.
pub const STREAMS: usize = 512;
/// Most runs that one host streams at once. The next one is refused with 503, and the client asks for it without a stream.
pub const RUN_STREAMS: usize = 512;
/// Streams that read and render a page of recorded events at the same time. The others wait for their turn, so that many
/// readers that begin with the oldest event do not hold up all other requests.
pub const REPLAYS_AT_ONCE: usize = 1;
/// Largest body of an HTTP request, in bytes. A larger one is refused with 413.
pub const REQUEST_BODY_BYTES: usize = 4 << 20;
/// Bytes that the bodies of all requests with a token may hold together while they arrive, beyond
/// `ROOMLESS_BODY_BYTES` of each. A request without room is refused with 503.
pub const BODY_ROOM_BYTES: usize = 32 << 20;
/// The same for requests without a token: deliveries from outside.
pub const DELIVERY_ROOM_BYTES: usize = 16 << 20;
/// Bytes of a request body that need no room beside others, so that small requests are served whatever others send.
pub const ROOMLESS_BODY_BYTES: usize = 16 << 10;
/// Most connections open at once on one listener, so that one listener cannot starve another. A further one takes the
/// place of the oldest that has sent no whole request head, and waits if each has sent one. Where the system allows few open files, a listener serves fewer: two thirds of what is left of the limit
/// after a reserve of 256 for TCP, and one third for the socket.
pub const CONNECTIONS: usize = 1_024;
/// Largest head of an HTTP request, in bytes. A larger one is refused with 431.
pub const REQUEST_HEAD_BYTES: usize = 32 << 10;
/// Milliseconds that a client may take to send the head of a request, and again for its body. Then the connection is
/// closed or the request refused with 408.
pub const REQUEST_READ_MS: u64 = 10_000;
/// Pieces of streamed answers that wait for a slow subscriber. It misses the oldest beyond that; the stored round still
/// has everything.
pub const DELTAS_KEPT: usize = 1_024;
/// Milliseconds between two heartbeats on an idle stream.
pub const STREAM_HEARTBEAT_MS: u64 = 15_000;
/// Milliseconds that the reader of a stream may accept no data. Then its connection is closed.
pub const STREAM_STALL_MS: u64 = 60_000;
/// Briefs that one response contains by default.
pub const BRIEF_PAGE: u64 = 20;
/// Most briefs or transcript entries that one response contains.
pub const LIST_PAGE_MAX: u64 = 500;
/// Milliseconds that the client waits for a connection to a host on the same machine.
pub const CONNECT_LOCAL_MS: u64 = 2_000;
/// Milliseconds that the client waits for a connection to a host on another machine.
pub const CONNECT_REMOTE_MS: u64 = 5_000;
/// Milliseconds that the client waits for the next bytes of a response. One-shot runs are exempt: they take as long as
/// the work.
pub const ANSWER_IDLE_MS: u64 = 30_000;
/// Milliseconds that the client waits on a silent stream: three missed heartbeats.
pub const STREAM_IDLE_MS: u64 = 45_000;
/// Times in a row that the client reconnects a broken stream before it gives up.
pub const STREAM_RETRIES: u32 = 8;
/// Largest response that the client reads, in bytes.
pub const ANSWER_BYTES: usize = 64 << 20;
/// Most named tokens of a host.
pub const NAMED_TOKENS: usize = 256;
