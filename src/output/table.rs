//! Tables without boxes: two blanks between columns, numbers to the right, a dim header, and nothing wraps.

use super::sanitize;
use super::styles::{DIM, paint};
use anstyle::Style;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Which side a column leans to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its header.
    pub header: &'static str,
    /// Which side it leans to.
    pub align: Align,
    /// Its width if it is fixed; else it is as wide as its widest cell.
    pub width: Option<usize>,
}

impl Column {
    /// Returns a column of text.
    #[must_use]
    pub fn left(header: &'static str) -> Self {
        Self { header, align: Align::Left, width: None }
    }

    /// Returns a column of numbers.
    #[must_use]
    pub fn right(header: &'static str) -> Self {
        Self { header, align: Align::Right, width: None }
    }

    /// Fixes the width.
    #[must_use]
    pub fn wide(mut self, width: usize) -> Self {
        self.width = Some(width);
        self
    }
}

/// A row: its cells, and a style for all of it.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The cells, cut and made safe already.
    pub cells: Vec<String>,
    /// The style of the row.
    pub style: Option<Style>,
}

/// Returns the lines of a table; `header` says whether the first of them is the header.
#[must_use]
pub fn render(columns: &[Column], rows: &[Row], header: bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if header {
        table.set_header(columns.iter().map(|column| Cell::new(column.header)));
    }
    for row in rows {
        table.add_row(row.cells.iter().map(Cell::new));
    }
    table.discover_columns();
    let last = columns.len().saturating_sub(1);
    for (at, column) in columns.iter().enumerate() {
        let Some(shown) = table.column_mut(at) else { continue };
        let padding = if at == last { 0 } else { 2 };
        shown.set_padding((0, padding));
        if column.align == Align::Right {
            shown.set_cell_alignment(CellAlignment::Right);
        }
        if let Some(width) = column.width {
            let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(padding);
            shown.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
        }
    }
    let mut text = String::new();
    for (at, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let style =
            if header && at == 0 { Some(DIM) } else { rows.get(at - usize::from(header)).and_then(|row| row.style) };
        match style {
            Some(style) => text.push_str(&paint(style, line)),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Returns how wide the widest cell of a column is, header included.
#[must_use]
pub fn widest(header: &str, cells: impl Iterator<Item = impl AsRef<str>>) -> usize {
    cells.map(|cell| sanitize::width(cell.as_ref())).max().unwrap_or(0).max(sanitize::width(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_two_blanks_apart_and_nothing_trails() {
        let columns = [Column::left("id"), Column::right("calls"), Column::left("note").wide(6)];
        let row = |cells: [&str; 3]| Row { cells: cells.map(str::to_owned).to_vec(), style: None };
        let text = render(&columns, &[row(["qwvz", "7", "a b"]), row(["k", "12345", ""])], true);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "id    calls  note\nqwvz      7  a b\nk     12345\n");
    }
}
