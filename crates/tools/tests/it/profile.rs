//! The statements of the profile model about tools, one case each. The name of a case is the statement.

use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::tool::{ToolErrorKind, ToolFamily};
use holon_domain::web::WebTools;
use holon_domain::{AgentId, tool::ToolSpec};
use holon_tools::{all, catalog, interpret, offered};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PRESETS: [ProfilePreset; 2] = [ProfilePreset::PublicNamed, ProfilePreset::PrivateChild];
const FAMILIES: [ToolFamily; 6] = [
    ToolFamily::Core,
    ToolFamily::LocalEnvironment,
    ToolFamily::AgentCreation,
    ToolFamily::AuthorityExpansion,
    ToolFamily::ExternalTrigger,
    ToolFamily::Web,
];

fn granted(preset: ProfilePreset) -> [bool; 6] {
    FAMILIES.map(|family| preset.grants(family))
}

fn names(tools: &[ToolSpec]) -> BTreeSet<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn offered_names(preset: ProfilePreset, freeform: bool) -> BTreeSet<String> {
    let tools = offered(preset, freeform, WebTools::ALL);
    tools.iter().map(|tool| tool.name.clone()).collect()
}

fn presets_are_an_enum() {
    let spelled = PRESETS.map(|preset| serde_json::to_value(preset).unwrap());
    assert_eq!(spelled, [json!("public_named"), json!("private_child")]);
    for other in ["custom", "default", "", "PublicNamed"] {
        let read = serde_json::from_value::<ProfilePreset>(json!(other));
        assert!(read.is_err(), "{other}");
    }
    let object = json!({"tool_families": {"core": true}});
    assert!(serde_json::from_value::<ProfilePreset>(object).is_err());
}

fn families_are_named() {
    let spelled = FAMILIES.map(|family| serde_json::to_value(family).unwrap());
    let expected = [
        "core",
        "local_environment",
        "agent_creation",
        "authority_expansion",
        "external_trigger",
        "web",
    ];
    assert_eq!(spelled, expected.map(|name| json!(name)));
}

fn private_child_maps_to_its_families() {
    let expected = [true, true, false, false, true, true];
    assert_eq!(granted(ProfilePreset::PrivateChild), expected);
}

fn public_named_has_every_family() {
    assert_eq!(granted(ProfilePreset::PublicNamed), [true; 6]);
}

fn a_profile_grants_families_and_not_tools() {
    for preset in PRESETS {
        let expected: BTreeSet<&str> = all()
            .iter()
            .filter(|tool| preset.grants(tool.family))
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names(&catalog(preset)), expected, "{preset:?}");
    }
}

fn the_surface_follows_from_the_profile() {
    for preset in PRESETS {
        for freeform in [false, true] {
            let offered = offered_names(preset, freeform);
            let offered: BTreeSet<&str> = offered.iter().map(String::as_str).collect();
            assert_eq!(offered, names(&catalog(preset)), "{preset:?}");
        }
    }
}

/// A family whose tools this build does not have offers nothing, although the profile grants it.
fn a_family_without_a_tool_offers_nothing() {
    let built: BTreeSet<String> = all()
        .iter()
        .map(|tool| format!("{:?}", tool.family))
        .collect();
    for family in FAMILIES {
        let has_tools = built.contains(&format!("{family:?}"));
        let in_catalog = catalog(ProfilePreset::PublicNamed)
            .iter()
            .any(|tool| tool.family == family);
        assert_eq!(in_catalog, has_tools, "{family:?}");
    }
}

/// A tool that the model may free-form differs in its form and not in its availability.
fn runtime_capability_changes_no_profile() {
    for preset in PRESETS {
        assert_eq!(offered_names(preset, false), offered_names(preset, true));
    }
}

fn an_offered_tool_can_be_called() {
    for preset in PRESETS {
        for tool in catalog(preset) {
            let refused = interpret(&tool.name, &json!({"no such argument": 1}), preset);
            let kind = refused.err().map(|error| error.kind);
            let is_absent = matches!(
                kind,
                Some(ToolErrorKind::UnknownTool | ToolErrorKind::UnsupportedAgentProfileCapability)
            );
            assert!(!is_absent, "{}: {kind:?}", tool.name);
        }
    }
}

fn an_absent_tool_is_a_structured_error() {
    for preset in PRESETS {
        let error = interpret("NoSuchTool", &json!({}), preset).unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::UnknownTool);
        assert_eq!(error.details, Some(json!({"tool_name": "NoSuchTool"})));
        assert!(error.recovery_hint.is_some());
    }
}

fn external_triggers_are_independent_of_visibility() {
    for preset in PRESETS {
        assert!(preset.grants(ToolFamily::ExternalTrigger), "{preset:?}");
    }
}

/// The identity has the three dimensions side by side, and no family among them.
fn identity_holds_no_family() {
    let identity = AgentIdentity {
        agent_id: AgentId::parse("a").unwrap(),
        kind: AgentKind::Child,
        visibility: Visibility::Private,
        ownership: Ownership::ParentSupervised,
        profile_preset: ProfilePreset::PrivateChild,
        lineage_parent_agent_id: None,
        root_agent_id: None,
    };
    let stored = serde_json::to_value(&identity).unwrap();
    let Value::Object(fields) = stored else {
        panic!("an identity is an object");
    };
    let fields: Vec<&str> = fields.keys().map(String::as_str).collect();
    let expected = [
        "agent_id",
        "kind",
        "ownership",
        "profile_preset",
        "visibility",
    ];
    let fields: BTreeSet<&str> = fields.into_iter().collect();
    assert_eq!(fields, expected.into_iter().collect());
}

/// Nothing beside the preset and the form of the model goes into the surface; the signature has no place for the trust of
/// a message, so the same set is shared by every turn.
fn every_turn_shares_one_set() {
    for preset in PRESETS {
        let set = || offered(preset, false, WebTools::ALL);
        assert!(set().is_shared_with(&set()));
    }
    let preset_only: fn(&str, &Value, ProfilePreset) -> _ = interpret;
    let call = preset_only("AgentGet", &json!({}), ProfilePreset::PrivateChild);
    assert!(call.is_ok(), "{call:?}");
}

#[test]
fn statements_of_the_profile_model() {
    let statements: [(&str, fn()); 13] = [
        (
            "profile is expressed through a small preset enum, not a free-form tool or policy object",
            presets_are_an_enum,
        ),
        (
            "the current family set is core, local_environment, agent_creation, authority_expansion, external_trigger",
            families_are_named,
        ),
        (
            "private_child: core, local_environment and external_trigger, neither agent_creation nor authority_expansion",
            private_child_maps_to_its_families,
        ),
        (
            "public_named: the agent has the full capability family set",
            public_named_has_every_family,
        ),
        (
            "profiles enable or disable stable capability families rather than individual tool names",
            a_profile_grants_families_and_not_tools,
        ),
        (
            "the model-facing tool surface is derived from profile.tool_families",
            the_surface_follows_from_the_profile,
        ),
        (
            "runtime capability says whether the runtime can honor that family at all",
            a_family_without_a_tool_offers_nothing,
        ),
        (
            "profile, execution policy and transient state do not collapse into one mechanism",
            runtime_capability_changes_no_profile,
        ),
        (
            "a tool of a granted family can be called",
            an_offered_tool_can_be_called,
        ),
        (
            "a tool that is absent is a structured error with a next step",
            an_absent_tool_is_a_structured_error,
        ),
        (
            "private is not treated as \"cannot use external trigger capabilities\"",
            external_triggers_are_independent_of_visibility,
        ),
        (
            "visibility and ownership do not by themselves define tool visibility",
            identity_holds_no_family,
        ),
        (
            "tool visibility does not change with per-message trust labels",
            every_turn_shares_one_set,
        ),
    ];
    let mut broken = Vec::new();
    for (statement, check) in statements {
        if std::panic::catch_unwind(check).is_err() {
            broken.push(statement);
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
