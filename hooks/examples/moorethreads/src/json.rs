//! A small reader and writer of JSON, enough for hooks.

/// A JSON value. Numbers keep their text: a hook passes them on.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

const MAX_DEPTH: usize = 64;

impl Json {
    /// Reads the one document in a text.
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut p = Parser { text, at: 0 };
        let v = p.value(0)?;
        p.space();
        if p.at < text.len() {
            return Err(p.wrong("something follows the document"));
        }
        Ok(v)
    }

    /// A field of an object; nothing for other values.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|(k, _)| k == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The text of a field; empty if it is not there or no text.
    pub fn text(&self, name: &str) -> &str {
        match self.get(name) {
            Some(Json::Text(s)) => s,
            _ => "",
        }
    }

    /// The elements of a field; none if it is not there or no list.
    pub fn list(&self, name: &str) -> &[Json] {
        match self.get(name) {
            Some(Json::List(items)) => items,
            _ => &[],
        }
    }
}

impl From<&str> for Json {
    fn from(s: &str) -> Json {
        Json::Text(s.to_string())
    }
}

impl From<String> for Json {
    fn from(s: String) -> Json {
        Json::Text(s)
    }
}

impl From<i64> for Json {
    fn from(n: i64) -> Json {
        Json::Number(n.to_string())
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Json {
        Json::List(items)
    }
}

impl From<Vec<String>> for Json {
    fn from(items: Vec<String>) -> Json {
        Json::List(items.into_iter().map(Json::Text).collect())
    }
}

/// An object, from its fields.
pub fn object(fields: Vec<(&str, Json)>) -> Json {
    Json::Object(fields.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}

/// The document as text.
pub fn write(v: &Json) -> String {
    let mut out = String::new();
    put(v, &mut out);
    out
}

fn put(v: &Json, out: &mut String) {
    match v {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(n) => out.push_str(n),
        Json::Text(s) => quote(s, out),
        Json::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                put(item, out);
            }
            out.push(']');
        }
        Json::Object(fields) => {
            out.push('{');
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                quote(name, out);
                out.push(':');
                put(value, out);
            }
            out.push('}');
        }
    }
}

fn quote(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, what: &str) -> String {
        format!("{} at byte {}", what, self.at)
    }

    fn peek(&self) -> u8 {
        *self.text.as_bytes().get(self.at).unwrap_or(&0)
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Takes one byte if it is the next one.
    fn take(&mut self, b: u8) -> bool {
        let there = self.peek() == b;
        self.at += there as usize;
        there
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > MAX_DEPTH {
            return Err(self.wrong("too deep"));
        }
        self.space();
        match self.peek() {
            b'"' => Ok(Json::Text(self.string()?)),
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, String> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| ",]} \t\r\n".contains(c)).unwrap_or(rest.len());
        let v = match &rest[..end] {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            n if n.parse::<f64>().is_ok() => Json::Number(n.to_string()),
            _ => return Err(self.wrong("not a value")),
        };
        self.at += end;
        Ok(v)
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        while !self.take(b']') {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.peek() != b']' && !self.take(b',') {
                return Err(self.wrong("no comma"));
            }
        }
        Ok(Json::List(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut fields = Vec::new();
        self.at += 1;
        self.space();
        while !self.take(b'}') {
            self.space();
            if self.peek() != b'"' {
                return Err(self.wrong("no name"));
            }
            let name = self.string()?;
            self.space();
            if !self.take(b':') {
                return Err(self.wrong("no colon"));
            }
            fields.push((name, self.value(depth + 1)?));
            self.space();
            if self.peek() != b'}' && !self.take(b',') {
                return Err(self.wrong("no comma"));
            }
        }
        Ok(Json::Object(fields))
    }

    fn string(&mut self) -> Result<String, String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let end = rest.find(|c| c == '"' || c == '\\').ok_or_else(|| self.wrong("a text without end"))?;
            out.push_str(&rest[..end]);
            self.at += end;
            if self.take(b'"') {
                return Ok(out);
            }
            self.at += 1;
            let escape = self.peek();
            self.at += 1;
            match escape {
                b'"' | b'\\' | b'/' => out.push(escape as char),
                b'b' => out.push('\u{8}'),
                b'f' => out.push('\u{c}'),
                b'n' => out.push('\n'),
                b'r' => out.push('\r'),
                b't' => out.push('\t'),
                b'u' => out.push(self.unicode()?),
                _ => return Err(self.wrong("an unknown escape")),
            }
        }
    }

    fn hex4(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).ok_or_else(|| self.wrong("a short \\u"))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.wrong("a wrong \\u"))
    }

    /// A character of one or two \u; half of a pair becomes a replacement character.
    fn unicode(&mut self) -> Result<char, String> {
        let mut code = self.hex4()?;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let low = self.hex4()?;
            code = 0x10000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
        }
        Ok(char::from_u32(code).unwrap_or('\u{fffd}'))
    }
}
