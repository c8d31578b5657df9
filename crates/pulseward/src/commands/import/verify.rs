//! Reads an archive whole before anything of it is sent: what its manifest says of each file must be so. Nothing is
//! unpacked beyond the size that the manifest gives.

use std::collections::BTreeSet;
use std::io::{Read, sink};

use sha2::{Digest, Sha256};

use super::archive::{Archive, Entry, Form};
use super::columnar::RowZones;
use super::reader::Rows;
use crate::failure::Failure;

impl Archive {
    /// Refuses an archive that has other data files than its manifest names, or one whose size, SHA-256 or number of rows
    /// is another.
    pub fn verify(&mut self) -> Result<(), Failure> {
        let entries = self.entries()?;
        let named: BTreeSet<&str> = entries.iter().map(|entry| &*entry.name).collect();
        if named.len() < entries.len() {
            return Err(self.refused("its manifest names a file twice"));
        }
        if let Some(other) = self.data_files()?.iter().find(|name| !named.contains(&***name)) {
            return Err(self.refused(&format!("`{other}` is not in its manifest")));
        }
        for entry in &entries {
            let rows = match entry.form {
                Form::Csv => self.verified_lines(entry)?,
                Form::Parquet => self.verified_columns(entry)?,
            };
            if rows != entry.rows {
                let (name, said) = (&entry.name, entry.rows);
                return Err(self.refused(&format!("`{name}` has {rows} rows and {said} by its manifest")));
            }
        }
        Ok(())
    }

    /// Compares a file of lines with the manifest, and counts its rows.
    fn verified_lines(&mut self, entry: &Entry) -> Result<u64, Failure> {
        let name = self.path.join(&entry.name);
        let mut bytes = Hashing::new(self.packed(entry, 1)?);
        let counted = count(&mut bytes, &name, entry);
        // Whether the file is whole is said before what its lines are.
        std::io::copy(&mut bytes, &mut sink()).map_err(|error| Failure::file("unpack", &name, error))?;
        let found = bytes.end();
        self.compare(entry, &found)?;
        counted
    }

    /// Does the same of a file of columns.
    fn verified_columns(&mut self, entry: &Entry) -> Result<u64, Failure> {
        let name = self.path.join(&entry.name);
        let mut bytes = Hashing::new(self.packed(entry, 1)?);
        std::io::copy(&mut bytes, &mut sink()).map_err(|error| Failure::file("unpack", &name, error))?;
        let found = bytes.end();
        self.compare(entry, &found)?;
        Ok(self.streams(entry, RowZones::Kept)?.rows())
    }

    fn compare(&self, entry: &Entry, (bytes, sha256): &(u64, String)) -> Result<(), Failure> {
        let (name, said) = (&entry.name, entry.bytes);
        if *bytes > said {
            return Err(self.refused(&format!("`{name}` is larger than the {said} bytes of its manifest")));
        }
        if *bytes < said {
            return Err(self.refused(&format!("`{name}` has {bytes} bytes and {said} by its manifest")));
        }
        if *sha256 != entry.sha256 {
            return Err(self.refused(&format!("`{name}` has another SHA-256 than its manifest says")));
        }
        Ok(())
    }
}

fn count(bytes: &mut dyn Read, name: &std::path::Path, entry: &Entry) -> Result<u64, Failure> {
    let mut rows = Rows::read(Box::new(bytes), name, entry.data_type)?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Bytes that are hashed as they go by.
struct Hashing<R> {
    from: R,
    hash: Sha256,
    bytes: u64,
}

impl<R> Hashing<R> {
    fn new(from: R) -> Self {
        Hashing { from, hash: Sha256::new(), bytes: 0 }
    }

    /// Returns how many went by, and their SHA-256 in hexadecimal.
    fn end(self) -> (u64, String) {
        (self.bytes, platform::hex(&self.hash.finalize()))
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(into)?;
        self.hash.update(&into[..count]);
        self.bytes += count as u64;
        Ok(count)
    }
}
