//! Language level and charset as build files of all kinds write them.

/// What is taken where no build file tells: the framework itself raises such builds to it.
const DEFAULT_LEVEL: u32 = 6;
/// What stands before a level. Ant, Maven and its older properties, Gradle.
const LEVEL_MARKS: [&str; 10] = [
    " source=\"",
    "<source>",
    "<release>",
    "compile.source>",
    "compiler.source>",
    "compiler.release>",
    "compile.source=",
    "compile.source = ",
    "sourceCompatibility=",
    "sourceCompatibility = ",
];
const ENCODING_MARKS: [&str; 4] =
    [" encoding=\"", "project.build.sourceEncoding>", "compile.encoding=", "compile.encoding = "];

/// The highest level that is asked for: a build names lower ones for parts that nobody builds any more.
pub(super) fn level(build_text: &str) -> u32 {
    let levels = LEVEL_MARKS.iter().flat_map(|mark| values(build_text, mark)).filter_map(parse);
    levels.max().unwrap_or(DEFAULT_LEVEL)
}

/// The charset of the first compiler call that names one. An XML file's own does not count.
pub(super) fn encoding(build_text: &str) -> Option<String> {
    let of_mark = |mark: &'static str| {
        let lines = build_text.lines().filter(|line| !line.trim_start().starts_with("<?xml"));
        lines.flat_map(move |line| values(line, mark)).find(|value| is_charset(value)).map(str::to_owned)
    };
    ENCODING_MARKS.iter().find_map(|mark| of_mark(mark))
}

fn is_charset(value: &str) -> bool {
    encoding_rs::Encoding::for_label(value.as_bytes()).is_some_and(encoding_rs::Encoding::is_ascii_compatible)
}

fn values<'a>(text: &'a str, mark: &str) -> impl Iterator<Item = &'a str> {
    let after = text.match_indices(mark).map(|(at, mark)| &text[at + mark.len()..]).collect::<Vec<_>>();
    after.into_iter().map(|rest| rest.split(['"', '<', '\n', '\r', ' ']).next().unwrap_or_default())
}

/// `1.6`, `8`; nothing above what is out.
fn parse(text: &str) -> Option<u32> {
    let number: u32 = text.strip_prefix("1.").unwrap_or(text).parse().ok()?;
    (3..=25).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_counts() {
        assert_eq!(level("<javac source=\"1.6\"/>\n<maven.compile.source>1.5</maven.compile.source>"), 6);
        assert_eq!(level("compile.source = 1.4\n"), 4);
        assert_eq!(level("<source>${level}</source>"), DEFAULT_LEVEL);
        assert_eq!(level("<jar source=\"false\"/>"), DEFAULT_LEVEL);
    }

    #[test]
    fn an_xml_files_own_charset_is_not_the_sources() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<javac encoding=\"iso-8859-1\"/>";
        assert_eq!(encoding(text).as_deref(), Some("iso-8859-1"));
        assert_eq!(encoding("<javac encoding=\"${compile.encoding}\"/>"), None);
    }
}
