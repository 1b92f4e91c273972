//! Reads the part of XML (<https://www.w3.org/TR/xml/>) that files of NCCL consist of: elements and their attributes.
//!
//! In: text. Out: the elements in the order in which they begin, each with its parent. Comments, processing instructions,
//! and what stands between elements are skipped. There are no declarations of types, so that nothing expands; elements
//! are at most [`MAX_DEPTH`] deep, and nothing here recurses.

use super::{ImportError, TextPlace, print_name};
use std::borrow::Cow;

/// How deep elements may be in one another: NCCL's own limit (`NCCL_MAX_XML_DEPTH` in `src/graph/xml.cc`).
const MAX_DEPTH: usize = 1024;

/// How many elements are read. One of a topology becomes at most a link or two, and there may be some that become none.
const MAX_ELEMENTS: usize = 1 << 20;

/// How many attributes an element may have: NCCL reads 16 (`MAX_ATTR_COUNT` in `src/graph/xml.h`).
const MAX_ATTRIBUTES: usize = 64;

/// An element with its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct XmlElement<'t> {
    pub(super) name: &'t str,
    pub(super) attributes: Vec<XmlAttribute<'t>>,
    /// The element that it is in, by its index.
    pub(super) parent: Option<usize>,
    /// Where its name begins, in bytes.
    pub(super) offset: usize,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct XmlAttribute<'t> {
    pub(super) name: &'t str,
    /// Its value, with characters for references such as `&amp;`.
    pub(super) value: Cow<'t, str>,
    /// Where its value begins, in bytes.
    pub(super) offset: usize,
}

impl<'t> XmlElement<'t> {
    /// The attribute of a name, if there is one.
    pub(super) fn find_attribute(&self, name: &str) -> Option<&XmlAttribute<'t>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

/// The elements of a text. There is at least one, and only the first one has no parent.
///
/// # Errors
/// The text is no XML, or uses a part of it that is not read; it has too many elements, or too deep ones.
pub(super) fn parse_xml(text: &str) -> Result<Vec<XmlElement<'_>>, ImportError> {
    let mut reader = XmlReader { text, at: 0, elements: Vec::new(), open: Vec::new() };
    while reader.at < text.len() {
        reader.read_item()?;
    }
    if let Some(open) = reader.open.last().and_then(|index| reader.elements.get(*index)) {
        let message = format!("the element `{}` does not end", print_name(open.name));
        return Err(reader.fail(open.offset, message, HELP_WHOLE));
    }
    if reader.elements.is_empty() {
        return Err(reader.fail(0, "there is no element", HELP_WHOLE));
    }
    Ok(reader.elements)
}

const HELP_WHOLE: &str = "give a whole file: NCCL writes it where `NCCL_TOPO_DUMP_FILE` says when a communicator is made";

struct XmlReader<'t> {
    text: &'t str,
    /// How many bytes are read.
    at: usize,
    elements: Vec<XmlElement<'t>>,
    /// The elements that have begun and not ended, by their indices.
    open: Vec<usize>,
}

impl<'t> XmlReader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fail(
        &self,
        offset: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> ImportError {
        ImportError::new(TextPlace::find(self.text, offset), message, help)
    }

    /// Reads what begins with the next `<`, if there is one.
    fn read_item(&mut self) -> Result<(), ImportError> {
        let rest = self.rest();
        let between = rest.find('<').unwrap_or(rest.len());
        let words = rest.get(..between).unwrap_or_default();
        if self.open.is_empty() && !words.trim().is_empty() {
            let blanks = words.len() - words.trim_start().len();
            return Err(self.fail(self.at + blanks, "this is outside all elements", HELP_WHOLE));
        }
        self.at += between;
        let rest = self.rest();
        if rest.starts_with("<!--") {
            self.skip_past("<!--", "-->", "comment")
        } else if rest.starts_with("<?") {
            self.skip_past("<?", "?>", "processing instruction")
        } else if rest.starts_with("<![CDATA[") {
            self.skip_past("<![CDATA[", "]]>", "CDATA section")
        } else if rest.starts_with("<!") {
            let help = "remove it: files of NCCL have none";
            Err(self.fail(self.at, "declarations are not read", help))
        } else if rest.starts_with("</") {
            self.read_end()
        } else if rest.starts_with('<') {
            self.read_start()
        } else {
            Ok(())
        }
    }

    fn skip_past(&mut self, begin: &str, end: &str, what: &str) -> Result<(), ImportError> {
        let inner = self.rest().get(begin.len()..).unwrap_or_default();
        match inner.find(end) {
            Some(length) => {
                self.at += begin.len() + length + end.len();
                Ok(())
            }
            None => Err(self.fail(self.at, format!("this {what} does not end"), HELP_WHOLE)),
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Reads a name; it is empty if there is none.
    fn read_name(&mut self) -> &'t str {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let name = rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())).unwrap_or_default();
        self.at += name.len();
        name
    }

    fn read_end(&mut self) -> Result<(), ImportError> {
        let begin = self.at;
        self.at += 2;
        let name = self.read_name();
        self.skip_blanks();
        if !self.rest().starts_with('>') {
            return Err(self.fail(self.at, "expected `>`", HELP_WHOLE));
        }
        self.at += 1;
        let open = self.open.pop().and_then(|index| self.elements.get(index));
        match open {
            Some(open) if open.name == name => Ok(()),
            Some(open) => {
                let message = format!(
                    "`</{}>` ends no element: `{}` is open",
                    print_name(name),
                    print_name(open.name)
                );
                Err(self.fail(begin, message, HELP_WHOLE))
            }
            None => {
                let message = format!("`</{}>` ends no element", print_name(name));
                Err(self.fail(begin, message, HELP_WHOLE))
            }
        }
    }

    fn read_start(&mut self) -> Result<(), ImportError> {
        let begin = self.at;
        self.at += 1;
        let name = self.read_name();
        if name.is_empty() {
            return Err(self.fail(begin, "no name of an element follows `<`", HELP_WHOLE));
        }
        if self.open.is_empty() && !self.elements.is_empty() {
            let help = "give one file at a time";
            return Err(self.fail(begin, "a second outermost element begins here", help));
        }
        if self.elements.len() >= MAX_ELEMENTS {
            let message = format!("there are more than {MAX_ELEMENTS} elements");
            return Err(self.fail(begin, message, "give a file of one machine"));
        }
        let mut attributes: Vec<XmlAttribute> = Vec::new();
        loop {
            self.skip_blanks();
            let rest = self.rest();
            if rest.starts_with("/>") || rest.starts_with('>') {
                break;
            }
            if attributes.len() >= MAX_ATTRIBUTES {
                let message = format!("an element has more than {MAX_ATTRIBUTES} attributes");
                return Err(self.fail(self.at, message, "NCCL reads only 16 of them"));
            }
            attributes.push(self.read_attribute()?);
        }
        let parent = self.open.last().copied();
        if self.rest().starts_with("/>") {
            self.at += 2;
        } else {
            self.at += 1;
            self.open.push(self.elements.len());
        }
        if self.open.len() > MAX_DEPTH {
            let message = format!("elements are more than {MAX_DEPTH} deep in one another");
            return Err(self.fail(begin, message, "NCCL does not read such a file either"));
        }
        self.elements.push(XmlElement { name, attributes, parent, offset: begin + 1 });
        Ok(())
    }

    fn read_attribute(&mut self) -> Result<XmlAttribute<'t>, ImportError> {
        let begin = self.at;
        let name = self.read_name();
        if name.is_empty() {
            let message = if self.rest().is_empty() {
                "the text ends within an element"
            } else {
                "expected an attribute, `/>` or `>`"
            };
            return Err(self.fail(begin, message, HELP_WHOLE));
        }
        self.skip_blanks();
        if !self.rest().starts_with('=') {
            let message = format!("the attribute `{}` has no value", print_name(name));
            return Err(self.fail(begin, message, "write it as `name=\"value\"`"));
        }
        self.at += 1;
        self.skip_blanks();
        let quote = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let message = format!("the value of `{}` is not quoted", print_name(name));
            return Err(self.fail(self.at, message, "write it as `name=\"value\"`"));
        };
        let offset = self.at + 1;
        let inner = self.text.get(offset..).unwrap_or_default();
        // A `<` ends what a quote that was forgotten would swallow: XML has none in values.
        let length = inner.find([quote, '<']).unwrap_or(inner.len());
        if !inner.get(length..).is_some_and(|end| end.starts_with(quote)) {
            let message = format!("the value of `{}` does not end", print_name(name));
            return Err(self.fail(self.at, message, HELP_WHOLE));
        }
        self.at = offset + length + 1;
        let value = decode_references(inner.get(..length).unwrap_or_default());
        Ok(XmlAttribute { name, value, offset })
    }
}

/// A value with a character for each of the five references that XML always has. Others stay as they are: no attribute
/// that is looked at contains any.
fn decode_references(value: &str) -> Cow<'_, str> {
    if !value.contains('&') {
        return Cow::Borrowed(value);
    }
    let references =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let mut decoded = value.to_owned();
    for (reference, character) in references {
        decoded = decoded.replace(reference, character);
    }
    Cow::Owned(decoded)
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, parse_xml};

    #[test]
    fn elements_have_parents_and_attributes() {
        let text = "<?xml version='1.0'?>\n<!-- <a> -->\n<a x='1' y = \"&lt;2\"><b/>text<c><![CDATA[</c>]]></c ></a>\n";
        let elements = parse_xml(text).unwrap();
        let found: Vec<_> = elements.iter().map(|element| (element.name, element.parent)).collect();
        assert_eq!(found, [("a", None), ("b", Some(0)), ("c", Some(0))]);
        assert_eq!(elements[0].find_attribute("y").unwrap().value, "<2");
        assert!(elements[0].find_attribute("z").is_none());
    }

    #[test]
    fn mistakes_have_places() {
        let cases = [
            ("", 1, 1, "there is no element"),
            ("<a>\n <b></a>", 2, 5, "`</a>` ends no element: `b` is open"),
            ("<a/>\n<b/>", 2, 1, "a second outermost element begins here"),
            ("<a x=\"1>\n</a>", 1, 6, "the value of `x` does not end"),
            ("<a x>", 1, 4, "the attribute `x` has no value"),
            ("<a x=1>", 1, 6, "the value of `x` is not quoted"),
            ("<a", 1, 3, "the text ends within an element"),
            ("<a \u{e9}=\"\" ^", 1, 9, "expected an attribute, `/>` or `>`"),
            ("<!DOCTYPE a>", 1, 1, "declarations are not read"),
            ("<a><!-- x", 1, 4, "this comment does not end"),
            ("<a>", 1, 2, "the element `a` does not end"),
            ("x <a/>", 1, 1, "this is outside all elements"),
        ];
        for (text, line, column, message) in cases {
            let error = parse_xml(text).unwrap_err();
            assert_eq!((error.line, error.column, error.message.as_str()), (line, column, message));
        }
    }

    #[test]
    fn depth_is_limited() {
        assert!(parse_xml(&("<a>".repeat(MAX_DEPTH) + &"</a>".repeat(MAX_DEPTH))).is_ok());
        let error = parse_xml(&"<a>".repeat(1_000_000)).unwrap_err();
        assert_eq!(error.message, "elements are more than 1024 deep in one another");
    }
}
