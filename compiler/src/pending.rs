//! Phases that are not here yet, with the signatures that they will have; each goes when its phase arrives.

#![expect(
    missing_docs,
    unused_variables,
    clippy::needless_pass_by_value,
    reason = "stands in for phases to come"
)]

pub mod syntax {
    use crate::diagnostic::Diagnostic;
    pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
        Ok(text.to_owned())
    }
}

pub mod resolve {
    use crate::diagnostic::Diagnostic;
    use crate::resolve::program;
    use crate::source::{FileId, SourceMap};
    use crate::syntax::ast;
    use std::sync::Arc;
    pub struct Modules;
    pub fn load(
        main: FileId,
        sources: &mut SourceMap,
        read: &mut dyn FnMut(&str) -> Result<Arc<str>, String>,
    ) -> (Modules, Vec<Diagnostic>) {
        (Modules, Vec::new())
    }
    pub fn resolve(modules: &Modules) -> (program::Unit, Vec<Diagnostic>) {
        (program::Unit::default(), Vec::new())
    }
    pub fn argument(expr: &ast::Expr) -> (Option<program::Expr>, Vec<Diagnostic>) {
        (None, Vec::new())
    }
    pub fn option(
        setting: &ast::OptionSetting,
    ) -> (Option<program::OptionSetting>, Vec<Diagnostic>) {
        (None, Vec::new())
    }
}

pub mod limits {
    use crate::diagnostic::Diagnostic;
    use crate::ir;
    pub fn limits(program: &ir::Program, sms: u32) -> Vec<Diagnostic> {
        Vec::new()
    }
}

pub mod print {
    use crate::ir;
    pub fn print(program: &ir::Program) -> String {
        String::new()
    }
}
