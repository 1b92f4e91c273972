//! Reads the editor's settings as the client sends them.
//!
//! In: JSON from a client, either the section `ccl` or an object that contains it. Out: [`Settings`], and messages
//! about values that cannot be used; those settings stay as they were, and the others apply.

use crate::settings::Settings;
use compiler::diagnostic;
use compiler::target::{TARGETS, Target};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The settings that exist.
pub const KNOWN: [&str; 6] =
    ["parameters", "target", "sms", "maxOperations", "messageBytes", "inlayHints"];

/// The settings in `inlayHints`, one for each kind of hint.
pub const HINTS: [&str; 5] =
    ["values", "types", "parameterNames", "threadBlocks", "synchronization"];

/// Keys of the same section that clients use themselves.
pub const CLIENTS: [&str; 4] = ["server", "compiler", "verifyPlans", "trace"];

/// The settings that a client sends, over those that apply where it sends none, and messages about what is wrong with
/// them.
#[must_use]
pub fn read(base: Settings, sent: &Value) -> (Settings, Vec<String>) {
    let mut reader = Reader { settings: base, wrong: Vec::new() };
    match sent.get("ccl").unwrap_or(sent) {
        Value::Null => {}
        // An empty Lua table may arrive as a list.
        Value::Array(list) if list.is_empty() => {}
        Value::Object(section) => reader.section(section, sent.get("ccl").is_some()),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => reader.wrong.push(format!(
            "the settings are `{other}`; expected an object, such as `{{\"parameters\": {{\"ranks\": 16}}}}`"
        )),
    }
    (reader.settings, reader.wrong)
}

struct Reader {
    settings: Settings,
    wrong: Vec<String>,
}

impl Reader {
    /// `own` says that the section certainly belongs to this language; otherwise it may hold the settings of others.
    fn section(&mut self, section: &Map<String, Value>, own: bool) {
        let short = |key: &String| key.strip_prefix("ccl.").unwrap_or(key).to_owned();
        let meant =
            |key: &String| KNOWN.contains(&short(key).as_str()) || near(&short(key)).is_some();
        let own = own || section.keys().any(meant);
        for (key, value) in section.iter().filter(|(_, value)| !value.is_null()) {
            let key = short(key);
            match key.as_str() {
                "parameters" => self.parameters(value),
                "target" => self.target(value),
                "sms" => {
                    let sms = self.number(&key, value, self.settings.sms.into(), u32::MAX.into());
                    self.settings.sms = u32::try_from(sms).unwrap_or(u32::MAX);
                }
                "maxOperations" => {
                    let most = self.settings.max_operations;
                    self.settings.max_operations = self.number(&key, value, most, u64::MAX);
                }
                "messageBytes" => {
                    let bytes = self.settings.message_bytes;
                    self.settings.message_bytes = self.number(&key, value, bytes, u64::MAX);
                }
                "inlayHints" => self.hints(value),
                _ if own && !is_clients(&key) => self.unknown(&key, value),
                _ => {}
            }
        }
    }

    fn parameters(&mut self, value: &Value) {
        if value.as_array().is_some_and(Vec::is_empty) {
            self.settings.parameters = BTreeMap::new();
            return;
        }
        let Value::Object(given) = value else {
            self.wrong.push(format!(
                "`parameters` is `{value}`; expected an object, such as `{{\"ranks\": 16}}`"
            ));
            return;
        };
        let mut parameters = BTreeMap::new();
        for (name, value) in given {
            let text = match value {
                Value::Null => continue,
                Value::Number(number) if number.is_f64() => {
                    self.wrong.push(format!(
                        "`parameters.{name}` is `{value}`, which is not a whole number"
                    ));
                    continue;
                }
                // A list is written as in ccl.
                Value::Number(_) | Value::Bool(_) | Value::Array(_) => value.to_string(),
                Value::String(text) => text.clone(),
                Value::Object(_) => {
                    self.wrong.push(format!(
                        "`parameters.{name}` is `{value}`; expected a number, `true` or `false`, or a string, \
                         such as `\"[[1, 2], [0, 3]]\"`"
                    ));
                    continue;
                }
            };
            parameters.insert(name.clone(), text);
        }
        self.settings.parameters = parameters;
    }

    fn hints(&mut self, value: &Value) {
        if value.as_array().is_some_and(Vec::is_empty) {
            return;
        }
        let Value::Object(given) = value else {
            self.wrong.push(format!(
                "`inlayHints` is `{value}`; expected an object, such as `{{\"values\": false}}`"
            ));
            return;
        };
        for (kind, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let hints = &mut self.settings.hints;
            let shown = match kind.as_str() {
                "values" => &mut hints.values,
                "types" => &mut hints.types,
                "parameterNames" => &mut hints.parameters,
                "threadBlocks" => &mut hints.blocks,
                "synchronization" => &mut hints.synchronization,
                _ => {
                    let near = diagnostic::nearest(kind, HINTS);
                    let near = near.map(|near| format!("did you mean `inlayHints.{near}`?"));
                    let all = || format!("the kinds of hints are `{}`", HINTS.join("`, `"));
                    let way = near.unwrap_or_else(all);
                    self.wrong.push(format!("there is no setting `inlayHints.{kind}`: {way}"));
                    continue;
                }
            };
            match value.as_bool() {
                Some(value) => *shown = value,
                None => self
                    .wrong
                    .push(format!("`inlayHints.{kind}` is `{value}`; expected `true` or `false`")),
            }
        }
    }

    fn target(&mut self, value: &Value) {
        let is_meant = |target: &&&Target| value.as_str() == Some(target.word);
        match TARGETS.iter().find(is_meant) {
            Some(target) => self.settings.target = target,
            None => {
                let names: Vec<String> =
                    TARGETS.iter().map(|target| format!("`\"{}\"`", target.word)).collect();
                let names = names.join(", ");
                self.wrong.push(format!("`target` is `{value}`; expected one of {names}"));
            }
        }
    }

    fn number(&mut self, key: &str, value: &Value, otherwise: u64, most: u64) -> u64 {
        let number = value.as_u64().filter(|number| (1..=most).contains(number));
        number.unwrap_or_else(|| {
            let upper = if most == u64::MAX { String::new() } else { format!(" to {most}") };
            let wanted = if upper.is_empty() {
                " of at least 1".to_owned()
            } else {
                format!(" from 1{upper}")
            };
            self.wrong.push(format!(
                "`{key}` is `{value}`; expected a whole number{wanted}; {otherwise} is used"
            ));
            otherwise
        })
    }

    fn unknown(&mut self, key: &str, value: &Value) {
        let way = match near(key) {
            Some(known) => format!("did you mean `{known}`?"),
            None if value.is_object() || value.is_null() => {
                format!("the settings are {}", listed())
            }
            None => format!(
                "the settings are {}; a program's parameter goes into `parameters`, as in \
                 `{{\"parameters\": {{\"{key}\": {value}}}}}`",
                listed()
            ),
        };
        self.wrong.push(format!("there is no setting `{key}`: {way}"));
    }
}

/// The known setting closest to a word, ignoring case, underscores and hyphens.
fn near(key: &str) -> Option<&'static str> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    let same = KNOWN.into_iter().find(|known| plain(known) == plain(key));
    same.or_else(|| diagnostic::nearest(key, KNOWN))
}

fn is_clients(key: &str) -> bool {
    CLIENTS.contains(&key.split('.').next().unwrap_or(key))
}

fn listed() -> String {
    KNOWN.map(|known| format!("`{known}`")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (Settings, Vec<String>) {
        read(Settings::default(), &serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_is_right_counts_beside_what_is_wrong() {
        let (settings, wrong) = wrong(
            r#"{"ccl": {"sms": 8, "maxOperations": "many",
            "paramters": {"ranks": 4}, "parameters": {"ranks": 4, "half": 0.5, "table": [[1], [2]]}}}"#,
        );
        assert_eq!((settings.sms, settings.max_operations), (8, 16_000_000));
        let given: Vec<_> =
            settings.parameters.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(given, [("ranks", "4"), ("table", "[[1],[2]]")]);
        assert_eq!(
            wrong,
            [
                "`maxOperations` is `\"many\"`; expected a whole number of at least 1; 16000000 is used",
                "`parameters.half` is `0.5`, which is not a whole number",
                "there is no setting `paramters`: did you mean `parameters`?",
            ]
        );
    }

    #[test]
    fn misspelt_keys_are_led_back() {
        for (key, known) in
            [("max_operations", "maxOperations"), ("SMs", "sms"), ("messageByte", "messageBytes")]
        {
            let (_, wrong) = wrong(&format!(r#"{{"{key}": 1}}"#));
            assert_eq!(wrong, [format!("there is no setting `{key}`: did you mean `{known}`?")]);
        }
        let (_, wrong) = wrong(r#"{"ccl": {"ranks": 16}}"#);
        assert!(
            wrong[0].ends_with(r#"goes into `parameters`, as in `{"parameters": {"ranks": 16}}`"#),
            "{wrong:?}"
        );
    }

    #[test]
    fn each_kind_of_hint_has_a_setting() {
        for kind in HINTS {
            let (settings, wrong) = wrong(&format!(r#"{{"inlayHints": {{"{kind}": false}}}}"#));
            assert_eq!(wrong, [""; 0]);
            assert_ne!(settings.hints, Settings::default().hints, "{kind}");
        }
        let (settings, wrong) = wrong(r#"{"inlayHints": {"values": 0, "type": true, "x": true}}"#);
        assert_eq!(settings, Settings::default());
        assert_eq!(
            wrong,
            [
                "there is no setting `inlayHints.type`: did you mean `inlayHints.types`?",
                "`inlayHints.values` is `0`; expected `true` or `false`",
                "there is no setting `inlayHints.x`: the kinds of hints are `values`, `types`, `parameterNames`, \
                 `threadBlocks`, `synchronization`",
            ]
        );
    }

    #[test]
    fn the_settings_of_others_are_theirs() {
        for text in [
            "null",
            "{}",
            r#"{"ccl": null}"#,
            r#"{"ccl": []}"#,
            r#"{"ccl": {"parameters": []}}"#,
            r#"{"rust-analyzer": {"cargo": {}}}"#,
            r#"{"sms": null, "ccl.parameters": {}, "server": {"path": ""}, "verifyPlans": true, "trace": {}}"#,
        ] {
            assert_eq!(wrong(text), (Settings::default(), vec![]), "{text}");
        }
    }

    /// The extension for VS Code sends its whole section.
    #[test]
    fn what_an_extension_sets_is_known() {
        let package = include_str!("../../editors/vscode/package.json");
        let package: Value = serde_json::from_str(package).unwrap();
        let (mut found, mut hints) = (0, 0);
        for key in package["contributes"]["configuration"]["properties"].as_object().unwrap().keys()
        {
            let key = key.strip_prefix("ccl.").unwrap();
            if let Some(kind) = key.strip_prefix("inlayHints.") {
                assert!(HINTS.contains(&kind), "{key}");
                hints += 1;
                continue;
            }
            assert!(KNOWN.contains(&key) || is_clients(key), "{key}");
            found += usize::from(KNOWN.contains(&key));
        }
        assert_eq!((found + 1, hints), (KNOWN.len(), HINTS.len()));
    }
}
