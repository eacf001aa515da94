//! The transfer of answers: held, split, compressed, cut off, stalled, too large.

use super::{Client, ask};
use crate::provider::{Fault, Point, Protocol, Provider, Round, Script, UnreachableAddress};
use serde_json::json;
use std::io::{ErrorKind, Read as _};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn a_connection_serves_one_request_after_another_until_a_round_closes_it() {
    let rounds = [Round::text("one"), Round::text("two").close()];
    let provider = Provider::start(Script::of(rounds));
    let mut client = Client::to(&provider);
    client.ask(Protocol::Chat);
    assert!(client.read().unwrap().text().contains("one"));
    client.ask(Protocol::Codex);
    let second = client.read().unwrap();
    assert!(second.head.contains("connection: close"), "{second:?}");
    assert_eq!(client.0.read(&mut [0]).unwrap(), 0, "the end");
    let requests = provider.finish();
    let seen: Vec<_> = requests
        .iter()
        .map(|request| (request.index, request.connection, request.protocol))
        .collect();
    assert_eq!(
        seen,
        [(0, 0, Some(Protocol::Chat)), (1, 0, Some(Protocol::Codex))]
    );
}

#[test]
fn a_server_that_forgets_requests_numbers_them_and_keeps_none() {
    let numbered = Script::choose(|request| Round::text(format!("number {}", request.index)));
    let provider = Provider::start(numbered.forget_requests());
    for number in 0..3 {
        let answer = ask(&provider, Protocol::Chat).unwrap();
        assert!(answer.text().contains(&format!("number {number}")));
    }
    provider.wait_for_requests(3);
    assert!(provider.requests().is_empty());
}

#[test]
fn an_answer_is_held_at_each_gate_until_the_test_opens_it() {
    let round = Round::text("Hello there.")
        .hold(Point::BeforeHeaders, "head")
        .hold(Point::AfterHeaders, "body")
        .hold(Point::AfterPieces(2), "rest");
    let provider = Provider::start(Script::of([round]));
    let mut client = Client::to(&provider);
    client.ask(Protocol::Codex);
    provider.gate("head").reached();
    assert!(client.has_nothing(), "nothing before the first gate");
    provider.gate("head").open();
    provider.gate("body").reached();
    assert_eq!(client.head().unwrap().0, 200);
    assert!(client.has_nothing(), "the head and nothing else");
    provider.gate("body").open();
    provider.gate("rest").reached();
    assert!(
        client
            .chunk()
            .unwrap()
            .starts_with(b"event: response.created")
    );
    client.chunk().unwrap();
    assert!(client.has_nothing(), "two pieces and nothing else");
    provider.gate("rest").open();
    let rest = client.chunks().unwrap();
    assert!(
        rest.last()
            .unwrap()
            .starts_with(b"event: response.completed")
    );
    provider.finish();
}

#[test]
fn bodies_can_be_split_anywhere_and_packed() {
    let rounds = [
        Round::text("wörter").split(1),
        Round::text("wörter").gzip(),
        Round::text("wörter").gzip().split(7),
    ];
    let provider = Provider::start(Script::of(rounds));
    let mut client = Client::to(&provider);
    client.ask(Protocol::Codex);
    client.head().unwrap();
    let chunks = client.chunks().unwrap();
    assert!(chunks.iter().all(|chunk| chunk.len() == 1));
    assert!(
        String::from_utf8(chunks.concat())
            .unwrap()
            .contains("wörter")
    );
    for protocol in [Protocol::Chat, Protocol::Codex] {
        client.ask(protocol);
        let got = client.read().unwrap();
        assert!(got.head.contains("content-encoding: gzip"), "{}", got.head);
        let mut text = String::new();
        let mut unpacked = flate2::read::GzDecoder::new(got.body.as_slice());
        unpacked.read_to_string(&mut text).unwrap();
        assert!(text.contains("wörter"), "{text}");
    }
    provider.finish();
}

#[test]
fn odd_lines_say_the_same_in_other_words() {
    let provider = Provider::start(Script::of([Round::text("same").odd_lines()]));
    let text = ask(&provider, Protocol::Codex).unwrap().text();
    for sign in [
        ": a comment\r\n",
        "retry: 1\r\n",
        "event: keepalive\r\n",
        "data:{\r\n",
    ] {
        assert!(text.contains(sign), "{sign:?} in {text}");
    }
    assert!(!text.replace("\r\n", "").contains('\n'), "CR LF everywhere");
}

#[test]
fn a_connection_can_break_before_and_in_an_answer() {
    let broken = |fault: Fault, protocol| {
        let round = Round::fault(fault).say("never read to the end");
        let provider = Provider::start(Script::of([round]));
        let kind = ask(&provider, protocol).unwrap_err().kind();
        provider.finish();
        kind
    };
    for protocol in Protocol::ALL {
        assert_eq!(
            broken(Fault::ResetBeforeAnswer, protocol),
            ErrorKind::ConnectionReset
        );
        assert_eq!(
            broken(Fault::CloseBeforeAnswer, protocol),
            ErrorKind::UnexpectedEof
        );
        assert_eq!(
            broken(Fault::ResetInBody, protocol),
            ErrorKind::ConnectionReset
        );
        assert_eq!(broken(Fault::ShortBody, protocol), ErrorKind::UnexpectedEof);
    }
}

#[test]
fn a_document_can_be_cut_off_with_nothing_in_its_frame_to_show_it() {
    let provider = Provider::start(Script::always(Round::fault(Fault::TruncatedJson)));
    for protocol in [Protocol::Responses, Protocol::Messages, Protocol::Chat] {
        let got = ask(&provider, protocol).unwrap();
        let read: Result<serde_json::Value, _> = serde_json::from_slice(&got.body);
        assert!(read.unwrap_err().is_eof());
    }
    let streamed = ask(&provider, Protocol::Codex).unwrap().text();
    let last = streamed.trim_end().lines().last().unwrap();
    let data: Result<serde_json::Value, _> =
        serde_json::from_str(last.strip_prefix("data: ").unwrap());
    assert!(data.unwrap_err().is_eof());
}

#[test]
fn a_stalled_answer_lasts_until_the_client_goes_away() {
    let stalls = [
        Fault::NoAnswer,
        Fault::StallAfterHeaders,
        Fault::StallInBody,
    ];
    let provider = Provider::start(Script::of(stalls.map(Round::fault)));
    let mut client = Client::to(&provider);
    client.ask(Protocol::Chat);
    provider.wait_for_requests(1);
    drop(client);
    provider.wait_for_hang_ups(1);
    for hang_ups in 2..4 {
        let mut client = Client::to(&provider);
        client.ask(Protocol::Chat);
        assert_eq!(client.head().unwrap().0, 200);
        drop(client);
        provider.wait_for_hang_ups(hang_ups);
    }
    provider.finish();
}

#[test]
fn a_drip_comes_byte_by_byte() {
    let every = Duration::from_millis(1);
    let provider = Provider::start(Script::always(Round::fault(Fault::Drip { every })));
    let mut client = Client::to(&provider);
    client.ask(Protocol::Codex);
    client.head().unwrap();
    assert_eq!(client.chunk().unwrap(), b":");
    assert_eq!(client.chunk().unwrap(), b" ");
    drop(client);
    provider.wait_for_hang_ups(1);
}

#[test]
fn a_huge_body_ends_in_a_good_answer_for_whoever_takes_it_all() {
    let bytes = 5 << 20;
    let rounds = || Round::fault(Fault::HugeBody { bytes }).say("at last");
    let provider = Provider::start(Script::of([rounds(), rounds()]));
    let got = ask(&provider, Protocol::Chat).unwrap();
    assert!(got.body.len() as u64 > bytes);
    assert_eq!(got.json()["choices"][0]["message"]["content"], "at last");
    let got = ask(&provider, Protocol::Codex).unwrap().text();
    let after = got.trim_start_matches([':', ' ']);
    assert!(after.starts_with("\n\nevent: response.created"));
    provider.finish();
}

#[test]
fn what_is_held_or_stalled_ends_with_the_server() {
    let rounds = [
        Round::text("held").hold(Point::BeforeHeaders, "never"),
        Round::fault(Fault::NoAnswer),
        Round::fault(Fault::Drip {
            every: Duration::from_secs(3_600),
        }),
    ];
    let provider = Provider::start(Script::of(rounds));
    let mut clients = [(); 3].map(|()| Client::to(&provider));
    for client in &mut clients {
        client.ask(Protocol::Chat);
    }
    provider.wait_for_requests(3);
    let port = provider.port();
    // Returns only when all threads of the server have ended.
    drop(provider);
    let refused = TcpStream::connect(("127.0.0.1", port)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn every_fault_in_every_protocol_is_played_to_an_end() {
    for protocol in Protocol::ALL {
        let faults = Fault::every();
        let provider = Provider::start(Script::of(faults.iter().cloned().map(Round::fault)));
        for (asked, fault) in (1..).zip(&faults) {
            let mut client = Client::to(&provider);
            client.ask(protocol);
            provider.wait_for_requests(asked);
            // Reads the head or the error; the rest does not matter here.
            let answered = match fault {
                Fault::NoAnswer => client.has_nothing(),
                fault => {
                    let broken = [Fault::ResetBeforeAnswer, Fault::CloseBeforeAnswer];
                    client.head().is_ok() != broken.contains(fault)
                }
            };
            assert!(answered, "{fault:?} in {protocol:?}");
        }
        provider.finish();
    }
}

#[test]
fn nobody_answers_at_an_unreachable_address() {
    let nobody = UnreachableAddress::take();
    let address = nobody.base_url().replace("http://", "");
    let refused = TcpStream::connect(address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_path_of_its_own_before_that_of_the_protocol_is_fine() {
    let provider = Provider::start(Script::of([Round::text("here")]));
    let mut client = Client::to(&provider);
    let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    client.send("/some/v1/chat/completions", &[], &body);
    assert_eq!(client.read().unwrap().status, 200);
    assert_eq!(provider.finish()[0].path, "/some/v1/chat/completions");
}
