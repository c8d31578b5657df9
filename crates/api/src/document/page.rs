//! `/docs`: the document as a page for people. Plain HTML that needs no script and nothing from elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

/// The style of the page.
pub(crate) const STYLE: &str = include_str!("style.css");

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page of a completed document.
pub(crate) fn page(document: &Value) -> String {
    let mut html = Html::default();
    let title = text(&document["info"]["title"]);
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.element("title", &format!("{title}: interface"));
    html.raw("<link rel=\"stylesheet\" href=\"/docs/style.css\"></head>\n<body><header>");
    html.element("h1", &title);
    html.paragraphs(&text(&document["info"]["description"]));
    html.raw("<p>For programs: <a href=\"/openapi.json\">openapi.json</a> (OpenAPI 3.1).</p></header>\n");
    let tags = tags(document);
    html.raw("<nav aria-label=\"Contents\"><ul>");
    for tag in &tags {
        html.raw(&format!("<li><a href=\"#{}\">", anchor(tag)));
        html.text(tag);
        html.raw("</a></li>");
    }
    html.raw(
        "<li><a href=\"#credentials\">credentials</a></li><li><a href=\"#schemas\">schemas</a></li></ul></nav>\n<main>",
    );
    for tag in &tags {
        html.raw(&format!("<section id=\"{}\">", anchor(tag)));
        html.element("h2", tag);
        for (path, method, operation) in operations(document).filter(|(_, _, operation)| operation["tags"][0] == **tag)
        {
            write_operation(&mut html, path, method, operation);
        }
        html.raw("</section>\n");
    }
    write_credentials(&mut html, document);
    write_schemas(&mut html, document);
    html.raw("</main></body></html>\n");
    html.0
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        METHODS.into_iter().filter_map(move |method| Some((path.as_str(), method, item.get(method)?)))
    })
}

/// Tags in the order of the alphabet, each once.
fn tags(document: &Value) -> Vec<String> {
    let mut tags: Vec<String> = operations(document).map(|(_, _, operation)| text(&operation["tags"][0])).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

fn write_operation(html: &mut Html, path: &str, method: &str, operation: &Value) {
    let id = text(&operation["operationId"]);
    html.raw(&format!("<article id=\"{id}\"><h3><a href=\"#{id}\"><span class=\"method\">"));
    html.text(&method.to_uppercase());
    html.raw("</span> <code>");
    html.text(path);
    html.raw("</code></a></h3>");
    html.paragraphs(&text(&operation["summary"]));
    html.paragraphs(&text(&operation["description"]));
    let schemes: Vec<&str> = operation["security"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_object)
        .flat_map(|one| one.keys())
        .map(String::as_str)
        .collect();
    html.raw("<p>Credential: ");
    if schemes.is_empty() {
        html.raw("none");
    }
    for (position, scheme) in schemes.iter().enumerate() {
        html.raw(if position > 0 { " or " } else { "" });
        html.raw(&format!("<a href=\"#credential-{scheme}\">{scheme}</a>"));
    }
    html.raw("</p>");
    write_parameters(html, operation);
    for (kind, media) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
        html.raw("<h4>Body</h4>");
        html.paragraphs(&text(&operation["requestBody"]["description"]));
        write_media(html, kind, media);
    }
    html.raw("<h4>Answers</h4><dl>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        html.raw("<dt>");
        html.text(status);
        html.raw("</dt><dd>");
        html.paragraphs(&text(&response["description"]));
        let is_error = status.starts_with(['4', '5']);
        for (kind, media) in response["content"].as_object().into_iter().flatten().filter(|_| !is_error) {
            write_media(html, kind, media);
        }
        html.raw("</dd>");
    }
    html.raw("</dl></article>\n");
}

fn write_parameters(html: &mut Html, operation: &Value) {
    let Some(parameters) = operation["parameters"].as_array().filter(|parameters| !parameters.is_empty()) else {
        return;
    };
    html.table(&["Parameter", "In", "Type", "Meaning"]);
    for parameter in parameters {
        let required = if parameter["required"] == true { ", required" } else { "" };
        let place = format!("{}{required}", text(&parameter["in"]));
        html.raw("<tr><td><code>");
        html.text(&text(&parameter["name"]));
        html.raw("</code></td><td>");
        html.text(&place);
        html.raw("</td><td>");
        write_type(html, &parameter["schema"]);
        html.raw("</td><td>");
        html.text(&text(&parameter["description"]));
        html.raw("</td></tr>");
    }
    html.raw("</table>");
}

fn write_media(html: &mut Html, kind: &str, media: &Value) {
    html.raw("<p><code>");
    html.text(kind);
    html.raw("</code>: ");
    write_type(html, &media["schema"]);
    html.raw("</p>");
    if !media["example"].is_null() {
        html.raw("<pre tabindex=\"0\">");
        html.text(&serde_json::to_string_pretty(&media["example"]).unwrap_or_default());
        html.raw("</pre>");
    }
}

/// A type in a few words, with links to schemas.
fn write_type(html: &mut Html, schema: &Value) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        html.raw(&format!("<a href=\"#schema-{}\">", anchor(name)));
        html.text(name);
        html.raw("</a>");
        return;
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        if let Some(options) = schema[choice].as_array() {
            for (position, option) in options.iter().enumerate() {
                html.raw(if position > 0 { if choice == "allOf" { " and " } else { " or " } } else { "" });
                write_type(html, option);
            }
            return;
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(text).collect();
        html.text(&values.join(", "));
        return;
    }
    let kinds: Vec<String> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(text).collect(),
        kind => vec![text(kind)],
    };
    html.text(&kinds.join(" or "));
    if schema["items"].is_object() {
        html.raw(" of ");
        write_type(html, &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        html.raw(" of ");
        write_type(html, &schema["additionalProperties"]);
        html.raw(" by name");
    }
    if let Some(format) = schema["format"].as_str().filter(|format| !format.starts_with("int") && *format != "double") {
        html.text(&format!(" ({format})"));
    }
}

fn write_credentials(html: &mut Html, document: &Value) {
    html.raw("<section id=\"credentials\"><h2>credentials</h2><dl>");
    for (name, scheme) in document["components"]["securitySchemes"].as_object().into_iter().flatten() {
        html.raw(&format!("<dt id=\"credential-{name}\">{name}</dt><dd>"));
        let place = match (scheme["in"].as_str(), scheme["name"].as_str()) {
            (Some("query"), Some(name)) => format!("?{name}=…"),
            (Some("header"), Some(name)) => format!("{name}: …"),
            _ => "Authorization: Bearer …".to_owned(),
        };
        html.raw("<p><code>");
        html.text(&place);
        html.raw("</code></p>");
        html.paragraphs(&text(&scheme["description"]));
        html.raw("</dd>");
    }
    html.raw("</dl></section>\n");
}

fn write_schemas(html: &mut Html, document: &Value) {
    html.raw("<section id=\"schemas\"><h2>schemas</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        html.raw(&format!("<article id=\"schema-{}\">", anchor(name)));
        html.element("h3", name);
        html.paragraphs(&text(&schema["description"]));
        let properties = schema["properties"].as_object().filter(|properties| !properties.is_empty());
        let Some(properties) = properties else {
            html.raw("<p>");
            write_type(html, schema);
            html.raw("</p></article>\n");
            continue;
        };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        html.table(&["Field", "Type", "Meaning"]);
        for (field, property) in properties {
            html.raw("<tr><td><code>");
            html.text(field);
            html.raw("</code>");
            html.raw(if required.contains(&field.as_str()) { "" } else { " <small>may be absent</small>" });
            html.raw("</td><td>");
            write_type(html, property);
            html.raw("</td><td>");
            html.text(&text(&property["description"]));
            html.raw("</td></tr>");
        }
        html.raw("</table></article>\n");
    }
    html.raw("</section>\n");
}

/// The text of a JSON value; what is no text is written as JSON, and nothing for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A name as it may be in a link.
fn anchor(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// HTML as it is written.
#[derive(Default)]
struct Html(String);

impl Html {
    /// Text, in which nothing is markup.
    fn text(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '<' => self.raw("&lt;"),
                '>' => self.raw("&gt;"),
                '&' => self.raw("&amp;"),
                '"' => self.raw("&quot;"),
                letter => self.0.push(letter),
            }
        }
    }

    fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    fn element(&mut self, name: &str, text: &str) {
        // Writing to memory cannot fail.
        let _ = write!(self.0, "<{name}>");
        self.text(text);
        let _ = write!(self.0, "</{name}>");
    }

    fn paragraphs(&mut self, text: &str) {
        for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            self.element("p", paragraph);
        }
    }

    fn table(&mut self, columns: &[&str]) {
        self.raw("<table><tr>");
        for column in columns {
            self.raw("<th scope=\"col\">");
            self.text(column);
            self.raw("</th>");
        }
        self.raw("</tr>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_operation_and_its_links_lead_somewhere() {
        let document = crate::document();
        let page = page(&document);
        for (path, _, operation) in operations(&document) {
            assert!(page.contains(&format!("<article id=\"{}\">", text(&operation["operationId"]))), "{path}");
        }
        for link in page.split("href=\"#").skip(1).filter_map(|piece| piece.split('"').next()) {
            assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
        }
        for foreign in ["<script", "src=", "href=\"http", "style=", "onclick"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn text_is_never_markup() {
        let mut html = Html::default();
        html.text("<a b=\"c\">&");
        assert_eq!(html.0, "&lt;a b=&quot;c&quot;&gt;&amp;");
    }
}
