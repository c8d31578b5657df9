//! Bundles the pages with npm in `OUT_DIR`, so that nothing is written next to the sources, and writes the table of the
//! files that the crate embeds.
//!
//! `npm run build` has to write the files into the folder named by `PORTAL_OUT`, and each of them also as brotli (`.br`)
//! and gzip (`.gz`): what never changes is compressed once, with patience. Packages are installed again only when the
//! lock file has changed.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a developer's own runs of npm leave next to the sources.
const NOT_SOURCES: [&str; 4] = ["node_modules", "dist", "test-results", "screenshots"];

fn main() {
    if let Err(reason) = build() {
        println!("cargo::error={reason}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let sources = folder("CARGO_MANIFEST_DIR")?.join("web");
    let out = folder("OUT_DIR")?;
    let (work, dist) = (out.join("web"), out.join("dist"));
    println!("cargo::rerun-if-changed=build.rs");
    for entry in entries(&sources)? {
        println!("cargo::rerun-if-changed={}", entry.display());
    }
    renew(&sources, &work).map_err(|error| format!("the pages' sources could not be copied: {error}"))?;
    install(&work, &out.join("installed-lock.json"))?;
    if dist.exists() {
        std::fs::remove_dir_all(&dist).map_err(|error| format!("{} stays: {error}", dist.display()))?;
    }
    run(npm(&work).args(["run", "--silent", "build"]).env("PORTAL_OUT", &dist), "npm run build")?;
    let table = table(&dist)?;
    std::fs::write(out.join("files.rs"), table).map_err(|error| format!("files.rs could not be written: {error}"))
}

#[allow(clippy::disallowed_methods)] // how cargo talks to a build script
fn folder(variable: &str) -> Result<PathBuf, String> {
    std::env::var(variable).map(PathBuf::from).map_err(|_| format!("{variable} is not set"))
}

/// Returns what lies in a folder of sources.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = listed.filter_map(Result::ok).map(|entry| entry.path());
    let is_source = |path: &PathBuf| !NOT_SOURCES.iter().any(|name| path.ends_with(name));
    let mut sources: Vec<PathBuf> = paths.filter(is_source).collect();
    sources.sort();
    Ok(sources)
}

/// Makes the working copy what the sources are, and keeps its installed packages.
fn renew(sources: &Path, work: &Path) -> io::Result<()> {
    std::fs::create_dir_all(work)?;
    for old in std::fs::read_dir(work)? {
        let old = old?;
        if old.file_name() == "node_modules" {
            continue;
        }
        if old.file_type()?.is_dir() { std::fs::remove_dir_all(old.path())? } else { std::fs::remove_file(old.path())? }
    }
    copy(sources, work)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in entries(from).map_err(io::Error::other)? {
        let Some(name) = entry.file_name() else { continue };
        if entry.is_dir() {
            copy(&entry, &to.join(name))?;
        } else {
            std::fs::copy(&entry, to.join(name))?;
        }
    }
    Ok(())
}

/// Installs what the lock file names, unless the same was installed before.
fn install(work: &Path, installed: &Path) -> Result<(), String> {
    let lock = std::fs::read(work.join("package-lock.json")).map_err(|error| format!("package-lock.json: {error}"))?;
    if work.join("node_modules").is_dir() && std::fs::read(installed).is_ok_and(|before| before == lock) {
        return Ok(());
    }
    // No package needs a script of its own to be usable, so none gets to run one.
    run(npm(work).args(["ci", "--omit=dev", "--no-audit", "--no-fund", "--ignore-scripts"]), "npm ci")?;
    std::fs::write(installed, lock).map_err(|error| format!("{}: {error}", installed.display()))
}

fn npm(work: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(work);
    command
}

fn run(command: &mut Command, name: &str) -> Result<(), String> {
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err("the portal's pages are bundled by npm, which is not installed: install Node.js with npm, or \
                build pulseward with `--no-default-features` to leave the `portal` feature out"
                .to_owned());
        }
        Err(error) => return Err(format!("`{name}` could not be started: {error}")),
        Ok(output) => output,
    };
    if output.status.success() {
        return Ok(());
    }
    eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("`{name}` failed for the portal's pages; its output follows"))
}

/// Returns the table of the bundled files as Rust.
fn table(dist: &Path) -> Result<String, String> {
    let mut files = Vec::new();
    gather(dist, &mut files)?;
    files.sort();
    let mut text = "&[\n".to_owned();
    for file in files {
        let name = file.strip_prefix(dist).ok().and_then(Path::to_str).ok_or("a file's name is not text")?;
        let plain = file.display().to_string();
        let packed = |end: &str| format!("{plain}.{end}");
        for end in ["br", "gz"] {
            if !Path::new(&packed(end)).is_file() {
                return Err(format!("`npm run build` has written {name} without {name}.{end}"));
            }
        }
        let bytes = std::fs::read(&file).map_err(|error| format!("{name}: {error}"))?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let tag = format!("W/\"{:016x}\"", hasher.finish());
        let (brotli, gzip) = (packed("br"), packed("gz"));
        let name = name.replace('\\', "/");
        writeln!(
            text,
            "File {{ name: {name:?}, etag: {tag:?}, plain: include_bytes!({plain:?}), \
            brotli: include_bytes!({brotli:?}), gzip: include_bytes!({gzip:?}) }},"
        )
        .map_err(|error| error.to_string())?;
    }
    text.push(']');
    if !text.contains("\"index.html\"") {
        return Err("`npm run build` has written no index.html".to_owned());
    }
    Ok(text)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            gather(&path, files)?;
        } else if !path.extension().is_some_and(|end| end == "br" || end == "gz") {
            files.push(path);
        }
    }
    Ok(())
}
