//! What a cell of any data type can do.

use super::pack::{Packer, Unpacker};
use super::place::Place;

use crate::registry::DataType;

/// A cell of one data type.
pub trait WindowCell: Clone + PartialEq + std::fmt::Debug {
    /// The type of the rows it is made of.
    const DATA_TYPE: DataType;
    /// Version of the packed form; a change of fields raises it.
    const FORMAT: u8;
    /// Oldest version that is still read: values of rows that have expired are not made again.
    const OLDEST_FORMAT: u8 = Self::FORMAT;

    /// Returns where the cell lies.
    fn place(&self) -> Place;
    /// Makes a cell of no rows.
    #[must_use]
    fn at(place: Place) -> Self;
    /// Adds the rows of another cell: how slots of thirty minutes are made.
    fn absorb(&mut self, other: &Self);
    /// Writes everything but the place.
    fn pack(&self, packer: &mut Packer);
    /// Reads what [`WindowCell::pack`] wrote; `None` when the bytes are not such.
    fn unpack(place: Place, unpacker: &mut Unpacker<'_>) -> Option<Self>;
}
