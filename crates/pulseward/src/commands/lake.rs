//! `pulseward lake copy`: mirrors a group's sealed files into a folder or a bucket, as often as it is run.

mod listing;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use futures::StreamExt;
use serde_json::json;
use sha2::{Digest, Sha256};
use store::Objects;
use store::segment::folders_of_segment;

use self::listing::{File, Listing, Open};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::service::ServiceOptions;
use crate::wiring::objects::{self, Transport};

/// The object that says how far a mirror is.
const STATE: &str = "pulseward-lake.json";

/// The place of a mirror for which nothing has been listed yet.
const BEGIN: &str = "0";

/// Work with the open lake of sealed files
#[derive(Args)]
pub struct Lake {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Subcommand)]
enum Operation {
    Copy(Copy),
}

/// Mirror a group's sealed files: what is new since the last time, or everything
#[derive(Args)]
struct Copy {
    #[command(flatten)]
    service: ServiceOptions,
    /// API key of a researcher who is a member of the group
    #[arg(long, value_name = "KEY", env = "PULSEWARD_TOKEN", hide_env_values = true)]
    token: String,
    /// Code of the group
    #[arg(long, value_name = "CODE")]
    group: String,
    /// List everything, also what was listed before: finds patients who have joined since, removes files whose patient
    /// has left, and checks every file that is there
    #[arg(long)]
    full: bool,
    /// Allow a target at an `http://` address that is not on this machine
    #[arg(long)]
    objects_allow_http: bool,
    /// A folder, `file:///DIR` or `s3://BUCKET/PREFIX`
    #[arg(value_name = "TARGET")]
    target: String,
    #[command(flatten)]
    output: Output,
}

/// What a run has done.
#[derive(Default)]
struct Done {
    copied: u64,
    bytes: u64,
    present: u64,
    removed: u64,
}

impl Lake {
    /// Does the operation.
    pub async fn run(self) -> Result<(), Failure> {
        match self.operation {
            Operation::Copy(copy) => copy.run().await,
        }
    }
}

impl Copy {
    async fn run(self) -> Result<(), Failure> {
        let target = self.open_target()?;
        let known = read_state(&target, &self.group).await?;
        // What lies in a folder that is no mirror is not ours to remove.
        let is_renewed = self.full && known.is_some();
        let reached = known.flatten();
        let since = reached.clone().filter(|_| !self.full);
        let mut listing = Listing::open(&self.service, &self.token, &self.group, since.clone()).await?;
        let bar = progress_bar();
        let mut done = Done::default();
        let mut listed: Vec<String> = Vec::new();
        while let Some(page) = listing.next().await? {
            bar.set_length(done.copied + done.present + page.len() as u64);
            for file in page {
                bar.set_message(file.path.clone());
                self.copy_file(&target, &listing, &file, &mut done).await?;
                // After the new file is whole, so that a reader finds one or the other and never none.
                done.removed += remove_older(&target, &file.path).await?;
                listed.push(file.path);
                bar.inc(1);
            }
        }
        let is_whole = listing.unreadable().is_empty();
        // A file that could not be listed looks as if its patient had left.
        if is_renewed && is_whole {
            done.removed += remove_unlisted(&target, &listed).await?;
        }
        // Only when everything is there: a run that was killed lists the same again and finds most of it present.
        let reached = if is_whole { listing.since() } else { reached.as_deref() };
        write_state(&target, &self.group, reached).await?;
        bar.finish_and_clear();
        if done.copied + done.present == 0 {
            eprintln!("{}", nothing_listed(since.as_deref(), listing.still_open()));
        }
        self.output.print(&json!({
            "copied": done.copied, "bytes": done.bytes, "present": done.present, "removed": done.removed,
            "open": listing.still_open(),
        }))?;
        refuse_unlisted(&listing)
    }

    fn open_target(&self) -> Result<Objects, Failure> {
        if self.target.contains("://") {
            return objects::at(&self.target, Transport::of(self.objects_allow_http));
        }
        let path = std::path::absolute(Path::new(&self.target));
        let path: PathBuf = path.map_err(|error| Failure::file("find", Path::new(&self.target), error))?;
        Ok(Objects::folder(&path)?)
    }

    /// Copies a file unless it is there. A path is never used for two files, so its size says whether it is whole; what
    /// has been damaged since only its bytes say.
    async fn copy_file(
        &self,
        target: &Objects,
        listing: &Listing,
        file: &File,
        done: &mut Done,
    ) -> Result<(), Failure> {
        // Reading everything again is what `--full` is for; every other run trusts sizes and takes seconds.
        let is_there = if self.full {
            target.digest(&file.path).await?.is_some_and(|(_, sha256)| sha256 == file.sha256)
        } else {
            target.size(&file.path).await? == Some(file.bytes)
        };
        if is_there {
            done.present += 1;
            return Ok(());
        }
        let mut bytes = listing.fetch(file).await?;
        let mut upload = target.upload(&file.path)?;
        let mut hash = Sha256::new();
        while let Some(piece) = bytes.next().await {
            let piece = match piece {
                Ok(piece) => piece,
                Err(error) => {
                    // An upload that is only dropped stays in a bucket as parts that nobody sees and somebody pays
                    // for.
                    upload.abort().await?;
                    return Err(error.into());
                }
            };
            hash.update(&piece);
            upload.put(piece).await?;
        }
        // Compared before the file appears under its name: readers of the mirror may be at work.
        if platform::hex(&hash.finalize()) != file.sha256 {
            upload.abort().await?;
            return Err(Failure::Other(format!("{}: what came is not what was listed", file.path)));
        }
        done.bytes += upload.finish().await?;
        done.copied += 1;
        Ok(())
    }
}

/// Returns what to say where no file was listed: without a word an empty mirror looks like a whole one.
/// `since` is how far the mirror was before.
fn nothing_listed(since: Option<&str>, open: &[Open]) -> String {
    let is_later = since.is_some_and(|since| since != BEGIN);
    let what = if is_later { "no new sealed files" } else { "there are no sealed files" };
    if open.is_empty() {
        return format!("{what}; every row is in a sealed file");
    }
    let open: Vec<String> = open.iter().map(|open| format!("{} from {}", open.data_type, open.from)).collect();
    format!(
        "{what}; not in files yet: {}. They are sealed some hours after the end of their day or month, and at once by \
         `pulseward seal --now`",
        open.join(", ")
    )
}

/// Removes what the file has taken the place of: other files in its folder, which is of one type, period and patient, and
/// in the folders that the period had before.
async fn remove_older(target: &Objects, path: &str) -> Result<u64, Failure> {
    let mut removed = 0;
    for folder in folders_of_segment(path) {
        for object in target.listed(&folder).await? {
            // Names begin with a growing number, so that their order is the order of sealing.
            if file_name(&object.path) < file_name(path) {
                target.delete(&object.path).await?;
                removed += 1;
            }
        }
        target.remove_empty_folder(&folder);
    }
    Ok(removed)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Fails where files could not be listed: a mirror that lacks them must not look whole.
fn refuse_unlisted(listing: &Listing) -> Result<(), Failure> {
    let patients: Vec<&str> = listing.unreadable().iter().map(String::as_str).collect();
    if patients.is_empty() {
        return Ok(());
    }
    Err(Failure::Other(format!(
        "the service cannot list all files of {}, because what it has stored about them is damaged; all others are here, \
         and the next run lists the same again",
        patients.join(", ")
    )))
}

async fn remove_unlisted(target: &Objects, listed: &[String]) -> Result<u64, Failure> {
    let listed: runtime::HashSet<&str> = listed.iter().map(String::as_str).collect();
    let mut removed = 0;
    for object in target.listed("v1").await? {
        if !listed.contains(object.path.as_str()) {
            target.delete(&object.path).await?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// How far a mirror is, once it has been listed to an end; `None` where there is no mirror. A usage error when it is of
/// another group.
async fn read_state(target: &Objects, group: &str) -> Result<Option<Option<String>>, Failure> {
    let Some(object) = target.read(STATE, None).await? else { return Ok(None) };
    let mut text = Vec::new();
    let mut bytes = object.bytes;
    while let Some(piece) = bytes.next().await {
        text.extend_from_slice(&piece?);
    }
    // A damaged state belongs to no group and is refused below: nothing is removed on its word.
    let state: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    if state["group"] != group {
        return Err(Failure::Usage("the target holds the mirror of another group".to_owned()));
    }
    Ok(Some(state["since"].as_str().map(str::to_owned)))
}

async fn write_state(target: &Objects, group: &str, since: Option<&str>) -> Result<(), Failure> {
    let mut upload = target.upload(STATE)?;
    upload.put(format!("{}\n", json!({"group": group, "since": since})).into()).await?;
    upload.finish().await?;
    Ok(())
}
