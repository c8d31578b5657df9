//! `pulseward restore`: a backup comes back, onto either engine.
//!
//! Every file of the backup is compared with its checksum before anything is changed. An object that is damaged costs itself
//! and nothing else: it is noted as a reader would note it. Then the target is marked, so that
//! nobody opens a store that is half there or still has somebody in it who was erased since: a data folder by a file, a
//! PostgreSQL database by a table, because other nodes reach it from other folders. A restore that was cut off is run again.

mod erased;
mod key;
mod objects;
mod segments;
mod target;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{ArgMatches, Args};
use platform::{Cloud, Platform, Settings, SigningKeyFate};
use serde_json::json;
use store::PatientId;
use store::backup::{Database, check_version};

use self::erased::{Erased, erase_again, read_uuids};
use self::key::{KeyChoice, KeySource, LostKey, RestoredKey};
use self::target::Target;
use crate::commands::backup::bytes::Bytes;
use crate::commands::backup::manifest::{DamagedObject, Manifest};
use crate::commands::backup::{KEY, database_file};
use crate::config::{self, LogFormat, LogOptions, StoreOptions};
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::progress_bar;
use crate::{logging, wiring};

/// Bring a backup back into an empty store, and erase again who was erased since; ends with status 3 where objects of it are
/// damaged and everything else is back
#[derive(Args)]
pub struct Restore {
    /// The folder of the backup
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// File with the uuids of patients who were erased since, one a line; those that the backup or the
    /// target's own objects name are erased in any case
    #[arg(long, value_name = "FILE")]
    erased: Option<PathBuf>,
    /// Go on with a master key in the store that does not open the backup, because the backup's own is lost: other keys
    /// sign from then on, and second factors are lost
    #[arg(long)]
    key_lost: bool,
    /// Bring back only this sealed file, by the path that `doctor` names, into a store that goes on; may be given several
    /// times. DIR may then be an address of other copies, too, such as `s3://BUCKET/PREFIX` or `file:///OBJECTS`
    #[arg(long, value_name = "PATH", conflicts_with_all = ["erased", "key_lost"])]
    segment: Vec<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreOptions,
}

impl Restore {
    /// Brings the backup back, or some files of it.
    pub async fn run(self, matches: &ArgMatches) -> Result<(), Failure> {
        logging::start(&LogOptions { log: "warn".to_owned(), log_format: LogFormat::Text })?;
        let file = self.store.config.clone();
        let store = config::complete(self.store.clone(), matches, file.as_deref())?;
        if !self.segment.is_empty() {
            return self.output.print(&segments::restore(&self.folder, &self.segment, &store).await?);
        }
        let (manifest, mut damaged) = self.checked_manifest().await?;
        if !damaged.is_empty() {
            // Before the long work begins: an operator who has a better backup takes that one.
            eprintln!("{} objects of the backup are missing or damaged; everything else comes back", damaged.len());
        }
        let erased = self.erased.as_deref().map(read_uuids).transpose()?.unwrap_or_default();
        refuse_other_objects(&manifest, &store)?;
        let target = Target::look_at(&store).await?;
        let key = self.choose_key(&store, &target).await?;
        // Marked before the first file is there, so that a restore that is killed leaves nothing that opens.
        target.begin(&key)?;
        for database in Database::BOTH {
            target.fill(database, &database_file(&self.folder, database)).await?;
        }
        key.put()?;
        if key.source == KeySource::Made {
            eprintln!("neither backup nor store has a master key: a new one is made, and other keys sign from now on");
        }
        if manifest.objects_are_here {
            // A backup that was made to share nothing with its store begins to share nothing with this one.
            let bytes = if manifest.objects_are_copied { Bytes::Own } else { Bytes::Shared };
            damaged = objects::bring(&self.folder, &store, damaged, bytes).await?;
        }
        let platform = wiring::open_restored(&store, Settings::default()).await?;
        let finished = finish(&platform, erased, &damaged).await;
        wiring::close(&platform).await;
        let Finished { signing: [users, health], erased, unreadable_factors, checkpoints_set_aside } = finished?;
        if unreadable_factors > 0 {
            eprintln!(
                "{unreadable_factors} second factors cannot be read with this master key; \
                 `pulseward admin remove-second-factor` takes them away"
            );
        }
        // Last, when nobody is left in it who was erased since.
        target.end().await?;
        self.output.print(&json!({
            "databases": manifest.databases,
            "objects": manifest.objects,
            "bytes": manifest.object_bytes,
            "damaged": damaged,
            "erased": erased.again,
            "not_in_backup": erased.unknown,
            "master_key": key.source != KeySource::Made,
            "master_key_from": key.source.name(),
            "signing_keys": {"users": users, "health": health},
            "unreadable_second_factors": unreadable_factors,
            "checkpoints_set_aside": checkpoints_set_aside,
        }))?;
        if damaged.is_empty() {
            return Ok(());
        }
        Err(Failure::Damaged(format!(
            "everything was brought back but {} objects, which are marked as damaged: {}: bring them back from another \
             backup with `restore --segment`",
            damaged.len(),
            DamagedObject::list(&damaged)
        )))
    }

    /// Returns what the backup says of itself, and its objects that are not what was written; everything else is.
    async fn checked_manifest(&self) -> Result<(Manifest, Vec<DamagedObject>), Failure> {
        let folder = self.folder.clone();
        let checking = runtime::blocking("check a backup", move || {
            let bar = progress_bar();
            bar.set_message("checking");
            let manifest = Manifest::read(&folder)?;
            let damaged = manifest.verify(&folder, || bar.inc(1))?;
            bar.finish_and_clear();
            Ok::<_, Failure>((manifest, damaged))
        });
        let checked = checking.await.map_err(|error| Failure::Other(error.to_string()))??;
        for database in Database::BOTH {
            check_version(database, database_file(&self.folder, database)).await?;
        }
        Ok(checked)
    }

    async fn choose_key(&self, store: &StoreOptions, target: &Target) -> Result<RestoredKey, Failure> {
        let mut signing = Vec::new();
        for (cloud, database) in [(Cloud::Users, Database::Users), (Cloud::Health, Database::Health)] {
            signing.push((cloud, store::backup::signing_keys(database_file(&self.folder, database)).await?));
        }
        let audit_key = store::backup::audit_public_key(database_file(&self.folder, Database::Users)).await?;
        let opens = |key: &[u8; 32]| -> Result<bool, Failure> {
            if audit_key.as_ref().is_some_and(|guards| guards[..] != platform::audit_key(key).public_key()[..]) {
                return Ok(false);
            }
            for (cloud, keys) in &signing {
                if !platform::opens_newest(key, *cloud, keys)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        RestoredKey::choose(KeyChoice {
            path: &wiring::master_key_path(store),
            of_backup: &self.folder.join(KEY),
            noted: target.noted_key(),
            lost: if self.key_lost { LostKey::Accepted } else { LostKey::Refused },
            opens: &opens,
        })
    }
}

/// Objects of a folder come back into a folder, and those of a bucket are where they were.
fn refuse_other_objects(manifest: &Manifest, store: &StoreOptions) -> Result<(), Failure> {
    let message = match (manifest.objects_are_here, wiring::has_bucket(store)) {
        (true, true) => "the backup's objects lie in a folder: restore them into one",
        (false, false) if manifest.objects > 0 => {
            "the backup lists the objects of a bucket and has none of them: name the bucket with --objects"
        }
        _ => return Ok(()),
    };
    Err(Failure::Usage(message.to_owned()))
}

/// What became of a store that was restored.
struct Finished {
    /// Of the keys that sign for each cloud.
    signing: [&'static str; 2],
    /// Of patients who were erased since the backup.
    erased: Erased,
    /// Second factors that the master key does not open.
    unreadable_factors: u64,
    /// Checkpoints of the audit log from after the backup.
    checkpoints_set_aside: u64,
}

/// Does what follows when the stores are open.
async fn finish(
    platform: &Platform,
    erased: BTreeSet<PatientId>,
    damaged: &[DamagedObject],
) -> Result<Finished, Failure> {
    // Before anything else: readers of events of before would skip what happens from now on.
    platform.upkeep.begin_epoch().await?;
    platform.upkeep.forget_processes().await?;
    // Before entries follow, which take the numbers of those that were lost.
    let checkpoints_set_aside = platform.upkeep.take_restored_audit_log().await?;
    let mut signing = ["kept"; 2];
    for (cloud, fate) in [Cloud::Users, Cloud::Health].into_iter().zip(&mut signing) {
        // Tried once more and not concluded from the files. What the old keys have signed is verified by their public
        // halves, and stays good.
        if platform.identity.rotate_unopened_signing_key(cloud).await? == SigningKeyFate::Rotated {
            *fate = "rotated";
        }
    }
    let unreadable_factors = platform.identity.count_unreadable_second_factors().await?;
    let erased = erase_again(platform, erased).await?;
    for object in damaged {
        platform.upkeep.note_fault(&object.path, object.fault).await?;
    }
    Ok(Finished { signing, erased, unreadable_factors, checkpoints_set_aside })
}
