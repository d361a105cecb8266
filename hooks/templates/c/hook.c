/*
 * @ID@ is a hook for rigup: it recognises the GPUs of @PUBLISHER@ and says how containers get them.
 *
 * A hook is a pure function. It reads one request from standard input, writes one response to standard output, and
 * sees nothing else of the machine.
 */
#include "json.h"

/* What the hook knows of its vendor. manifest.json says the same to rigup. */
#define VENDOR "@PUBLISHER@"
#define PCI_ID "@PCI@"      /* PCI vendor id */
#define PREFIX "@PREFIX@" /* device nodes are this and a number */
#define RESOURCE "@RESOURCE@" /* what pods ask for */

enum { MOST = 64 }; /* of each: more than fits into one machine */

/* What the facts say about this vendor. */
typedef struct {
	const json *cards[MOST]; /* PCI devices */
	const char *nodes[MOST]; /* paths of device nodes */
	int card_count, node_count;
} machine;

static json_out out;

/* ---- small helpers ---- */

static const json *known(const json *fact) {
	return strcmp(json_field(fact, "status"), "known") == 0 ? json_get(fact, "value") : NULL;
}

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

static bool is_node(const char *path) {
	const char *number = path + strlen(PREFIX);
	return starts(path, PREFIX) && *number != 0 && number[strspn(number, "0123456789")] == 0;
}

/* The order of the facts means nothing: cards are sorted by address, nodes by number, 2 before 10. */
static int by_address(const void *a, const void *b) {
	return strcmp(json_field(*(const json *const *)a, "address"), json_field(*(const json *const *)b, "address"));
}

static int by_number(const void *a, const void *b) {
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	return strlen(x) == strlen(y) ? strcmp(x, y) : strlen(x) < strlen(y) ? -1 : 1;
}

static machine look(const json *facts) {
	machine m = {0};
	for (json *d = json_list(known(json_get(facts, "pci"))); d != NULL && m.card_count < MOST; d = d->next)
		if (strcmp(json_field(d, "vendor"), PCI_ID) == 0)
			m.cards[m.card_count++] = d;
	for (json *d = json_list(known(json_get(facts, "devices"))); d != NULL && m.node_count < MOST; d = d->next)
		if (is_node(json_field(d, "path")))
			m.nodes[m.node_count++] = json_field(d, "path");
	qsort(m.cards, (size_t)m.card_count, sizeof m.cards[0], by_address);
	qsort(m.nodes, (size_t)m.node_count, sizeof m.nodes[0], by_number);
	return m;
}

/* render_node is a card's node for computing through the kernel's graphics subsystem; NULL if it has none. */
static const char *render_node(const json *card) {
	for (json *n = json_list(json_get(card, "nodes")); n != NULL; n = n->next)
		if (starts(json_string(n), "/dev/dri/renderD"))
			return json_string(n);
	return NULL;
}

/* joined is a sentence that ends in a list. */
static const char *joined(const char *text, const char *const *items, int n) {
	size_t size = strlen(text) + 1;
	for (int i = 0; i < n; i++)
		size += strlen(items[i]) + 2;
	char *s = json_alloc(size);
	strcpy(s, text);
	for (int i = 0; i < n; i++) {
		strcat(s, i == 0 ? "" : ", ");
		strcat(s, items[i]);
	}
	return s;
}

/* ---- responses ---- */

static void begin(const char *kind) {
	json_open(&out, "{");
	json_put_field(&out, "api", "rigup.hook/v1");
	json_put_field(&out, "kind", kind);
}

static void decline(const char *why) {
	begin("decline");
	json_name(&out, "why");
	json_open(&out, "[");
	json_put(&out, why);
	json_close(&out, "]");
	json_close(&out, "}");
}

/* reason_begin leaves the reason open, for remedies and evidence. */
static void reason_begin(const char *id, const char *before, const char *text) {
	begin("reason");
	json_name(&out, "reason");
	json_open(&out, "{");
	json_put_field(&out, "id", id);
	json_put_field(&out, "text", before, text);
}

static void reason_list(const char *name, const char *item) {
	json_name(&out, name);
	json_open(&out, "[");
	json_put(&out, item);
	json_close(&out, "]");
}

static void reason_end(void) {
	json_close(&out, "}");
	json_close(&out, "}");
}

/* put_device writes a card, or a node where the cards are not known. */
static void put_device(const json *card, const char *node) {
	json_open(&out, "{");
	json_put_field(&out, "id", card != NULL ? json_field(card, "address") : node);
	if (*json_field(card, "model") != 0)
		json_put_field(&out, "model", json_field(card, "model"));
	const json *memory = json_get(card, "memory");
	if (memory != NULL && memory->kind == JSON_NUMBER) {
		json_name(&out, "memory");
		json_put_literal(&out, memory->text);
	}
	json_close(&out, "}");
}

/* ---- the phases ---- */

/* detect claims the machine if it has a card of the vendor, or its driver's device nodes. */
static void detect(const json *facts) {
	machine m = look(facts);
	if (m.card_count + m.node_count == 0) {
		decline("no PCI device of vendor " PCI_ID " and no device node " PREFIX "*");
		return;
	}
	begin("claim");
	json_name(&out, "why");
	json_open(&out, "[");
	if (m.card_count > 0) {
		const char *at[MOST];
		for (int i = 0; i < m.card_count; i++)
			at[i] = json_field(m.cards[i], "address");
		json_put(&out, joined("PCI devices of vendor " PCI_ID ": ", at, m.card_count));
	}
	if (m.node_count > 0)
		json_put(&out, joined("device nodes: ", m.nodes, m.node_count));
	json_close(&out, "]");
	json_name(&out, "claim");
	json_open(&out, "{");
	json_name(&out, "confidence");
	json_put_literal(&out, "90");
	if (m.card_count > 0) {
		json_name(&out, "devices");
		json_open(&out, "[");
		for (int i = 0; i < m.card_count; i++)
			put_device(m.cards[i], NULL);
		json_close(&out, "]");
	}
	json_close(&out, "}");
	json_close(&out, "}");
}

static void no_driver(const machine *m) {
	reason_begin("driver-missing", "The driver of " VENDOR, " is not loaded: there are no device nodes " PREFIX "*.");
	reason_list("remedy", "install the driver of " VENDOR " and restart this machine, then: rigup install");
	if (m->card_count > 0) {
		json_name(&out, "evidence");
		json_open(&out, "[");
		for (int i = 0; i < m->card_count; i++) {
			const json *c = m->cards[i];
			const char *driver = json_field(c, "driver");
			json_put(&out, json_field(c, "address"), " is ", json_field(c, "vendor"), ":", json_field(c, "device"),
			         ", driver: ", *driver != 0 ? driver : "none");
		}
		json_close(&out, "]");
	}
	reason_end();
}

static void put_node(const char *path) {
	json_open(&out, "{");
	json_put_field(&out, "path", path);
	json_close(&out, "}");
}

/* put_spec writes the CDI spec: one device for each node. */
static void put_spec(const machine *m, bool paired) {
	json_name(&out, "cdi");
	json_open(&out, "{");
	json_put_field(&out, "mode", "static");
	json_put_field(&out, "kind", RESOURCE);
	json_name(&out, "spec");
	json_open(&out, "{");
	json_put_field(&out, "cdiVersion", "0.5.0");
	json_put_field(&out, "kind", RESOURCE);
	json_name(&out, "devices");
	json_open(&out, "[");
	for (int i = 0; i < m->node_count; i++) {
		const char *render = paired ? render_node(m->cards[i]) : NULL;
		json_open(&out, "{");
		json_put_field(&out, "name", m->nodes[i] + strlen(PREFIX));
		json_name(&out, "containerEdits");
		json_open(&out, "{");
		json_name(&out, "deviceNodes");
		json_open(&out, "[");
		put_node(m->nodes[i]);
		if (render != NULL)
			put_node(render);
		json_close(&out, "]");
		json_close(&out, "}");
		json_close(&out, "}");
	}
	json_close(&out, "]");
	json_close(&out, "}");
	json_close(&out, "}");
}

static void put_attach(const machine *m, bool paired) {
	json_name(&out, "attach");
	json_open(&out, "[");
	json_open(&out, "{");
	json_put_field(&out, "kind", "devices");
	json_name(&out, "nodes");
	json_open(&out, "[");
	for (int i = 0; i < m->node_count; i++)
		json_put(&out, m->nodes[i]);
	for (int i = 0; paired && i < m->card_count; i++)
		if (render_node(m->cards[i]) != NULL)
			json_put(&out, render_node(m->cards[i]));
	json_close(&out, "]");
	json_close(&out, "}");
	json_close(&out, "]");
}

/* decide says how containers get the cards, or why they cannot. Whether the engine can do that is rigup's business. */
static void decide(const json *facts) {
	const json *devices = json_get(facts, "devices");
	machine m = look(facts);
	bool paired = m.card_count == m.node_count; /* every card has its node: both are sorted */
	if (strcmp(json_field(devices, "status"), "unknown") == 0) {
		reason_begin("nodes-unknown", "The device nodes of this machine", " could not be listed.");
		reason_list("evidence", json_field(devices, "why"));
		reason_end();
		return;
	}
	if (m.node_count == 0) {
		no_driver(&m);
		return;
	}
	begin("decision");
	reason_list("why", joined("device nodes: ", m.nodes, m.node_count));
	json_name(&out, "gpu");
	json_open(&out, "{");
	json_put_field(&out, "vendor", VENDOR);
	json_put_field(&out, "resource", RESOURCE);
	json_name(&out, "devices");
	json_open(&out, "[");
	for (int i = 0; i < m.node_count; i++)
		put_device(paired ? m.cards[i] : NULL, m.nodes[i]);
	json_close(&out, "]");
	put_attach(&m, paired);
	json_name(&out, "check");
	json_open(&out, "{");
	json_put_field(&out, "compute", "devices"); /* the nodes can be opened in a container */
	json_close(&out, "}");
	json_name(&out, "node");
	json_open(&out, "{");
	json_put_field(&out, "target", "node");
	json_close(&out, "}");
	put_spec(&m, paired);
	json_close(&out, "}");
	json_close(&out, "}");
}

/* has looks for a text, which is in lower case, in a line in any case. */
static bool has(const char *line, size_t n, const char *text) {
	size_t want = strlen(text);
	for (size_t i = 0; i + want <= n; i++) {
		size_t j = 0;
		while (j < want && (line[i + j] >= 'A' && line[i + j] <= 'Z' ? line[i + j] + 32 : line[i + j]) == text[j])
			j++;
		if (j == want)
			return true;
	}
	return false;
}

/* line_with is the first line that has one of two texts, shortened; NULL if none has. */
static const char *line_with(const char *output, const char *a, const char *b) {
	while (*output != 0) {
		size_t n = strcspn(output, "\n");
		if (has(output, n, a) || has(output, n, b)) {
			while (n > 0 && (*output == ' ' || *output == '\t'))
				output++, n--;
			if (n > 200)
				for (n = 200; n > 0 && (output[n] & 0xc0) == 0x80;) /* not within a character */
					n--;
			while (n > 0 && (output[n - 1] == ' ' || output[n - 1] == '\t' || output[n - 1] == '\r'))
				n--;
			char *line = json_alloc(n + 1);
			memcpy(line, output, n);
			return line;
		}
		output += n;
		output += *output == '\n';
	}
	return NULL;
}

/* diagnose knows two texts. To everything else it has nothing to say. */
static void diagnose(const json *failure) {
	const char *output = json_field(failure, "output"), *line;
	if (failure == NULL) {
		decline("there is no failure in the request");
	} else if ((line = line_with(output, "permission denied", "operation not permitted")) != NULL) {
		reason_begin("device-permission", "The container was not allowed", " to open the device nodes of " VENDOR ".");
		reason_list("remedy", "look at who may use them: ls -l " PREFIX "*");
		reason_list("evidence", line);
		reason_end();
	} else if ((line = line_with(output, "no such device", "no such file or directory")) != NULL) {
		reason_begin("device-gone", "A device node of " VENDOR, " went away: the driver was unloaded, or a card was reset.");
		reason_list("remedy", "load the driver again, then: rigup install");
		reason_list("evidence", line);
		reason_end();
	} else {
		decline("the output has no text that this hook knows");
	}
}

int main(void) {
	const json *request = json_input();
	const char *phase = json_field(request, "phase");
	const char *log = joined("phase ", &phase, 1);
	(void)!write(2, log, strlen(log)); /* the log: rigup hooks test --verbose shows it */
	(void)!write(2, "\n", 1);
	if (strcmp(phase, "detect") == 0)
		detect(json_get(request, "facts"));
	else if (strcmp(phase, "decide") == 0)
		decide(json_get(request, "facts"));
	else if (strcmp(phase, "diagnose") == 0)
		diagnose(json_get(request, "failure"));
	else
		decline("this hook does not know this phase");
	json_output(&out);
	return 0;
}
