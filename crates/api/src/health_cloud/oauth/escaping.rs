//! How text from outside is written into a page: as text, whatever is in it.

use std::fmt::{Result, Write};

use askama::filters::Escaper;

/// Escapes every value that a template shows, in an element or in a quoted attribute (`askama.toml`).
#[derive(Clone, Copy)]
pub(super) struct Html;

impl Escaper for Html {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> Result {
        string.chars().try_for_each(|character| match character {
            '&' => dest.write_str("&amp;"),
            '<' => dest.write_str("&lt;"),
            '>' => dest.write_str("&gt;"),
            '"' => dest.write_str("&quot;"),
            '\'' => dest.write_str("&#39;"),
            other => dest.write_char(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use askama::Template;

    #[derive(Template)]
    #[template(source = "<p title=\"{{ text }}\">{{ text }}", ext = "html")]
    struct Paragraph<'a> {
        text: &'a str,
    }

    #[test]
    fn text_stays_text() {
        let page = Paragraph { text: "\"'><script>alert(1)</script>&amp;" }.render().expect("a page");
        let text = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;";
        assert_eq!(page, format!("<p title=\"{text}\">{text}"));
    }
}
