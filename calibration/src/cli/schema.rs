//! JSON Schema of a record as written; stricter than what reading a record requires.

use crate::flags;
use crate::plan::mark::PlanMark;
use crate::record::{Record, SCHEMA_VERSION};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Value, json};

/// Returns the schema (draft 2020-12). Absent keys are omitted, never null; campaigns add `plan`.
pub(super) fn of_record() -> Schema {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let plan = generator.subschema_for::<PlanMark>();
    let mut schema = generator.into_root_schema_for::<Record>();
    refine(
        &mut schema,
        "schema_version",
        "const",
        json!(SCHEMA_VERSION),
    );
    refine(&mut schema, "flags", "items", json!({"enum": flags::ALL}));
    if let Some(reference) = plan.get("$ref") {
        refine(&mut schema, "plan", "$ref", reference.clone());
    }
    RecursiveTransform(absent_is_not_null).transform(&mut schema);
    schema
}

/// Sets a keyword of the schema of one key of a record.
fn refine(schema: &mut Schema, key: &str, keyword: &str, value: Value) {
    if let Some(of_key) = schema.pointer_mut(&format!("/properties/{key}")) {
        of_key[keyword] = value;
    }
}

/// Removes null from the types of optional keys.
fn absent_is_not_null(schema: &mut Schema) {
    let needed: Vec<Value> = schema
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (name, of_key) in properties {
        if !needed.contains(&json!(name)) {
            without_null(of_key);
        }
    }
}

/// Removes null from `{"type": [T, "null"]}` and `{"anyOf": [S, {"type": "null"}]}`.
fn without_null(schema: &mut Value) {
    let null = json!("null");
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| *kind != null);
        if let [only] = &kinds[..] {
            schema["type"] = only.clone();
        }
        return;
    }
    let Some(choices) = schema.get("anyOf").and_then(Value::as_array) else {
        return;
    };
    let kept: Vec<&Value> = choices.iter().filter(|one| one["type"] != null).collect();
    if let [only] = kept[..] {
        let only = only.as_object().cloned().unwrap_or_default();
        if let Some(whole) = schema.as_object_mut() {
            whole.remove("anyOf");
            whole.extend(only);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_absent_is_never_null_and_what_is_asked_may_be() {
        let schema = of_record().to_value();
        let result = &schema["$defs"]["RunResult"];
        assert_eq!(result["properties"]["goodput_bps"]["type"], "number");
        assert_eq!(result["additionalProperties"], false);
        let asked = &schema["$defs"]["RunSettings"];
        assert_eq!(
            asked["properties"]["rate_fps"]["type"],
            json!(["number", "null"])
        );
        assert!(
            asked["required"]
                .as_array()
                .unwrap()
                .contains(&json!("rate_fps"))
        );
        let pacing = &schema["properties"]["pacing"];
        assert_eq!(pacing["$ref"], "#/$defs/PacingReport");
        assert!(pacing.get("anyOf").is_none());
    }

    #[test]
    fn version_flags_and_plan_are_said() {
        let schema = of_record().to_value();
        assert_eq!(
            schema["properties"]["schema_version"]["const"],
            SCHEMA_VERSION
        );
        assert_eq!(
            schema["properties"]["flags"]["items"]["enum"],
            json!(flags::ALL)
        );
        assert_eq!(schema["properties"]["plan"]["$ref"], "#/$defs/PlanMark");
        assert!(schema["$defs"]["SearchMark"].is_object());
    }
}
