//! Items for what a client supports.

use crate::features::plain;
use lsp_types::{
    CompletionItem, CompletionTextEdit, Documentation, InsertReplaceEdit, InsertTextFormat,
    MarkupContent, TextEdit,
};

/// What a client supports of completion.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support {
    /// Texts with placeholders.
    pub snippets: bool,
    /// Documentation in Markdown.
    pub markdown: bool,
    /// Edits with one range for inserting and one for replacing.
    pub replacing: bool,
    /// Requesting the documentation of an item when it is shown.
    pub resolving: bool,
}

impl Support {
    /// The items as the client understands them.
    #[must_use]
    pub fn suit(self, mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
        for item in &mut items {
            if self.resolving && item.data.is_some() {
                item.documentation = None;
            } else {
                item.data = None;
            }
            self.suit_text(item);
            self.suit_documentation(item);
        }
        items
    }

    /// Turns documentation into plain text where the client does not show Markdown.
    pub fn suit_documentation(self, item: &mut CompletionItem) {
        if let Some(Documentation::MarkupContent(MarkupContent { value, .. })) = &item.documentation
            && !self.markdown
        {
            item.documentation = Some(Documentation::String(plain::plain(value)));
        }
    }

    fn suit_text(self, item: &mut CompletionItem) {
        let snippet = item.insert_text_format == Some(InsertTextFormat::SNIPPET);
        let Some(CompletionTextEdit::InsertAndReplace(edit)) = &mut item.text_edit else { return };
        if snippet && !self.snippets {
            item.insert_text_format = None;
            edit.new_text.clone_from(&item.label);
        }
        if !self.replacing {
            item.text_edit = Some(CompletionTextEdit::Edit(single(edit.clone())));
        }
    }
}

/// An edit with one range: the whole word, unless the cursor is before it.
fn single(edit: InsertReplaceEdit) -> TextEdit {
    let InsertReplaceEdit { new_text, insert, replace } = edit;
    TextEdit::new(if insert.start == insert.end { insert } else { replace }, new_text)
}
