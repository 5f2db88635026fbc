//! A table of text, and the forms that it is written in.

use std::fmt::Write as _;

use super::ReportError;

/// A table. Every row has as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What it is called in `--table`.
    pub name: &'static str,
    /// Its heading.
    pub title: String,
    /// What one has to know to read it.
    pub note: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// For a terminal: columns aligned, those of figures to the right.
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |at: usize| lines().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let is_figure = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let is_right: Vec<bool> =
            (0..self.columns.len()).map(|at| self.rows.iter().all(|row| is_figure(&row[at]))).collect();
        let mut out = format!("{}\n", self.title);
        for row in lines() {
            let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
                if is_right[at] { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(out, "  {}", line.trim_end().replace('\n', " "))
                .expect("writing to memory does not fail");
        }
        if !self.note.is_empty() {
            writeln!(out, "  ({})", self.note).expect("writing to memory does not fail");
        }
        out
    }

    /// For a document.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> =
                cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = std::iter::once("---").chain(self.columns.iter().skip(1).map(|_| "--:"));
        let rule = rule.collect::<Vec<_>>().join("|");
        let mut out = format!("### {}\n\n{}|{rule}|\n", self.title, line(&self.columns));
        out.extend(self.rows.iter().map(|row| line(row)));
        if !self.note.is_empty() {
            write!(out, "\n{}.\n", self.note).expect("writing to memory does not fail");
        }
        out
    }

    /// For a spreadsheet.
    pub fn csv(&self) -> Result<String, ReportError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            writer.write_record(row)?;
        }
        let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        Table {
            name: "t",
            title: "Some".to_owned(),
            note: "a note".to_owned(),
            columns: words(&["what", "n"]),
            rows: vec![words(&["a|b", "1"]), words(&["c, d", "123"])],
        }
    }

    #[test]
    fn figures_stand_to_the_right() {
        assert_eq!(table().text(), "Some\n  what    n\n  a|b     1\n  c, d  123\n  (a note)\n");
    }

    #[test]
    fn what_would_part_cells_is_quoted() {
        assert_eq!(
            table().markdown(),
            "### Some\n\n| what | n |\n|---|--:|\n| a\\|b | 1 |\n| c, d | 123 |\n\na note.\n"
        );
        assert_eq!(table().csv().unwrap(), "what,n\na|b,1\n\"c, d\",123\n");
    }
}
