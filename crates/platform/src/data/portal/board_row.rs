//! What a board shows of a patient.

use store::PatientId;
use vitals::latest::LatestValues;
use vitals::news_timeline::NewsEntry;

/// Five-minute slots of a sparkline: six hours.
pub const SPARK_SLOTS: i64 = 72;

/// A patient on the board.
#[derive(Clone, Debug)]
pub struct BoardRow {
    /// The patient.
    pub uuid: PatientId,
    /// First and last name, else the identifier of the customer, else the first eight characters of the uuid.
    pub name: String,
    /// Identifier in the customer's own system.
    pub external_id: Option<String>,
    /// The newest valid vital signs.
    pub latest: LatestValues,
    /// The newest NEWS entry.
    pub news: Option<NewsEntry>,
    /// Charge of the bracelet, percent, and when it reported it, ms.
    pub battery: Option<(i64, i64)>,
    /// Whether the bracelet was worn in the newest window of the last hours; `None` without any.
    pub worn: Option<bool>,
    /// Whether it was charging then.
    pub charging: Option<bool>,
    /// Time at which the last sync was stored, ms.
    pub last_sync_ms: Option<i64>,
    /// The last hours.
    pub spark: Spark,
    /// Something stored of the patient is damaged; nothing but who it is is known then.
    pub is_unreadable: bool,
}

impl BoardRow {
    /// Returns the row of a patient without any data; `from_ms` is where the last hours begin.
    pub(crate) fn empty(uuid: PatientId, from_ms: i64) -> Self {
        BoardRow {
            uuid,
            name: String::new(),
            external_id: None,
            latest: LatestValues::default(),
            news: None,
            battery: None,
            worn: None,
            charging: None,
            last_sync_ms: None,
            spark: Spark::empty(from_ms),
            is_unreadable: false,
        }
    }
}

/// Means of the five-minute windows of the last hours, oldest first; `None` where there is no valid value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spark {
    /// Start of the first window, ms.
    pub from_ms: i64,
    /// /min.
    pub heart_rate: Vec<Option<f64>>,
    /// /min.
    pub respiration_rate: Vec<Option<f64>>,
    /// %.
    pub spo2: Vec<Option<f64>>,
}

impl Spark {
    /// Hours without a valid value.
    pub(crate) fn empty(from_ms: i64) -> Self {
        let windows = || vec![None; SPARK_SLOTS as usize];
        Spark { from_ms, heart_rate: windows(), respiration_rate: windows(), spo2: windows() }
    }
}
