//! Bounds of what agents read of the web, and of images.

/// Most characters of a page that a model reads, unless the settings say otherwise. The text is cut there, and the result
/// says so.
pub const WEB_PAGE_CHARS: u32 = 20_000;
/// Most bytes that are read of a page, counted after decompression, unless the settings say otherwise. The page is cut
/// there with its connection.
pub const WEB_PAGE_BYTES: u32 = 750_000;
/// Longest time of one fetch in milliseconds, redirects included, unless the settings say otherwise. A page that has begun
/// is cut there.
pub const WEB_FETCH_MS: u64 = 20_000;
/// Longest address that a call may name and a result may have, in bytes.
pub const WEB_URL_BYTES: usize = 2_048;
/// Longest query of a search, in bytes. A longer one is refused.
pub const WEB_QUERY_BYTES: usize = 1_000;
/// Results of one search, unless the settings say otherwise.
pub const WEB_SEARCH_RESULTS: u32 = 5;
/// Providers that one search asks, unless the settings say otherwise.
pub const WEB_SEARCH_ATTEMPTS: u32 = 3;
/// Longest time of one search provider in milliseconds, unless the settings say otherwise.
pub const WEB_SEARCH_MS: u64 = 10_000;
/// Most bytes that are read of the answer of a search service, unless the settings say otherwise.
pub const WEB_SEARCH_BYTES: usize = 1_000_000;
/// Most bytes that a search command may print, unless the settings say otherwise. More is a failure.
pub const WEB_SEARCH_COMMAND_BYTES: usize = 200_000;
/// Longest title or date of a search result, in bytes; the rest is cut.
pub const WEB_RESULT_TITLE_BYTES: usize = 300;
/// Longest snippet of a search result, in bytes; the rest is cut.
pub const WEB_RESULT_SNIPPET_BYTES: usize = 600;
/// Largest image file that `ViewImage` shows, in bytes. A larger one is refused: in base64 it would exceed what a provider
/// takes.
pub const IMAGE_BYTES: u64 = 3_500_000;
/// Most pixels of each side of an image. Providers refuse larger ones.
pub const IMAGE_SIDE: u32 = 8_000;
/// Largest image file that an operator may send, in bytes. A larger one is refused with 413: providers take no larger ones.
pub const SENT_IMAGE_BYTES: usize = 5_000_000;
/// Most images of one message. A message with more is refused.
pub const IMAGES_PER_MESSAGE: usize = 8;
/// Bytes of all images that operators have sent and the host keeps. Another one is refused with 507 until retention has
/// removed messages with images, or an hour has passed for images that no message names.
pub const SENT_IMAGES_BYTES: u64 = 2_000_000_000;
/// Number of all images that operators have sent and the host keeps. They are counted for each upload.
pub const SENT_IMAGES: usize = 10_000;
/// Milliseconds for which the host keeps an uploaded image that no message names.
pub const UNNAMED_IMAGE_MS: u64 = 3_600_000;
/// Most images that operators sent in one request, oldest first. A text says of the others that they are not shown. Images
/// that the turn viewed have what is left, and a little room of their own.
pub const IMAGES_PER_REQUEST: usize = 16;
/// Most bytes of all images in one request, with the same order. A message whose images have more is refused.
pub const IMAGE_REQUEST_BYTES: u64 = 16_000_000;
/// Most images kept in one agent's home. The oldest is removed for a new one.
pub const IMAGES_PER_AGENT: usize = 64;
/// Most redirects of one outgoing request. One more fails the request.
pub const WEB_REDIRECTS: usize = 5;
