// SPDX-License-Identifier: GPL-2.0
/*
 * From lists of options and statistics to what tc asks of a plugin; see
 * plugin.h.
 */

#include "plugin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WIDTH	79	/* of lines of text */

static bool json_wanted(void)
{
	return is_json_context && is_json_context();
}

/* ---- numbers and units ---- */

/**
 * struct unit - a unit that is understood
 * @name: in any case
 * @factor: in the smallest unit
 */
struct unit {
	const char	*name;
	__u64		factor;
};

static const struct unit sizes[] = {	/* bytes */
	{ "", 1 }, { "b", 1 },
	{ "k", 1 << 10 }, { "kb", 1 << 10 }, { "m", 1 << 20 },
	{ "mb", 1 << 20 }, { "g", 1 << 30 }, { "gb", 1 << 30 },
	{ "kbit", 1 << 7 }, { "mbit", 1 << 17 }, { "gbit", 1 << 27 }, {},
};

static const struct unit times[] = {	/* ns */
	{ "", 1000 }, { "us", 1000 }, { "usec", 1000 }, { "usecs", 1000 },
	{ "ms", 1000000 }, { "msec", 1000000 }, { "msecs", 1000000 },
	{ "s", 1000000000 }, { "sec", 1000000000 }, { "secs", 1000000000 },
	{ "ns", 1 }, { "nsec", 1 }, { "nsecs", 1 }, {},
};

static const struct unit rates[] = {	/* bit/s; "bps" is bytes in tc */
	{ "", 1 }, { "bit", 1 },
	{ "kbit", 1000 }, { "mbit", 1000000 }, { "gbit", 1000000000 },
	{ "tbit", 1000000000000 },
	{ "kibit", 1ULL << 10 }, { "mibit", 1ULL << 20 },
	{ "gibit", 1ULL << 30 }, { "tibit", 1ULL << 40 },
	{ "bps", 8 }, { "kbps", 8000 }, { "mbps", 8000000 },
	{ "gbps", 8000000000 }, { "tbps", 8000000000000 },
	{ "kibps", 8ULL << 10 }, { "mibps", 8ULL << 20 },
	{ "gibps", 8ULL << 30 }, { "tibps", 8ULL << 40 }, {},
};

/**
 * plugin_whole() - a whole number, decimal or with 0x
 * @value: takes it; one of more than 64 bits reads as the greatest
 * @arg: begins with it
 * @end: takes what follows
 *
 * Return: does @arg begin with a number?
 */
bool plugin_whole(__u64 *value, const char *arg, char **end)
{
	bool hex = arg[0] == '0' && (arg[1] == 'x' || arg[1] == 'X');

	if (*arg < '0' || *arg > '9')
		return false;
	*value = strtoull(arg, end, hex ? 16 : 10);
	/* "0x" alone: the 0 is read, and "x" is not a unit. */
	return true;
}

/* A number with a point or an exponent; never "nan", "inf" or a sign. */
static bool real(double *value, const char *arg, char **end)
{
	if (!*arg || !strchr("0123456789.", *arg) ||
	    (arg[0] == '0' && (arg[1] == 'x' || arg[1] == 'X')))
		return false;
	*value = strtod(arg, end);
	return *end != arg;
}

static const struct unit *unit_of(const struct unit *units, const char *name)
{
	while (units->name && strcasecmp(units->name, name))
		units++;
	return units->name ? units : NULL;
}

/*
 * A number with a unit, in @divisor of the smallest; more than 64 bits is the
 * greatest. Where it does not come out even, @even asks for a refusal.
 */
static bool measure(__u64 *value, const char *arg, const struct unit *units,
		    unsigned int divisor, bool even)
{
	const struct unit *u;
	double exact, rounded;
	__u64 whole, factor;
	char *end;

	if (plugin_whole(&whole, arg, &end)) {
		u = unit_of(units, end);
		if (u) {
			factor = u->factor;
			if (factor % divisor == 0) {
				factor /= divisor;
				divisor = 1;
			}
			*value = UINT64_MAX;
			if (whole > UINT64_MAX / factor)
				return true;
			*value = whole * factor / divisor;
			return !even || *value * divisor == whole * factor;
		}
	}
	if (!real(&exact, arg, &end))
		return false;
	u = unit_of(units, end);
	if (!u)
		return false;
	exact = exact * u->factor / divisor;
	if (exact >= 0x1p63) {
		*value = UINT64_MAX;
		return true;
	}
	*value = exact + 0.5;
	rounded = *value;
	/* 0.1 s is 100000 us except for the last bit of a double. */
	return !even || fabs(exact - rounded) < 0.000001;
}

bool plugin_time(__u64 *ns, const char *arg)
{
	return measure(ns, arg, times, 1, true);
}

/* Exactly, in the largest unit that leaves a whole number: "32Mb", "33554433b". */
static void put_exact(char *buf, __u64 v, unsigned int step,
		      const char *const *units)
{
	while (v && v % step == 0 && units[1]) {
		v /= step;
		units++;
	}
	snprintf(buf, PLUGIN_TEXT, "%llu%s", v, *units);
}

/* In four digits, for reading: "1.1Tbit". */
static void put_rough(char *buf, double v, double step,
		      const char *const *units)
{
	while (v >= 0.99995 * step && units[1]) {
		v /= step;
		units++;
	}
	snprintf(buf, PLUGIN_TEXT, v < 9999.5 ? "%.4g%s" : "%.0f%s", v, *units);
}

static const char *const size_names[] = { "b", "Kb", "Mb", "Gb", NULL };
static const char *const time_names[] = { "ns", "us", "ms", "s", NULL };
static const char *const rate_names[] = { "bit", "Kbit", "Mbit", "Gbit",
					  "Tbit", NULL };

/* The n-th of some words with "|" between; false if there are fewer. */
static bool nth_word(char *buf, const char *words, __u64 n)
{
	size_t len;

	for (;; words += len + 1) {
		len = strcspn(words, "|");
		if (!n--)
			break;
		if (!words[len])
			return false;
	}
	snprintf(buf, PLUGIN_TEXT, "%.*s", (int)len, words);
	return true;
}

/*
 * The fewest digits that give the same number again when they are multiplied
 * by @scale and rounded; 20 rather than 2e+01.
 */
static void put_real(char *buf, __u64 v, double scale)
{
	int digits = 0;

	do {
		snprintf(buf, PLUGIN_TEXT, "%.*g", ++digits, v / scale);
	} while (digits < 17 &&
		 (strstr(buf, "e+") ||
		  (__u64)(strtod(buf, NULL) * scale + 0.5) != v));
}

/* The fewest digits that give the same double again. */
static void put_double(char *buf, double v)
{
	int digits = 0;

	do {
		snprintf(buf, PLUGIN_TEXT, "%.*g", ++digits, v);
	} while (digits < 17 && strtod(buf, NULL) != v);
}

/* ---- JSON ---- */

/* A real number whose digits are @digits. */
static void json_real(const char *name, double value, const char *digits)
{
	/* print_color_float() has six of them: too few to mean the same. */
	if (!get_json_writer || !jsonw_name || !jsonw_printf) {
		print_color_float(PRINT_JSON, COLOR_UNUSED, name, NULL, value);
		return;
	}
	jsonw_name(get_json_writer(), name);
	jsonw_printf(get_json_writer(), "%s", digits);
}

void plugin_json_number(const struct plugin_option *o, __u64 v)
{
	print_color_u64(PRINT_JSON, COLOR_UNUSED, o->name, NULL, v);
}

/* ---- types of options ---- */

static bool parse_choice(__u64 *value, const char *arg,
			 const struct plugin_option *o,
			 const struct plugin_line *line)
{
	char word[PLUGIN_TEXT];

	(void)line;
	for (*value = 0; nth_word(word, o->unit, *value); ++*value)
		if (!strcmp(word, arg))
			return true;
	return false;
}

static void text_choice(char *buf, const struct plugin_option *o, __u64 v)
{
	if (!nth_word(buf, o->unit, v))
		snprintf(buf, PLUGIN_TEXT, "unknown");
}

static void json_choice(const struct plugin_option *o, __u64 v)
{
	char word[PLUGIN_TEXT];

	text_choice(word, o, v);
	print_color_string(PRINT_JSON, COLOR_UNUSED, o->name, NULL, word);
}

static void allowed_choice(char *buf, const struct plugin_option *o)
{
	const char *in;
	char *out = buf;

	for (in = o->unit; *in; in++)
		out += sprintf(out, *in == '|' ? " | " : "%c", *in);
}

static void json_flag(const struct plugin_option *o, __u64 v)
{
	print_color_bool(PRINT_JSON, COLOR_UNUSED, o->name, NULL, v);
}

static bool parse_number(__u64 *value, const char *arg,
			 const struct plugin_option *o,
			 const struct plugin_line *line)
{
	char *end;

	(void)o;
	(void)line;
	return plugin_whole(value, arg, &end) && !*end;
}

static bool parse_packets(__u64 *value, const char *arg,
			  const struct plugin_option *o,
			  const struct plugin_line *line)
{
	char *end;

	(void)o;
	(void)line;
	return plugin_whole(value, arg, &end) &&
	       (!*end || !strcasecmp(end, "p"));
}

static void text_number(char *buf, const struct plugin_option *o, __u64 v)
{
	(void)o;
	snprintf(buf, PLUGIN_TEXT, "%llu", v);
}

static void text_packets(char *buf, const struct plugin_option *o, __u64 v)
{
	(void)o;
	snprintf(buf, PLUGIN_TEXT, "%llup", v);
}

static void allowed_number(char *buf, const struct plugin_option *o)
{
	const char *unit = o->type == &plugin_type_PACKETS ? "packets" :
							     o->unit;

	snprintf(buf, PLUGIN_TEXT, "%llu to %llu%s%s", o->least, o->greatest,
		 *unit ? " " : "", unit);
}

static bool parse_bytes(__u64 *value, const char *arg,
			const struct plugin_option *o,
			const struct plugin_line *line)
{
	(void)o;
	(void)line;
	return measure(value, arg, sizes, 1, true);
}

static void text_bytes(char *buf, const struct plugin_option *o, __u64 v)
{
	(void)o;
	put_exact(buf, v, 1024, size_names);
}

static bool parse_time(__u64 *value, const char *arg,
		       const struct plugin_option *o,
		       const struct plugin_line *line)
{
	(void)o;
	(void)line;
	return measure(value, arg, times, 1000, true);
}

static void text_time(char *buf, const struct plugin_option *o, __u64 v)
{
	(void)o;
	put_exact(buf, v, 1000, time_names + 1);
}

/* The speed of the device in Mbit/s, as the kernel has it; 0: unknown. */
static long device_speed(const char *dev)
{
	char path[128];
	long speed = 0;
	FILE *f;

	if (!dev || strchr(dev, '/'))
		return 0;
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", dev);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%ld", &speed) != 1 || speed < 0)
		speed = 0;
	fclose(f);
	return speed;
}

static bool parse_rate(__u64 *value, const char *arg,
		       const struct plugin_option *o,
		       const struct plugin_line *line)
{
	double percent;
	long speed;
	char *end;

	if (!real(&percent, arg, &end) || strcmp(end, "%"))
		return measure(value, arg, rates, 8, false);
	speed = line ? device_speed(line->dev) : 0;
	if (!speed) {
		fprintf(stderr, "\"%s %s\": the speed of %s is not known; give the rate itself\n",
			o->name, arg,
			line && line->dev ? line->dev : "the device");
		return false;
	}
	*value = percent / 100 * speed * 125000 + 0.5;
	return percent <= 100;
}

static void text_rate(char *buf, const struct plugin_option *o, __u64 v)
{
	(void)o;
	if (v > UINT64_MAX / 8)
		snprintf(buf, PLUGIN_TEXT, "%llubps", v);
	else
		put_exact(buf, v * 8, 1000, rate_names);
}

static void rough_rate(char *buf, __u64 v)
{
	put_rough(buf, 8.0 * v, 1000, rate_names);
}

static double scale_of(const struct plugin_option *o)
{
	return o->type == &plugin_type_PACKETS_Q8 ? 256 : UINT32_MAX;
}

static bool parse_real(__u64 *value, const char *arg,
		       const struct plugin_option *o,
		       const struct plugin_line *line)
{
	double v;
	char *end;

	(void)line;
	if (!real(&v, arg, &end))
		return false;
	if (o->type == &plugin_type_FRACTION && !strcmp(end, "%"))
		v /= 100;
	else if (o->type == &plugin_type_PACKETS_Q8 && !strcasecmp(end, "p"))
		;
	else if (*end)
		return false;
	v *= scale_of(o);
	*value = v < 0x1p63 ? v + 0.5 : UINT64_MAX;
	return true;
}

static void text_real(char *buf, const struct plugin_option *o, __u64 v)
{
	put_real(buf, v, scale_of(o));
	if (o->type == &plugin_type_PACKETS_Q8)
		strcat(buf, "p");
}

static void json_fraction(const struct plugin_option *o, __u64 v)
{
	char digits[PLUGIN_TEXT];

	put_real(digits, v, scale_of(o));
	json_real(o->name, v / scale_of(o), digits);
}

static void allowed_real(char *buf, const struct plugin_option *o)
{
	double scale = scale_of(o);

	if (o->least == 1)
		buf += sprintf(buf, "above 0");
	else
		buf += sprintf(buf, "%.6g", o->least / scale);
	buf += sprintf(buf, " to %.7g", o->greatest / scale);
	if (o->type == &plugin_type_PACKETS_Q8)
		sprintf(buf, " packets");
}

/* Values that are accepted as they are written: 4294967295b, because 4Gb is more. */
#define ALLOWED(type) \
static void allowed_##type(char *buf, const struct plugin_option *o) \
{ \
	char most[PLUGIN_TEXT]; \
\
	text_##type(buf, o, o->least); \
	text_##type(most, o, o->greatest); \
	strcat(strcat(buf, " to "), most); \
}

ALLOWED(bytes)
ALLOWED(time)

/* The greatest rate rounds down, to 8.796Tbit. */
static void allowed_rate(char *buf, const struct plugin_option *o)
{
	char most[PLUGIN_TEXT];

	rough_rate(buf, o->least);
	rough_rate(most, o->greatest);
	strcat(strcat(buf, " to "), most);
}

const struct plugin_type plugin_type_FLAG = {
	.size = sizeof(__u8), .json = json_flag,
};

const struct plugin_type plugin_type_CHOICE = {
	sizeof(__u8), NULL, parse_choice, text_choice, json_choice,
	allowed_choice
};

const struct plugin_type plugin_type_NUMBER = {
	sizeof(__u32), "NUMBER", parse_number, text_number, plugin_json_number,
	allowed_number
};

const struct plugin_type plugin_type_PACKETS = {
	sizeof(__u32), "PACKETS", parse_packets, text_packets,
	plugin_json_number, allowed_number
};

const struct plugin_type plugin_type_PACKETS_Q8 = {
	sizeof(__u32), "PACKETS", parse_real, text_real, json_fraction,
	allowed_real
};

const struct plugin_type plugin_type_BYTES = {
	sizeof(__u32), "BYTES", parse_bytes, text_bytes, plugin_json_number,
	allowed_bytes
};

const struct plugin_type plugin_type_TIME = {
	sizeof(__u32), "TIME", parse_time, text_time, plugin_json_number,
	allowed_time
};

const struct plugin_type plugin_type_FRACTION = {
	sizeof(__u32), "FRACTION", parse_real, text_real, json_fraction,
	allowed_real
};

const struct plugin_type plugin_type_RATE = {
	sizeof(__u64), "RATE", parse_rate, text_rate, plugin_json_number,
	allowed_rate
};

/* ---- help ---- */

static bool is_flag(const struct plugin_option *o)
{
	return o->type == &plugin_type_FLAG;
}

/* The word for a flag that is set or not: ecn and noecn, nodrop and drop. */
static const char *flag_word(char *buf, const struct plugin_option *o, bool on)
{
	bool no = !strncmp(o->name, "no", 2);

	snprintf(buf, PLUGIN_TEXT, "%s%s", on || no ? "" : "no",
		 o->name + (!on && no ? 2 : 0));
	return buf;
}

/* What may be given; also that it may be left to the kernel. */
static void put_allowed(char *buf, const struct plugin_option *o)
{
	o->type->allowed(buf, o);
	if (o->value == TC_AQM_DERIVED)
		strcat(buf, ", or auto");
}

/* Words, in lines that begin at column @indent; *column is where it stands. */
static void put_wrapped(FILE *f, const char *words, int indent, int *column)
{
	int len;

	for (; *words; words += len) {
		words += strspn(words, " ");
		len = strcspn(words, " ");
		if (*column > indent && *column + 1 + len > WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			*column = indent;
		} else if (*column > indent) {
			fputc(' ', f);
			++*column;
		}
		*column += fprintf(f, "%.*s", len, words);
	}
}

static void put_help_on(FILE *f, const struct plugin_option *o)
{
	char buf[4 * PLUGIN_TEXT], value[PLUGIN_TEXT];
	int column, indent = 24;

	if (is_flag(o))
		column = fprintf(f, "  [no]%s",
				 o->name + 2 * !strncmp(o->name, "no", 2));
	else if (o->type->word)
		column = fprintf(f, "  %s %s", o->name, o->type->word);
	else
		column = fprintf(f, "  %s", o->name);
	column += fprintf(f, "%*s", column < indent ? indent - column : 1, "");
	if (column > indent) {
		fprintf(f, "\n%*s", indent, "");
		column = indent;
	}
	snprintf(buf, sizeof(buf), "%s; ", o->help);
	if (!is_flag(o)) {
		o->type->allowed(value, o);
		strcat(strcat(buf, value), "; ");
	}
	strcat(buf, "default ");
	if (o->value == TC_AQM_DERIVED) {
		strcat(buf, "auto");
	} else if (is_flag(o)) {
		strcat(buf, flag_word(value, o, o->value));
	} else {
		o->type->text(value, o, o->value);
		strcat(buf, value);
	}
	put_wrapped(f, buf, indent, &column);
	fputc('\n', f);
}

static void put_help(FILE *f, const struct plugin *p)
{
	const struct plugin_option *o;

	fprintf(f, "Usage: ... %s [ OPTION ]...\n", p->util.id);
	for (o = p->options; o->name; o++)
		put_help_on(f, o);
	fprintf(f, "man tc-%s\n", p->util.id);
}

/* ---- options ---- */

/* How many letters lie between two words: left out, put in, changed, swapped. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][33], *above = rows[0], *row = rows[1];
	unsigned int *two_above = rows[2], *swap, i, j, best;
	size_t n = strlen(b);

	if (strlen(a) > 32 || n > 32)
		return 99;
	for (j = 0; j <= n; j++)
		above[j] = j;
	for (i = 0; a[i]; i++) {
		row[0] = i + 1;
		for (j = 0; j < n; j++) {
			best = above[j] + (a[i] != b[j]);
			if (best > above[j + 1] + 1)
				best = above[j + 1] + 1;
			if (best > row[j] + 1)
				best = row[j] + 1;
			if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] &&
			    best > two_above[j - 1] + 1)
				best = two_above[j - 1] + 1;
			row[j + 1] = best;
		}
		swap = two_above;
		two_above = above;
		above = row;
		row = swap;
	}
	return above[n];
}

/* Return whether @many contains the letters of @few in that order. */
static bool within(const char *few, const char *many)
{
	for (; *few; few++, many++) {
		many = strchr(many, *few);
		if (!many)
			return false;
	}
	return true;
}

/* The option that may have been meant by @arg, or NULL. */
static const struct plugin_option *nearest(const struct plugin_option *options,
					   const char *arg)
{
	const struct plugin_option *o, *best = NULL;
	unsigned int far, least = strlen(arg) / 3 + 1;

	for (o = options; o->name; o++) {
		far = distance(arg, o->name);
		/* "memlimit" for memory_limit, "lim" for limit */
		if (strlen(arg) >= 3 && *arg == *o->name &&
		    within(arg, o->name) && far > 1)
			far = 1;
		if (far < least || (far == least && !best)) {
			least = far;
			best = o;
		}
	}
	return best;
}

/* The option that @arg names; *on is false for a flag that it clears. */
static const struct plugin_option *find(const struct plugin_option *options,
					const char *arg, bool *on)
{
	const struct plugin_option *o;
	char off[PLUGIN_TEXT];

	for (o = options; o->name; o++) {
		*on = true;
		if (!strcmp(arg, o->name))
			return o;
		*on = false;
		if (is_flag(o) && !strcmp(arg, flag_word(off, o, false)))
			return o;
	}
	return NULL;
}

/**
 * plugin_given() - value of another option on the line, wherever it stands
 * @value: takes it
 * @line: the words
 * @name: of the option
 *
 * Return: is it given, with a value that can be?
 */
bool plugin_given(__u64 *value, const struct plugin_line *line,
		  const char *name)
{
	const struct plugin_option *o;
	bool on;
	int i;

	/* Words at odd places may be values that look like a name. */
	for (i = 0; i + 1 < line->argc; i++) {
		o = find(line->options, line->argv[i], &on);
		if (!o || is_flag(o))
			continue;
		i++;
		if (!strcmp(o->name, name))
			return o->type->parse(value, line->argv[i], o, line);
	}
	return false;
}

static void add(struct nlmsghdr *n, const struct plugin_option *o, __u64 value)
{
	__u32 v32 = value;
	__u8 v8 = value;

	switch (o->type->size) {
	case sizeof(v8):
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &v8, sizeof(v8));
		break;
	case sizeof(v32):
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &v32, sizeof(v32));
		break;
	default:
		addattr_l(n, PLUGIN_MAX_MSG, o->attr, &value, sizeof(value));
	}
}

/*
 * The value that @arg gives to an option; false after a message. A @derived one
 * has been shown by tc and is not sent: it may be out of the option's range.
 */
static bool value_of(__u64 *value, const char *arg, const char *kind,
		     const struct plugin_option *o,
		     const struct plugin_line *line, bool derived)
{
	char allowed[PLUGIN_TEXT];

	put_allowed(allowed, o);
	if (!arg) {
		fprintf(stderr, "%s: \"%s\" needs a value; allowed: %s\n",
			kind, o->name, allowed);
		return false;
	}
	if (o->value == TC_AQM_DERIVED && !strcmp(arg, "auto")) {
		*value = 0;
		return true;
	}
	if (o->type->parse(value, arg, o, line) &&
	    (derived || (*value >= o->least && *value <= o->greatest)))
		return true;
	fprintf(stderr, "%s: \"%s %s\" is not possible; allowed: %s\n", kind,
		o->name, arg, allowed);
	return false;
}

/* parse_qopt of tc; nothing is sent after -1, for which a message is printed. */
int plugin_parse(const struct qdisc_util *qu, int argc, char **argv,
		 struct nlmsghdr *n, const char *dev)
{
	const struct plugin *p = (const struct plugin *)qu;
	struct plugin_line line = { p->options, argc, argv, dev };
	const struct plugin_option *o;
	const char *first[64] = {};
	struct rtattr *opts;
	bool whole = false, on;
	__u64 value, given = 0;
	int i;

	opts = addattr_nest(n, PLUGIN_MAX_MSG, TCA_OPTIONS | NLA_F_NESTED);
	for (i = 0; i < argc; i++) {
		if (!strcmp(argv[i], "help")) {
			put_help(stderr, p);
			return -1;
		}
		if (!strcmp(argv[i], "auto") || !strcmp(argv[i], "assumed")) {
			whole = true;
			continue;
		}
		o = find(p->options, argv[i], &on);
		if (!o) {
			o = nearest(p->options, argv[i]);
			fprintf(stderr, "%s: unknown option \"%s\";", qu->id, argv[i]);
			if (o)
				fprintf(stderr, " did you mean %s?", o->name);
			fprintf(stderr, " \"help\" lists the options\n");
			return -1;
		}
		if (first[o->attr]) {
			fprintf(stderr, strcmp(first[o->attr], argv[i]) ?
				"%s: \"%s\" contradicts \"%s\"\n" :
				"%s: \"%s\" is given twice\n",
				qu->id, argv[i], first[o->attr]);
			return -1;
		}
		first[o->attr] = argv[i];
		if (is_flag(o))
			value = on;
		else if (!value_of(&value, argv[++i], qu->id, o, &line, whole))
			return -1;
		if (whole)
			continue;
		given |= 1ULL << o->attr;
		add(n, o, value);
	}
	if (whole)
		addattr_l(n, PLUGIN_MAX_MSG, TC_AQM_GIVEN, &given,
			  sizeof(given));
	addattr_nest_end(n, opts);
	return 0;
}

/* One of the masks of options. */
static __u64 get_mask(const struct rtattr *rta, __u64 otherwise)
{
	__u64 mask;

	if (!rta || RTA_PAYLOAD(rta) < sizeof(mask))
		return otherwise;
	memcpy(&mask, RTA_DATA(rta), sizeof(mask));
	return mask;
}

/*
 * The attribute's value; false if the kernel did not send it, or not whole, and
 * where a request asks the kernel to derive it.
 */
static bool get(__u64 *value, const struct plugin_option *o,
		const struct rtattr *rta)
{
	__u32 v32;

	if (!rta || RTA_PAYLOAD(rta) < o->type->size)
		return false;
	switch (o->type->size) {
	case sizeof(__u8):
		*value = *(const __u8 *)RTA_DATA(rta);
		break;
	case sizeof(v32):
		memcpy(&v32, RTA_DATA(rta), sizeof(v32));
		*value = v32;
		break;
	default:
		memcpy(value, RTA_DATA(rta), sizeof(*value));
	}
	return o->value != TC_AQM_DERIVED || *value;
}

/*
 * The options whose attributes are in @mask, after @word. Behind such a word a flag
 * that is off is not shown, as other qdiscs do it.
 */
static void put_text(FILE *f, const struct plugin *p, struct rtattr *tb[],
		     __u64 mask, const char *word)
{
	const struct plugin_option *o;
	char text[PLUGIN_TEXT];
	bool first = true;
	__u64 value;

	for (o = p->options; o->name; o++) {
		if (!(mask >> o->attr & 1) || !get(&value, o, tb[o->attr]) ||
		    (word && is_flag(o) && !value))
			continue;
		if (word && first)
			fprintf(f, "%s ", word);
		first = false;
		if (is_flag(o)) {
			fprintf(f, "%s ", flag_word(text, o, value));
		} else {
			o->type->text(text, o, value);
			fprintf(f, "%s %s ", o->name, text);
		}
	}
}

/* The names of those options, derived ones only if @derived. */
static void put_names(const struct plugin *p, struct rtattr *tb[], __u64 mask,
		      const char *key, bool derived)
{
	const struct plugin_option *o;

	open_json_array(PRINT_JSON, key);
	for (o = p->options; o->name; o++)
		if (tb[o->attr] && mask >> o->attr & 1 &&
		    (!derived || o->value == TC_AQM_DERIVED))
			print_color_string(PRINT_JSON, COLOR_UNUSED, NULL, NULL,
					   o->name);
	close_json_array(PRINT_JSON, NULL);
}

/* print_qopt of tc */
int plugin_print(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	const struct plugin *p = (const struct plugin *)qu;
	const struct plugin_option *o;
	__u64 value, given, assumed;
	struct rtattr *tb[64];

	if (!opt)
		return 0;
	if (parse_rtattr_flags(tb, 63, RTA_DATA(opt), RTA_PAYLOAD(opt),
			       NLA_F_NESTED))
		return -1;
	/* Without a mask the attributes are a request, or an older kernel's. */
	given = get_mask(tb[TC_AQM_GIVEN], UINT64_MAX);
	assumed = get_mask(tb[TC_AQM_ASSUMED], 0) & ~given;
	if (!json_wanted()) {
		put_text(f, p, tb, given, NULL);
		put_text(f, p, tb, ~given & ~assumed, "auto");
		put_text(f, p, tb, assumed, "assumed");
		return 0;
	}
	for (o = p->options; o->name; o++)
		if (get(&value, o, tb[o->attr]))
			o->type->json(o, value);
	if (!tb[TC_AQM_GIVEN] || !open_json_array || !close_json_array)
		return 0;
	put_names(p, tb, given, "given", false);
	put_names(p, tb, ~given, "derived", true);
	if (assumed)
		put_names(p, tb, assumed, "assumed", false);
	return 0;
}

/* ---- statistics ---- */

static __u64 stat_unsigned(const struct plugin_stat *s, const char *base)
{
	__u64 v64;
	__u32 v32;

	if (s->size == sizeof(v32)) {
		memcpy(&v32, base + s->offset, sizeof(v32));
		return v32;
	}
	memcpy(&v64, base + s->offset, sizeof(v64));
	return v64;
}

static double stat_scale(const struct plugin_stat *s)
{
	switch (s->show) {
	case SHOW_PACKETS_Q32:
		return 0x1p32;
	case SHOW_PACKETS_Q40:
		return 0x1p40;
	case SHOW_PACKETS_Q8:
		return 0x1p8;
	case SHOW_FRACTION:
		return UINT32_MAX;
	default:
		return 0;
	}
}

static void stat_text(char *buf, const struct plugin_stat *s, __u64 u, __s64 v)
{
	switch (s->show) {
	case SHOW_BYTES:
		if (s->negative)
			snprintf(buf, PLUGIN_TEXT, "%lldb", v);
		else
			put_exact(buf, u, 1024, size_names);
		break;
	case SHOW_NS:
		put_rough(buf, u, 1000, time_names);
		break;
	case SHOW_US:
		put_rough(buf, u, 1000, time_names + 1);
		break;
	case SHOW_RATE:
		rough_rate(buf, u);
		break;
	case SHOW_BITRATE:
		put_rough(buf, u, 1000, rate_names);
		break;
	case SHOW_CHOICE:
		if (!nth_word(buf, s->unit, u))
			snprintf(buf, PLUGIN_TEXT, "unknown");
		break;
	case SHOW_FRACTION:
		snprintf(buf, PLUGIN_TEXT, "%.6g", u / stat_scale(s));
		break;
	case SHOW_PACKETS_Q32:
	case SHOW_PACKETS_Q40:
	case SHOW_PACKETS_Q8:
		snprintf(buf, PLUGIN_TEXT, "%.6gp", u / stat_scale(s));
		break;
	default:
		snprintf(buf, PLUGIN_TEXT, "%lld", v);
	}
}

static void stat_json(const struct plugin_stat *s, __u64 u, __s64 v)
{
	char word[PLUGIN_TEXT];

	if (s->show == SHOW_FLAG) {
		print_color_bool(PRINT_JSON, COLOR_UNUSED, s->name, NULL, u);
	} else if (s->show == SHOW_CHOICE) {
		stat_text(word, s, u, v);
		print_color_string(PRINT_JSON, COLOR_UNUSED, s->name, NULL,
				   word);
	} else if (stat_scale(s)) {
		put_double(word, u / stat_scale(s));
		json_real(s->name, u / stat_scale(s), word);
	} else if (s->negative) {
		print_color_s64(PRINT_JSON, COLOR_UNUSED, s->name, NULL, v);
	} else {
		print_color_u64(PRINT_JSON, COLOR_UNUSED, s->name, NULL, u);
	}
}

static void put_stats(FILE *f, const struct plugin_stat *s, const char *base,
		      size_t len)
{
	char text[PLUGIN_TEXT];
	int column = 0;
	size_t width;
	__u64 u;
	__s64 v;

	for (; s->name; s++) {
		/* Values that an older kernel did not send are unknown. */
		if (len < s->offset + s->size)
			continue;
		u = stat_unsigned(s, base);
		v = s->size == sizeof(__u32) && s->negative ? (__s32)u :
							      (__s64)u;
		if (json_wanted()) {
			stat_json(s, u, v);
			continue;
		}
		if (s->show == SHOW_FLAG && !u)
			continue;
		text[0] = 0;
		if (s->show != SHOW_FLAG)
			stat_text(text, s, u, v);
		width = strlen(s->name) + strlen(text) + 1;
		if (column && column + 1 + width > WIDTH) {
			fputc('\n', f);
			column = 0;
		}
		column += fprintf(f, "%s%s%s%s", column ? " " : "  ", s->name,
				  *text ? " " : "", text);
	}
}

/* print_xstats of tc, for the discipline and for its classes */
int plugin_print_xstats(const struct qdisc_util *qu, FILE *f,
			struct rtattr *xstats)
{
	const struct plugin *p = (const struct plugin *)qu;
	__u32 head[2];		/* type and 0, in each kind's xstats */
	size_t len;
	char *base;

	if (!xstats || RTA_PAYLOAD(xstats) < sizeof(head))
		return 0;
	memcpy(head, RTA_DATA(xstats), sizeof(head));
	base = (char *)RTA_DATA(xstats) + sizeof(head);
	len = RTA_PAYLOAD(xstats) - sizeof(head);
	if (head[0] == TC_AQM_XSTATS_QDISC)
		put_stats(f, p->qdisc, base, len);
	else if (head[0] == TC_AQM_XSTATS_CLASS && p->cls)
		put_stats(f, p->cls, base, len);
	return 0;
}
