//! The bundled files.

/// A file of the pages, as it is and compressed.
pub(crate) struct File {
    /// Path below the bundle, such as `assets/app-ABCDEFGH.js`.
    pub name: &'static str,
    /// Weak, because the same tag represents every coding of the file.
    pub etag: &'static str,
    /// As it is.
    pub plain: &'static [u8],
    /// With brotli.
    pub brotli: &'static [u8],
    /// With gzip.
    pub gzip: &'static [u8],
}

/// All of them, by name.
pub(crate) static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

impl File {
    /// Returns the file of a name.
    pub fn named(name: &str) -> Option<&'static File> {
        FILES.iter().find(|file| file.name == name)
    }

    /// Returns whether the hash of its content is in its name, so that it never changes.
    pub fn is_hashed(&self) -> bool {
        self.name.starts_with("assets/")
    }

    /// Returns the media type, by the end of the name.
    pub fn media_type(&self) -> &'static str {
        // Browsers are instructed not to guess (`nosniff`): a script or a style of another type is not used at all.
        match self.name.rsplit_once('.').map_or("", |(_, end)| end) {
            "html" => "text/html; charset=utf-8",
            "js" | "mjs" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "png" => "image/png",
            "ico" => "image/x-icon",
            "woff2" => "font/woff2",
            "json" | "map" => "application/json",
            "webmanifest" => "application/manifest+json",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}
