//! HTML in which a text from outside can only ever be text.
//!
//! Markup is a literal of this program; everything else goes through [`Markup::text`], which escapes it. There is no
//! third way in.

/// A piece of HTML.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds markup, which has to be a literal.
    pub(super) fn raw(mut self, markup: &'static str) -> Self {
        self.0.push_str(markup);
        self
    }

    /// Adds text, in an element or in a quoted attribute.
    pub(super) fn text(mut self, text: &str) -> Self {
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
        self
    }

    /// Adds another piece.
    pub(super) fn piece(mut self, piece: &Markup) -> Self {
        self.0.push_str(&piece.0);
        self
    }

    /// The HTML.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Markup;

    #[test]
    fn text_stays_text() {
        let page = Markup::default().raw("<p title=\"").text("\"'><script>alert(1)</script>&amp;").raw("\">");
        assert_eq!(page.into_string(), "<p title=\"&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;\">");
    }
}
