/* A small reader and writer of JSON, enough for hooks. Memory is never given back: a hook answers once and ends. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;

/* A value. Elements of arrays and fields of objects are a list: first child, then next. */
typedef struct json {
	json_kind kind;
	const char *key;  /* name of the field, for children of objects */
	const char *text; /* of strings and numbers, as written; "true" and "false" */
	struct json *child, *next;
} json;

static inline void json_die(const char *why) {
	(void)!write(2, why, strlen(why));
	(void)!write(2, "\n", 1);
	_exit(1);
}

static inline void *json_alloc(size_t n) {
	void *p = calloc(1, n);
	if (p == NULL)
		json_die("out of memory");
	return p;
}

/* ---- reading ---- */

static inline void json_space(const char **at) {
	while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r')
		(*at)++;
}

static inline unsigned json_hex4(const char *s) {
	unsigned v = 0;
	for (int i = 0; i < 4; i++) {
		char c = s[i];
		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v |= (unsigned)((c | 32) - 'a' + 10);
		else
			json_die("the request has a wrong \\u in a string");
	}
	return v;
}

static inline char *json_utf8(char *to, unsigned c) {
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 63));
		*to++ = (char)(0x80 | (c >> 6 & 63));
		*to++ = (char)(0x80 | (c & 63));
	}
	return to;
}

/* json_text reads a string from behind its opening quote. Text never gets longer by being read. */
static inline const char *json_text(const char **at) {
	const char *s = *at;
	while (*s != '"' && *s != 0)
		s += *s == '\\' && s[1] != 0 ? 2 : 1;
	char *text = json_alloc((size_t)(s - *at) + 1), *to = text;
	for (s = *at; *s != '"';) {
		if (*s == 0)
			json_die("the request ends within a string");
		if (*s != '\\') {
			*to++ = *s++;
			continue;
		}
		static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
		const char *found = s[1] == 0 ? NULL : strchr(from, s[1]);
		if (found != NULL) {
			*to++ = into[found - from];
			s += 2;
		} else if (s[1] == 'u') {
			unsigned c = json_hex4(s + 2);
			s += 6;
			if (c >= 0xd800 && c < 0xdc00 && s[0] == '\\' && s[1] == 'u') {
				c = 0x10000 + ((c - 0xd800) << 10) + (json_hex4(s + 2) - 0xdc00);
				s += 6;
			}
			to = json_utf8(to, c);
		} else {
			json_die("the request has a wrong escape in a string");
		}
	}
	*at = s + 1;
	return text;
}

static inline json *json_value(const char **at, int depth) {
	json *v = json_alloc(sizeof *v), **link = &v->child;
	json_space(at);
	char open = **at;
	if (depth > 64)
		json_die("the request is too deep");
	if (open == '"') {
		(*at)++;
		v->kind = JSON_STRING;
		v->text = json_text(at);
		return v;
	}
	if (open != '{' && open != '[') {
		size_t n = strcspn(*at, ",]} \t\r\n");
		char *text = json_alloc(n + 1);
		memcpy(text, *at, n);
		*at += n;
		v->text = text;
		v->kind = open == 't' || open == 'f' ? JSON_BOOL : open == 'n' ? JSON_NULL : JSON_NUMBER;
		if (n == 0)
			json_die("the request is not JSON");
		return v;
	}
	v->kind = open == '{' ? JSON_OBJECT : JSON_ARRAY;
	char close = open == '{' ? '}' : ']';
	(*at)++;
	json_space(at);
	while (**at != close) {
		const char *key = NULL;
		if (open == '{') {
			if (**at != '"')
				json_die("the request is not JSON");
			(*at)++;
			key = json_text(at);
			json_space(at);
			if (**at != ':')
				json_die("the request is not JSON");
			(*at)++;
		}
		*link = json_value(at, depth + 1);
		(*link)->key = key;
		link = &(*link)->next;
		json_space(at);
		if (**at == ',') {
			(*at)++;
			json_space(at);
		} else if (**at != close) {
			json_die("the request is not JSON");
		}
	}
	(*at)++;
	return v;
}

/* json_input reads the one document on standard input. */
static inline json *json_input(void) {
	size_t room = 1 << 16, n = 0;
	char *text = malloc(room);
	for (;;) {
		if (text == NULL)
			json_die("out of memory");
		ssize_t got = read(0, text + n, room - n - 1);
		if (got < 0)
			json_die("the request cannot be read");
		if (got == 0)
			break;
		n += (size_t)got;
		if (n + 1 == room)
			text = realloc(text, room *= 2);
	}
	text[n] = 0;
	const char *at = text;
	return json_value(&at, 0);
}

/* json_get is a field of an object: NULL if v is none, or does not have it. */
static inline json *json_get(const json *v, const char *key) {
	if (v == NULL || v->kind != JSON_OBJECT)
		return NULL;
	for (json *c = v->child; c != NULL; c = c->next)
		if (strcmp(c->key, key) == 0)
			return c;
	return NULL;
}

/* json_list is the first element of an array; the others follow as next. */
static inline json *json_list(const json *v) { return v != NULL && v->kind == JSON_ARRAY ? v->child : NULL; }

/* json_string is the text of a string, and empty for anything else. */
static inline const char *json_string(const json *v) { return v != NULL && v->kind == JSON_STRING ? v->text : ""; }

/* json_field is the text of a field. */
static inline const char *json_field(const json *v, const char *key) { return json_string(json_get(v, key)); }

/* ---- writing: the caller writes brackets and names, commas come by themselves ---- */

typedef struct {
	char *text;
	size_t n, room;
	bool comma; /* the next value follows another one */
} json_out;

static inline void json_raw(json_out *o, const char *s, size_t n) {
	if (o->n + n > o->room) {
		o->room = (o->n + n) * 2;
		o->text = realloc(o->text, o->room);
		if (o->text == NULL)
			json_die("out of memory");
	}
	memcpy(o->text + o->n, s, n);
	o->n += n;
}

static inline void json_next(json_out *o) {
	if (o->comma)
		json_raw(o, ",", 1);
	o->comma = true;
}

static inline void json_open(json_out *o, const char *bracket) {
	json_next(o);
	json_raw(o, bracket, 1);
	o->comma = false;
}

static inline void json_close(json_out *o, const char *bracket) {
	json_raw(o, bracket, 1);
	o->comma = true;
}

/* json_put_parts writes one string made of several; the last argument is NULL. */
static inline void json_put_parts(json_out *o, const char *const *parts) {
	json_next(o);
	json_raw(o, "\"", 1);
	for (; *parts != NULL; parts++)
		for (const char *s = *parts; *s != 0; s++) {
			unsigned char c = (unsigned char)*s;
			if (c == '"' || c == '\\') {
				json_raw(o, "\\", 1);
				json_raw(o, s, 1);
			} else if (c < 0x20) {
				const char *hex = "0123456789abcdef";
				char u[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
				json_raw(o, u, 6);
			} else {
				json_raw(o, s, 1);
			}
		}
	json_raw(o, "\"", 1);
}

#define json_put(o, ...) json_put_parts(o, (const char *const[]){__VA_ARGS__, NULL})

/* json_name writes the name of a field; its value has to follow. */
static inline void json_name(json_out *o, const char *name) {
	json_put(o, name);
	json_raw(o, ":", 1);
	o->comma = false;
}

/* json_put_field writes a field with a string made of one part or more. */
#define json_put_field(o, name, ...) (json_name(o, name), json_put(o, __VA_ARGS__))

/* json_put_literal writes a number, true, false or null. */
static inline void json_put_literal(json_out *o, const char *text) {
	json_next(o);
	json_raw(o, text, strlen(text));
}

/* json_output writes everything to standard output. */
static inline void json_output(const json_out *o) {
	for (size_t done = 0; done < o->n;) {
		ssize_t n = write(1, o->text + done, o->n - done);
		if (n <= 0)
			json_die("the response cannot be written");
		done += (size_t)n;
	}
}

#endif
