// A small reader and writer of JSON, enough for hooks.

export enum Kind {
  Null,
  Bool,
  Number,
  Text,
  List,
  Object,
}

/** A JSON value. Numbers and booleans keep their text: a hook passes them on. */
export class Json {
  kind: Kind;
  content: string;
  names: string[] = []; // of the fields of an object, in the order of items
  items: Json[] = [];

  constructor(kind: Kind, content: string = "") {
    this.kind = kind;
    this.content = content;
  }

  /** A field of an object; null for other values. */
  get(name: string): Json | null {
    const at = this.names.indexOf(name);
    return this.kind == Kind.Object && at >= 0 ? this.items[at] : null;
  }

  /** The text of a field; empty if it is not there or no text. */
  text(name: string): string {
    const v = this.get(name);
    return v != null && v.kind == Kind.Text ? v.content : "";
  }

  /** The elements of a field; none if it is not there or no list. */
  list(name: string): Json[] {
    const v = this.get(name);
    return v != null && v.kind == Kind.List ? v.items : [];
  }

  /** Adds a field to an object and returns the object. */
  with(name: string, value: Json): Json {
    this.names.push(name);
    this.items.push(value);
    return this;
  }

  /** Adds a field with a text. */
  withText(name: string, value: string): Json {
    return this.with(name, text(value));
  }

  /** Adds a field with a list of texts. */
  withTexts(name: string, values: string[]): Json {
    const list = new Json(Kind.List);
    for (let i = 0; i < values.length; i++) list.items.push(text(values[i]));
    return this.with(name, list);
  }

  /** Adds an element to a list and returns the list. */
  add(value: Json): Json {
    this.items.push(value);
    return this;
  }

  toString(): string {
    const parts: string[] = [];
    put(this, parts);
    return parts.join("");
  }
}

export function object(): Json {
  return new Json(Kind.Object);
}

export function list(): Json {
  return new Json(Kind.List);
}

export function text(s: string): Json {
  return new Json(Kind.Text, s);
}

export function number(n: i32): Json {
  return new Json(Kind.Number, n.toString());
}

function put(v: Json, out: string[]): void {
  switch (v.kind) {
    case Kind.Null:
      out.push("null");
      break;
    case Kind.Text:
      quote(v.content, out);
      break;
    case Kind.List:
    case Kind.Object:
      const isObject = v.kind == Kind.Object;
      out.push(isObject ? "{" : "[");
      for (let i = 0; i < v.items.length; i++) {
        if (i > 0) out.push(",");
        if (isObject) {
          quote(v.names[i], out);
          out.push(":");
        }
        put(v.items[i], out);
      }
      out.push(isObject ? "}" : "]");
      break;
    default:
      out.push(v.content);
  }
}

function quote(s: string, out: string[]): void {
  out.push('"');
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    out.push(s.substring(from, i));
    out.push(c < 0x20 ? "\\u00" + (c < 16 ? "0" : "") + c.toString(16) : "\\" + String.fromCharCode(c));
    from = i + 1;
  }
  out.push(s.substring(from));
  out.push('"');
}

/** Reads the one document in a text. A text that is not JSON ends the program, which counts as a failed hook. */
export function parse(s: string): Json {
  const p = new Parser(s);
  const v = p.value(0);
  p.space();
  assert(p.at == s.length, "something follows the document");
  return v;
}

const MAX_DEPTH = 64;

class Parser {
  at: i32 = 0;

  constructor(private s: string) {}

  peek(): i32 {
    return this.at < this.s.length ? this.s.charCodeAt(this.at) : 0;
  }

  space(): void {
    for (let c = this.peek(); c == 0x20 || (c >= 9 && c <= 13 && c != 11 && c != 12); c = this.peek()) this.at++;
  }

  take(c: i32): bool {
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  value(depth: i32): Json {
    assert(depth <= MAX_DEPTH, "the document is too deep");
    this.space();
    const c = this.peek();
    if (c == 0x22) return text(this.string());
    if (c != 0x7b && c != 0x5b) return this.word();
    const isObject = c == 0x7b;
    const end = isObject ? 0x7d : 0x5d;
    const v = new Json(isObject ? Kind.Object : Kind.List);
    this.at++;
    this.space();
    while (!this.take(end)) {
      if (isObject) {
        this.space();
        assert(this.peek() == 0x22, "a field without name");
        v.names.push(this.string());
        this.space();
        assert(this.take(0x3a), "a field without colon");
      }
      v.items.push(this.value(depth + 1));
      this.space();
      assert(this.peek() == end || this.take(0x2c), "no comma");
    }
    return v;
  }

  word(): Json {
    const from = this.at;
    for (let c = this.peek(); c > 0x20 && c != 0x2c && c != 0x5d && c != 0x7d; c = this.peek()) this.at++;
    assert(this.at > from, "not a value");
    const s = this.s.substring(from, this.at);
    if (s == "null") return new Json(Kind.Null);
    return new Json(s == "true" || s == "false" ? Kind.Bool : Kind.Number, s);
  }

  string(): string {
    const parts: string[] = [];
    let from = ++this.at;
    for (;;) {
      const c = this.peek();
      assert(this.at < this.s.length, "a text without end");
      if (c == 0x22) break;
      this.at++;
      if (c != 0x5c) continue;
      parts.push(this.s.substring(from, this.at - 1));
      parts.push(this.escape());
      from = this.at;
    }
    parts.push(this.s.substring(from, this.at++));
    return parts.length == 1 ? parts[0] : parts.join("");
  }

  escape(): string {
    const c = this.peek();
    this.at++;
    switch (c) {
      case 0x62:
        return "\b";
      case 0x66:
        return "\f";
      case 0x6e:
        return "\n";
      case 0x72:
        return "\r";
      case 0x74:
        return "\t";
      case 0x75: // one half of a pair follows the other: together they are one character
        this.at += 4;
        return String.fromCharCode(<i32>parseInt(this.s.substring(this.at - 4, this.at), 16));
      default:
        return String.fromCharCode(c);
    }
  }
}
