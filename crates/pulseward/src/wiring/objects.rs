//! Where objects lie: a folder or a bucket, as an address says.

use std::path::PathBuf;

use store::{Objects, S3Address};

use crate::config::StoreOptions;
use crate::failure::Failure;

/// Returns the object store that the options name. Nothing is made or asked of it yet, so that a mistake in the address
/// leaves nothing behind.
pub(super) fn named(options: &StoreOptions) -> Result<Named, Failure> {
    let place = match &options.objects {
        None => Place::Folder(options.data.join("objects")),
        Some(url) => place(url)?,
    };
    match place {
        Place::Folder(path) => Ok(Named::Folder(path)),
        Place::Bucket { bucket, prefix } => {
            let transport = Transport::of(options.objects_allow_http);
            Ok(Named::Bucket(bucket_at(bucket, prefix, transport)?))
        }
    }
}

/// An object store whose address is right.
pub(super) enum Named {
    Folder(PathBuf),
    Bucket(Objects),
}

/// What becomes of a folder of objects that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// It is made: the store is being made.
    Made,
    /// It is an error. Made again below a disk that is not mounted, it would take what belongs on the disk.
    Refused,
    /// It is opened all the same: nobody asks for objects.
    Ignored,
}

impl Named {
    /// Opens it.
    pub fn open(self, missing: Missing) -> Result<Objects, Failure> {
        match (self, missing) {
            (Named::Bucket(objects), _) => Ok(objects),
            (Named::Folder(path), Missing::Made) => Ok(Objects::folder(&path)?),
            (Named::Folder(path), Missing::Ignored) if !path.is_dir() => Ok(Objects::absent(&path)),
            // Refused like what belongs to another store: nothing gets better by trying again.
            (Named::Folder(path), _) => {
                let refused =
                    |error| Failure::Usage(format!("{error} If the objects are elsewhere, name it with --objects"));
                Objects::existing_folder(&path).map_err(refused)
            }
        }
    }
}

/// How a bucket may be reached over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over TLS only.
    Encrypted,
    /// In clear text too.
    AlsoPlain,
}

impl Transport {
    /// Returns what the option `--objects-allow-http` says.
    pub fn of(allow_http: bool) -> Self {
        if allow_http { Transport::AlsoPlain } else { Transport::Encrypted }
    }
}

/// Opens the object store at an address: `file:///DIR` or `s3://BUCKET/PREFIX`.
pub fn at(url: &str, transport: Transport) -> Result<Objects, Failure> {
    match place(url)? {
        Place::Folder(path) => Ok(Objects::folder(&path)?),
        Place::Bucket { bucket, prefix } => bucket_at(bucket, prefix, transport),
    }
}

/// Does the same of a folder that is not made: while it is not there, whatever is asked of it fails.
pub fn existing(url: &str, transport: Transport) -> Result<Objects, Failure> {
    match place(url)? {
        Place::Folder(path) if !path.is_dir() => Ok(Objects::absent(&path)),
        Place::Folder(path) => Ok(Objects::existing_folder(&path)?),
        Place::Bucket { bucket, prefix } => bucket_at(bucket, prefix, transport),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Folder(PathBuf),
    Bucket { bucket: String, prefix: String },
}

fn place(url: &str) -> Result<Place, Failure> {
    if let Some(path) = url.strip_prefix("file://").filter(|path| path.starts_with('/')) {
        return Ok(Place::Folder(PathBuf::from(path)));
    }
    if let Some(rest) = url.strip_prefix("s3://") {
        // A prefix is optional: a bucket may belong to the service alone.
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if !bucket.is_empty() {
            let prefix = prefix.trim_matches('/').to_owned();
            return Ok(Place::Bucket { bucket: bucket.to_owned(), prefix });
        }
    }
    // The address holds no secret: credentials come from variables only.
    Err(Failure::Usage(format!("{url}: objects lie at file:///DIR or s3://BUCKET/PREFIX")))
}

fn bucket_at(bucket: String, prefix: String, transport: Transport) -> Result<Objects, Failure> {
    let endpoint = environment("AWS_ENDPOINT_URL");
    let is_plain = endpoint.as_deref().is_some_and(|url| url.starts_with("http://"));
    // Samples would cross the network in clear text, and with them the signed addresses of files.
    if is_plain && transport == Transport::Encrypted && !endpoint.as_deref().is_some_and(is_loopback) {
        let message = "AWS_ENDPOINT_URL is not encrypted; --objects-allow-http allows that";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(Objects::bucket(&S3Address {
        bucket,
        prefix,
        // Both names are in use by the tools of S3, the first is the newer.
        region: environment("AWS_REGION").or_else(|| environment("AWS_DEFAULT_REGION")),
        endpoint,
        access_key_id: environment("AWS_ACCESS_KEY_ID"),
        secret_access_key: environment("AWS_SECRET_ACCESS_KEY"),
        session_token: environment("AWS_SESSION_TOKEN"),
        allow_http: is_plain,
    })?)
}

/// Returns whether an address leads to this machine.
pub fn is_loopback(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default().split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[allow(clippy::disallowed_methods)] // these variables are not the program's own, so no option reads them
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_folder_or_a_bucket() {
        assert_eq!(place("file:///srv/objects").unwrap(), Place::Folder("/srv/objects".into()));
        let bucket =
            |bucket: &str, prefix: &str| Place::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() };
        assert_eq!(place("s3://study").unwrap(), bucket("study", ""));
        assert_eq!(place("s3://study/a/b/").unwrap(), bucket("study", "a/b"));
        for wrong in ["s3://", "s3:///a", "file://relative", "/srv", "ftp://x/y"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for url in ["http://127.0.0.1:9000", "http://localhost", "http://[::1]:80/x"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "http://localhost.example", "http://s3.example:9000"] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
