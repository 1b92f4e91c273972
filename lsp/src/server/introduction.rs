//! What a client says about itself in `initialize`, reduced to what this server reads.
//!
//! In: the parameters of the request. Out: the same parameters without those that nothing reads, and with the
//! capabilities as they were sent, unparsed, under `experimental`. lsp-types would refuse all of them because of one word
//! that is newer than it, such as a new kind of folding range.

use lsp_types::{Url, WorkspaceFolder};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// The parameters that this server reads.
pub(crate) fn readable(mut params: Value) -> Value {
    if !params.is_object() {
        return params;
    }
    let mut take = |name: &str| params.get_mut(name).map(Value::take).unwrap_or_default();
    // Some clients have no integers.
    let process = take("processId").as_f64().map(|id| id as u32).filter(|id| *id > 0);
    let mut folders = take("workspaceFolders");
    if let Value::Array(folders) = &mut folders {
        folders.retain(|folder| WorkspaceFolder::deserialize(folder).is_ok());
    }
    json!({
        "processId": process,
        "rootUri": Some(take("rootUri")).filter(|uri| Url::deserialize(uri).is_ok()),
        "workspaceFolders": Some(folders).filter(Value::is_array),
        "initializationOptions": take("initializationOptions"),
        "capabilities": {"experimental": take("capabilities")},
    })
}

#[cfg(test)]
mod tests {
    use super::readable;
    use serde_json::json;

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let folder = json!({"uri": "file:///a", "name": "a"});
        let sent = json!({"processId": 12.0, "rootUri": "", "trace": "compact", "capabilities": {"window": 3},
            "workspaceFolders": [{"uri": "", "name": ""}, folder]});
        let read = json!({"processId": 12, "rootUri": null, "workspaceFolders": [folder],
            "initializationOptions": null, "capabilities": {"experimental": {"window": 3}}});
        assert_eq!(readable(sent), read);
        assert_eq!(readable(json!([1])), json!([1]));
    }
}
