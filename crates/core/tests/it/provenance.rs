//! Tests of the authority of a message by its admission context, origin and kind.

use crate::admission::{CONTEXTS, ingress, origins, verdict};
use crate::render::spelled;
use holon_core::Ingress;
use holon_core::Rejection;
use holon_core::admission::{accepts_kind, accepts_origin, authority_of, kind_fits_origin};
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{AdmissionContext, MessageKind, Priority};

fn short(verdict: &Result<AuthorityClass, Rejection>) -> String {
    match verdict {
        Ok(class) => spelled(class),
        Err(Rejection::KindNotPublic) => "refused: kind".to_owned(),
        Err(Rejection::OriginNotPublic) => "refused: origin".to_owned(),
        Err(Rejection::PriorityNotPublic) => "refused: priority".to_owned(),
        Err(other) => format!("refused: {other}"),
    }
}

fn grouped_by_verdict(judge: impl Fn(AdmissionContext) -> String) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for context in CONTEXTS {
        let verdict = judge(context);
        match groups.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, contexts)) => contexts.push(spelled(context)),
            None => groups.push((verdict, vec![spelled(context)])),
        }
    }
    let lines = groups
        .into_iter()
        .map(|(verdict, contexts)| format!("    {verdict}: {}\n", contexts.join(", ")));
    lines.collect()
}

#[test]
fn authority_follows_from_the_door_the_origin_and_the_kind() {
    let mut table = String::new();
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                table += &format!("{} from {name}\n", spelled(kind));
                table += &grouped_by_verdict(|context| {
                    short(&verdict(ingress(kind, origin.clone(), context)))
                });
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn only_a_trusted_operator_prompt_may_interject() {
    let mut table = String::new();
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                table += &format!("{} from {name}\n", spelled(kind));
                table += &grouped_by_verdict(|context| {
                    let ingress = Ingress {
                        priority: Priority::Interject,
                        ..ingress(kind, origin.clone(), context)
                    };
                    short(&verdict(ingress))
                });
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn a_kind_that_its_origin_cannot_have_is_refused_at_every_door() {
    for kind in MessageKind::ALL {
        for (name, origin) in origins() {
            if kind_fits_origin(kind, &origin) {
                continue;
            }
            for context in CONTEXTS {
                let expected = if !accepts_origin(context, &origin) {
                    Rejection::OriginNotPublic
                } else if !accepts_kind(context, kind) {
                    Rejection::KindNotPublic
                } else {
                    Rejection::KindOriginMismatch
                };
                assert_eq!(
                    verdict(ingress(kind, origin.clone(), context)),
                    Err(expected),
                    "{kind:?} from {name} as {context:?}"
                );
            }
        }
    }
}

#[test]
fn no_door_raises_an_origin_above_its_ceiling() {
    for (name, origin) in origins() {
        for context in CONTEXTS {
            let worth = authority_of(&ingress(MessageKind::ChannelEvent, origin.clone(), context));
            assert!(worth >= origin.ceiling(), "{name} as {context:?}");
        }
    }
}
