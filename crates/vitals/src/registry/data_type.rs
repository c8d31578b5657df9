//! What can be asked of a data type.

use super::channel::{Channel, ChannelRule};
use super::column::Column;
use super::declaration::{Declaration, Period};
use super::types::{DECLARATIONS, DataType};

/// The column of the value that a row of [`ChannelRule::TestKind`] measured.
const MEASURED: &str = "value";
/// The most columns that make up a channel.
const MOST_CHANNEL_COLUMNS: usize = 2;

/// Where the columns of each type's channel lie. Every batch of rows asks for it, so it is found once, by the compiler.
const CHANNEL_COLUMNS: [([usize; MOST_CHANNEL_COLUMNS], usize); DataType::ALL.len()] = {
    let mut all = [([0; MOST_CHANNEL_COLUMNS], 0); DataType::ALL.len()];
    let mut at = 0;
    while at < all.len() {
        let names = DECLARATIONS[at].channel.columns();
        let mut part = 0;
        while part < names.len() {
            all[at].0[part] = position(DECLARATIONS[at].columns, names[part]);
            part += 1;
        }
        all[at].1 = names.len();
        at += 1;
    }
    all
};

/// Returns the position of a column; the program does not compile where there is none.
const fn position(columns: &[Column], name: &str) -> usize {
    let mut at = 0;
    while !is_same(columns[at].name.as_bytes(), name.as_bytes()) {
        at += 1;
    }
    at
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl DataType {
    /// Returns all that is declared of the type.
    pub const fn declaration(self) -> &'static Declaration {
        const ALL: &[Declaration; DataType::ALL.len()] = &DECLARATIONS;
        &ALL[self as usize]
    }

    /// Returns the declarations of all types, in the order of [`DataType::ALL`].
    pub fn declarations() -> Vec<&'static Declaration> {
        Self::ALL.into_iter().map(Self::declaration).collect()
    }

    /// Returns the name in addresses and bodies, such as `rr-interval`.
    pub const fn name(self) -> &'static str {
        self.declaration().name
    }

    /// Returns the names of all types.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::ALL.into_iter().map(DataType::name)
    }

    /// Returns the type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.name() == name)
    }

    /// Returns a small number that represents the type in the database and never changes.
    pub const fn number(self) -> i64 {
        self.declaration().number
    }

    /// Returns the type of that number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.number() == number)
    }

    /// Returns the columns after `timestamp`, in the order of every output.
    pub const fn columns(self) -> &'static [Column] {
        self.declaration().columns
    }

    /// Returns the position of a column that there is, where the program is compiled.
    pub(crate) const fn position(self, name: &str) -> usize {
        position(self.columns(), name)
    }

    /// Returns the position of a column, by name.
    pub fn column_index(self, name: &str) -> Option<usize> {
        self.columns().iter().position(|column| column.name == name)
    }

    /// Returns the column of that name.
    pub fn column(self, name: &str) -> Option<&'static Column> {
        self.declaration().column(name)
    }

    /// Positions of the columns that make up the channel; empty for types with one channel.
    pub fn channel_columns(self) -> &'static [usize] {
        let (positions, count) = &CHANNEL_COLUMNS[self as usize];
        &positions[..*count]
    }

    /// Returns the channel of a row with these channel cells, given in the order of [`DataType::channel_columns`].
    pub fn channel(self, cells: &[i32]) -> Channel {
        self.declaration().channel.of_cells(cells)
    }

    /// Returns the cell of a column that means "no value" in a channel, as well as `NULL`; `NULL` itself where every value
    /// is one. What a test measured decides which value of it is none.
    pub fn no_value_cell(self, column: &Column, channel: Channel) -> i32 {
        let is_measured = column.name == MEASURED && self.declaration().channel == ChannelRule::TestKind;
        let kind = if is_measured { channel.test_kind() } else { None };
        kind.map_or_else(|| column.no_value_cell(), |kind| kind.no_value)
    }

    /// Returns whether this is a signal sampled many times a second: smaller windows and chunks.
    pub const fn is_waveform(self) -> bool {
        self.declaration().is_waveform()
    }

    /// Returns the period that one sealed segment covers.
    pub const fn period(self) -> Period {
        self.declaration().period
    }
}
