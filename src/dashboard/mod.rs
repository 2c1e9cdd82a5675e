//! What people look at: the list of sessions and the graph of one, as plain values and as text.
//!
//! Pure: no file, no clock, no terminal. `command::{sessions, graph, watch}` gather what is shown and print it.

mod axis;
mod graph;
mod key;
mod model;
mod paint;
mod row;
mod series;
mod svg;

pub use axis::notes;
pub use graph::{Canvas, draw};
pub use key::{Key, keys};
pub use model::{Ask, Detail, Model, Page};
pub use paint::paint;
pub use row::{Attempt, Row, Standing, Usage, is_ahead, sort, table};
pub use series::{Mark, MarkKind, Point, Seen, Series};
pub use svg::svg;
