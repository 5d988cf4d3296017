//! The forms in which other programs write a value: it is the one list of them. Each character may be escaped or not,
//! since every program has rules of its own for that. In base 64 a value may be a part of a word, so that is looked for
//! apart.

/// The longest run of backslashes before a character: a text in JSON in JSON in JSON has seven.
const MOST_BACKSLASHES: usize = 8;

/// Returns the length of the longest form of the value with which a text begins.
pub(super) fn length_at(text: &str, value: &str) -> Option<usize> {
    let mut ends = vec![0];
    for c in value.chars() {
        let mut next: Vec<usize> = Vec::new();
        for end in ends {
            forms_at(&text[end..], c, &mut |length| next.push(end + length));
        }
        next.sort_unstable();
        next.dedup();
        if next.is_empty() {
            return None;
        }
        ends = next;
    }
    ends.pop()
}

/// Returns true if a form of a value with this first character may begin with this byte.
pub(super) fn may_begin(byte: u8, first: char) -> bool {
    matches!(byte, b'%' | b'\\' | b'&' | b'\'' | b'"' | b'+')
        || byte == first.encode_utf8(&mut [0; 4]).as_bytes()[0]
}

/// Calls `found` with the length of each form of a character with which a text begins.
fn forms_at(text: &str, c: char, found: &mut dyn FnMut(usize)) {
    if text.starts_with(c) {
        found(c.len_utf8());
    }
    match text.as_bytes().first() {
        Some(b'+') if c == ' ' => found(1),
        Some(b'%') => found_if(bytes_at(text, c, &percent_at), found),
        Some(b'&') => found_if(entity_at(text, c), found),
        Some(b'\'' | b'"') => quotes_at(text, c, found),
        Some(b'\\') => behind_backslashes(text, c, found),
        _ => {}
    }
}

fn found_if(length: Option<usize>, found: &mut dyn FnMut(usize)) {
    if let Some(length) = length {
        found(length);
    }
}

/// Returns the length of a character of which each byte is escaped.
fn bytes_at(text: &str, c: char, byte_at: &dyn Fn(&str, u8) -> Option<usize>) -> Option<usize> {
    let mut bytes = [0; 4];
    let mut length = 0;
    for byte in c.encode_utf8(&mut bytes).bytes() {
        length += byte_at(&text[length..], byte)?;
    }
    Some(length)
}

/// `%2f`, and `%252F` in a URL in a URL.
fn percent_at(text: &str, byte: u8) -> Option<usize> {
    let digits = text.strip_prefix('%')?;
    let is_byte = |digits: &str| number_at(digits, 2, 16) == Some(u32::from(byte));
    (0..=2).find_map(|again: usize| {
        let behind = digits.get(2 * again..)?;
        let is_again = digits.as_bytes()[..2 * again].chunks(2).all(|two| two == b"25");
        (is_again && is_byte(behind)).then_some(1 + 2 * again + 2)
    })
}

/// Reads a number of so many digits.
fn number_at(text: &str, digits: usize, radix: u32) -> Option<u32> {
    let digits = text.get(..digits)?;
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    u32::from_str_radix(digits, radix).ok().filter(|_| is_number)
}

/// `&lt;`, `&#39;`, `&#x27;`
fn entity_at(text: &str, c: char) -> Option<usize> {
    const LONGEST: usize = 12;
    let inside = text.strip_prefix('&')?;
    let (name, _) = inside.split_once(';').filter(|(name, _)| name.len() <= LONGEST)?;
    let is_it = match name.strip_prefix('#') {
        Some(number) => {
            let hex = number.strip_prefix(['x', 'X']);
            let number =
                hex.map_or_else(|| number.parse().ok(), |hex| number_at(hex, hex.len(), 16));
            number == Some(u32::from(c))
        }
        None => matches!(
            (name, c),
            ("amp", '&') | ("lt", '<') | ("gt", '>') | ("quot", '"') | ("apos", '\'')
        ),
    };
    is_it.then_some("&".len() + name.len() + ";".len())
}

/// A quote inside of quotes of the same kind: doubled in YAML, SQL and CSV, and in a shell outside of them, `'\''` or
/// `'"'"'`.
fn quotes_at(text: &str, c: char, found: &mut dyn FnMut(usize)) {
    for doubled in ["''", "\"\""] {
        if text.starts_with(doubled) && doubled.starts_with(c) {
            found(doubled.len());
        }
    }
    if c != '\'' {
        return;
    }
    let Some(outside) = text.strip_prefix('\'') else { return };
    let bare = outside.trim_start_matches('\\');
    let inner = bare.strip_prefix('"').and_then(|quoted| {
        let behind = quoted.strip_prefix('\'')?;
        behind.trim_start_matches('\\').strip_prefix("\"'")
    });
    let escaped = bare.strip_prefix("''").filter(|_| bare.len() < outside.len());
    for rest in [inner, escaped].into_iter().flatten() {
        found(text.len() - rest.len());
    }
}

/// `\"`, `\n`, `\u00e9`, `\u{e9}`, `\xc3\xa9`, `\303\251`, and a backslash itself; escaped again, there are more
/// backslashes.
fn behind_backslashes(text: &str, c: char, found: &mut dyn FnMut(usize)) {
    let all = text.len() - text.trim_start_matches('\\').len();
    let all = all.min(MOST_BACKSLASHES);
    if c == '\\' {
        (1..=all).for_each(found);
        return;
    }
    let behind = &text[all..];
    let named = match c {
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        '\u{8}' => Some('b'),
        '\u{c}' => Some('f'),
        // A letter behind a backslash means something else.
        c => Some(c).filter(|c| !c.is_ascii_alphanumeric()),
    };
    if let Some(named) = named.filter(|named| behind.starts_with(*named)) {
        found(all + named.len_utf8());
    }
    let code = behind.strip_prefix("u{").and_then(|code| code.split_once('}'));
    if let Some((code, _)) =
        code.filter(|(code, _)| number_at(code, code.len(), 16) == Some(u32::from(c)))
    {
        found(all + "u{}".len() + code.len());
    }
    let escaped = |text: &str, mark: &str, digits: usize, radix: u32, value: u32| {
        let backslashes = text.len() - text.trim_start_matches('\\').len();
        let number = text[backslashes..].strip_prefix(mark)?;
        let is_it = 0 < backslashes && number_at(number, digits, radix) == Some(value);
        is_it.then_some(backslashes + mark.len() + digits)
    };
    let mut units = [0; 2];
    let units = c.encode_utf16(&mut units).iter();
    let in_units = units.copied().try_fold(0, |length, unit| {
        Some(length + escaped(&text[length..], "u", 4, 16, u32::from(unit))?)
    });
    found_if(in_units, found);
    found_if(escaped(text, "U", 8, 16, u32::from(c)), found);
    found_if(escaped(text, "x", 2, 16, u32::from(c)), found);
    found_if(bytes_at(text, c, &|text, byte| escaped(text, "x", 2, 16, u32::from(byte))), found);
    found_if(bytes_at(text, c, &|text, byte| escaped(text, "", 3, 8, u32::from(byte))), found);
}
