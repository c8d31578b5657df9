//! Where the password of an account comes from: the command line, standard input, or the service, which makes one up.

use std::io::Read;

use clap::Args;

use crate::failure::Failure;

/// A password, or how to get it.
#[derive(Args)]
pub struct PasswordSource {
    /// The password; others on this machine can see it while the command runs, see --password-stdin
    #[arg(long, value_name = "P", conflicts_with = "password_stdin")]
    password: Option<String>,
    /// Read the password from standard input, up to the end of its first line
    #[arg(long)]
    password_stdin: bool,
}

impl PasswordSource {
    /// Returns the password; none when the service is to make one up.
    pub fn read(self) -> Result<Option<String>, Failure> {
        if !self.password_stdin {
            return Ok(self.password);
        }
        let mut text = String::new();
        // Nobody's password is longer; anyone who pipes in a disk learns so from the rules for passwords.
        let read = std::io::stdin().lock().take(4096).read_to_string(&mut text);
        read.map_err(|error| Failure::io("read the password", error))?;
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() {
            return Err(Failure::Usage("--password-stdin: standard input holds no password".to_owned()));
        }
        Ok(Some(line.to_owned()))
    }
}
